"""Samples of a server: as many in a request as it returns, each with its own seed otherwise."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import pytest
from tests.models.server.standin import Standin

from clinometer.models import LoadOptions, ModelInfo, SampleOptions
from clinometer.models.server.client import Address, Client
from clinometer.models.server.sampler import ServerSampler

DRAWS = 100
TEXTS = ["The nurse said that", "The pilot said that", "The judge said that"]
OPTIONS = SampleOptions(replies=DRAWS, reply_tokens=2)


@pytest.mark.parametrize(
    ("most", "size", "refused"),
    [
        (None, 1, {100}),  # it ignores the number
        (128, 100, set()),
        (30, 25, {100, 50}),
        (8, 1, {100, 50, 25}),
    ],
)
def test_a_request_asks_for_as_many_as_the_server_returns(
    most: int | None, size: int, refused: set[int]
) -> None:
    server, load = Standin(most=most), LoadOptions(sampled=OPTIONS)
    client = Client(Address.parse(server.url), load.server)
    info = ModelInfo("x", "server", "1")
    with closing(ServerSampler(client, "default", info, load, OPTIONS)) as sampler:
        assert sampler.draw(TEXTS) == [["A"] * DRAWS] * 3
    server.shutdown()
    server.server_close()
    asked = Counter(body.get("n", 1) for body in server.requests)
    assert set(asked) == {size, *refused}
    assert asked[size] == 3 * DRAWS // size
    seeds = [body["seed"] for body in server.requests if body.get("n", 1) == size]
    assert len(set(seeds)) == len(seeds)
