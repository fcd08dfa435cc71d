"""Samples of a real server: as many in a request as it returns."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

from tests.models.server.standin import Standin

from clinometer.models import LoadOptions, SampleOptions
from clinometer.models.server.address import Address
from clinometer.models.server.client import Client
from clinometer.models.server.sampler import ServerSampler

DRAWS = 20
TEXTS = ["The nurse said that", "The pilot said that", "The judge said that"]


def _sampler(url: str) -> ServerSampler:
    load = LoadOptions(sampled=SampleOptions(draws=DRAWS, length=2))
    client = Client(Address.parse(url), load.server)
    return ServerSampler(client, "default", load)


def test_a_request_asks_for_as_many_as_the_server_returns(llama: str) -> None:
    """llama.cpp returns at most one for each of its eight slots: 20 and 10 are refused, 5 are
    not."""
    with closing(_sampler(llama)) as sampler:
        found = sampler.draw(TEXTS, SampleOptions(draws=DRAWS, length=2))
        assert [len(each) for each in found] == [DRAWS] * 3
        assert all(len(set(each)) > DRAWS // 4 for each in found)
        before = sampler.usage()["requests"]
        again = sampler.draw(TEXTS, SampleOptions(draws=DRAWS, length=2))
        assert sampler.usage()["requests"] - before == 3 * DRAWS // 5
    assert [len(each) for each in again] == [DRAWS] * 3


def test_a_server_that_ignores_the_number_is_asked_one_by_one() -> None:
    server = Standin()
    with closing(_sampler(server.url)) as sampler:
        found = sampler.draw(TEXTS, SampleOptions(draws=DRAWS, length=2))
    assert found == [["A"] * DRAWS] * 3
    assert Counter(body.get("n", 1) for body in server.requests) == {DRAWS: 1, 1: 3 * DRAWS}
    assert len({body["seed"] for body in server.requests}) == 3 * DRAWS
    server.shutdown()
    server.server_close()
