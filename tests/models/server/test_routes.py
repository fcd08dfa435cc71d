"""Every dialect gives the numbers of the model behind it, and the best one is found."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.models.server.standin import VOCABULARY, Standin, log_probs
from tests.processes import PATIENCE_S

from clinometer.errors import ContextError, ModelError
from clinometer.models import (
    LoadOptions,
    ServerOptions,
    WordOptions,
    open_model,
    options,
)
from clinometer.models.server.routes import ROUTES
from clinometer.models.server.words import ServerScorer
from clinometer.topics import Prompt

Start = Callable[..., Standin]
WORDS = ("HE", "SHE", "HER", "Q", "HERO")
PROMPTS = [Prompt("A NURSE SAID", "", space=True), Prompt("NOBODY", " IN", space=True)]
EXACT = WordOptions(tolerance=0)
BOOST = LoadOptions(server=ServerOptions(route="boost"))


def tokens(text: str) -> list[int]:
    return [VOCABULARY.index(c) for c in text]


def truth(prompt: Prompt, word: str) -> float:
    """log p(word and the rest), without the listed words that go on from it."""
    head = tokens(prompt.before)

    def chain(text: str) -> float:
        ids = head + tokens(text)
        return float(
            sum(log_probs(ids[:i])[ids[i]] for i in range(len(head), len(ids)))
        )

    longer = [w for w in WORDS if w != word and w.startswith(word)]
    nearest = [w for w in longer if not any(w != v and w.startswith(v) for v in longer)]
    own = math.exp(chain(" " + word)) - sum(math.exp(chain(" " + w)) for w in nearest)
    rest = chain(f" {word}{prompt.after}") - chain(" " + word)
    return math.log(own) + rest


@pytest.fixture
def standin(until_the_end: Callable[[Standin], Standin]) -> Start:
    return lambda *abilities, **how: until_the_end(
        Standin("logprobs", *abilities, **how)
    )


@pytest.mark.parametrize(
    ("route", "abilities", "how"),
    [
        ("token-ids", ("token-ids", "names-ids", "boost"), {}),
        ("boost", ("boost",), {"top": 5}),
        ("boost", ("boost",), {}),
    ],
)
def test_the_first_route_that_works_is_exact(
    standin: Start, route: str, abilities: tuple[str, ...], how: dict[str, Any]
) -> None:
    server = standin(*abilities, **how)
    scorer = open_model(f"openai:{server.url}#toy", words=EXACT)
    assert scorer.info.notes == (f"queried by the route {route}: exact",)
    assert scorer.info.revision.endswith(route)
    found = scorer.score(PROMPTS, WORDS)
    expected = [[truth(p, w) for w in WORDS] for p in PROMPTS]
    np.testing.assert_allclose(found.log_probs, expected, atol=1e-6)


@pytest.mark.parametrize("k", [1, 3, 20, 60])
def test_top_k_bounds_contain_every_word(standin: Start, k: int) -> None:
    server = standin(top=60, strict=True)  # it refuses what other routes ask for
    route = "top-k" if k == 60 else None  # all tokens are listed: boost would be exact
    load = LoadOptions(server=ServerOptions(route=route, top_k=k))
    scorer = open_model(f"openai:{server.url}#toy", load=load, words=EXACT)
    found = scorer.score(PROMPTS, WORDS)
    expected = np.array([[truth(p, w) for w in WORDS] for p in PROMPTS])
    assert found.log_upper is not None
    assert (found.log_probs <= expected + 1e-9).all()
    assert (expected <= found.log_upper + 1e-9).all()
    if k == 60:  # nothing is kept back
        np.testing.assert_allclose(found.log_probs, found.log_upper, atol=1e-9)


@pytest.mark.parametrize(
    ("abilities", "model", "options", "message"),
    [
        ((), "toy", {}, "--replies"),
        (("logprobs",), "toy", {"load": BOOST}, "route 'boost'"),
        (("logprobs",), "other", {}, "the server has toy"),
    ],
)
def test_what_a_server_cannot_do_is_refused(
    abilities: tuple[str, ...], model: str, options: Any, message: str
) -> None:
    with Standin(*abilities) as server, pytest.raises(ModelError, match=message):
        open_model(f"openai:{server.url}#{model}", **options)


def test_prompts_longer_than_the_server_reads_are_refused(standin: Start) -> None:
    scorer = open_model(f"openai:{standin('boost').url}#toy", words=EXACT)
    with pytest.raises(ContextError, match="99 tokens"):
        scorer.score([Prompt("A " * 60, "", space=True)], WORDS)


def test_every_route_can_be_chosen() -> None:
    assert tuple(ROUTES) == options.ROUTES


@pytest.mark.parametrize("inside", [False, True])
def test_a_client_stops_its_thread_from_any_thread(
    standin: Start, inside: bool
) -> None:
    """The collector may run in the client's own thread."""
    scorer = open_model(f"openai:{standin('boost').url}#toy", words=EXACT)
    assert isinstance(scorer, ServerScorer)
    background = scorer.route.endpoint.client._event_loop
    if inside:
        background.loop.call_soon_threadsafe(scorer.close)
    else:
        scorer.close()
    background.thread.join(PATIENCE_S)
    assert not background.thread.is_alive()
    assert background.loop.is_closed()
