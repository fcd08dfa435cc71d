"""Samples of a server: as many in a request as it returns, each with its own seed otherwise."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import pytest
from tests.models.server.standin import Standin

from clinometer.models import LoadOptions, ModelInfo, SampleOptions
from clinometer.models.client import Address, Client
from clinometer.models.open import open_writer
from clinometer.models.server.chat import ChatEndpoint, ServerSampler
from clinometer.reliability import Statement
from clinometer.reliability.blanks import ATTEMPTS, PointSettings, propose_points

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
    endpoint = ChatEndpoint(client, "default")
    with closing(ServerSampler(endpoint, info, load, OPTIONS, chat=False)) as sampler:
        assert sampler.draw(TEXTS) == [["A"] * DRAWS] * 3
    server.stop()
    asked = Counter(body.get("n", 1) for body in server.requests)
    assert set(asked) == {size, *refused}
    kept = 1 if most is None else 0  # of the request whose number was ignored
    assert asked[size] == 3 * DRAWS // size - kept
    seeds = [body["seed"] for body in server.requests if body.get("n", 1) == size]
    assert len(set(seeds)) == len(seeds)


def test_a_server_answers_requests(llama: str) -> None:
    writer = open_writer(f"openai:{llama}#smollm2")
    turns = [("user", "Say hello. Answer in one short sentence.")]
    first = writer.write(turns, temperature=0, length=12)
    assert len(first) == 1
    assert first[0].strip()
    assert "\n" not in first[0]
    assert len(writer.write(turns, n=3, temperature=1.0, seed=1, length=6)) == 3


def test_a_server_proposes_blanks(llama: str) -> None:
    settings = PointSettings(model=f"openai:{llama}#smollm2")
    statement = Statement(id="a", text="The nurse is tired.")
    row = propose_points([statement], settings=settings).rows[0]
    assert 1 <= len(row["answers"]) <= ATTEMPTS
    assert row["context_points"].replace("___ ", "").replace(" ___", "") == statement.text
