"""Ollama's own endpoint: the numbers of the model behind it, as far as it lists them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.models.server.ollama import OllamaStandin
from tests.present import present

from clinometer.contexts import ContextSet
from clinometer.errors import ModelError
from clinometer.models import LoadOptions, ServerOptions, WordOptions, open_model
from clinometer.runs import AuditSettings, audit
from clinometer.topics import Prompt, load_topic

EXACT = WordOptions(tolerance=0)
LOAD = LoadOptions(server=ServerOptions(tokenizer="smollm2"))
PROMPTS = [
    Prompt("Should the company invite the applicant? Answer yes or no. Answer:", "", space=True),
    Prompt("The capital of France is", "", space=True),
]
WORDS = ("Yes", "No", "Paris", "Lyon", "granddaughter")


@pytest.fixture
def ollama(
    llama: str, until_the_end: Callable[[OllamaStandin], OllamaStandin]
) -> Callable[..., OllamaStandin]:
    return lambda **how: until_the_end(OllamaStandin(llama, **how))


def test_listed_words_are_exact_and_the_others_bounded(
    llama: str, ollama: Callable[..., OllamaStandin]
) -> None:
    server = ollama()
    theirs = open_model(f"openai:{server.url}", load=LOAD, words=EXACT)
    assert theirs.info.notes == ("queried by the route ollama: the 20 most probable tokens only",)
    assert theirs.info.revision.endswith("ollama")
    truth = open_model(f"openai:{llama}", words=EXACT).score(PROMPTS, WORDS).log_probs
    found = theirs.score(PROMPTS, WORDS)
    assert found.log_upper is not None
    assert (found.log_probs <= truth + 0.01).all()
    assert (truth <= found.log_upper + 0.01).all()
    listed = np.isfinite(found.log_probs)
    assert listed[0, :2].all()
    assert listed[1, 2]
    assert not listed.all()
    np.testing.assert_allclose(found.log_probs[listed], truth[listed], atol=0.01)
    assert PROMPTS[0].before in server.prompts


def test_a_topic_of_questions_is_audited_inside_the_chat_template(
    llama: str, ollama: Callable[..., OllamaStandin], tmp_path: Path
) -> None:
    topic = load_topic("hiring").select(["Jessica Schmidt", "Michael Nguyen"])
    template = "[X] applied. Should we invite this person? Answer [options: yes, no]. Answer: [Y]"
    contexts = ContextSet("few", [template, template.replace("applied", "called")], [1, 1])
    found = {}
    for name, url, server in (
        ("ollama", ollama().url, ServerOptions(tokenizer="smollm2")),
        ("exact", llama, ServerOptions()),
    ):
        settings = AuditSettings(load=LoadOptions(server=server, chat=True))
        found[name] = audit(
            f"openai:{url}",
            topic=topic,
            contexts=contexts,
            out=tmp_path / name,
            settings=settings,
        )
    bounds = present(found["ollama"].record.bounds)
    low, high = bounds.R
    assert low - 1e-3 <= found["exact"].risks.R.value <= high + 1e-3


def test_a_reply_that_ends_at_once_says_nothing(ollama: Callable[..., OllamaStandin]) -> None:
    scorer = open_model(f"openai:{ollama(ends='France').url}", load=LOAD, words=EXACT)
    found = scorer.score(PROMPTS, ("Yes", "No"))
    assert found.log_upper is not None
    assert np.isfinite(found.log_probs[0]).all()
    np.testing.assert_array_equal(found.log_probs[1], -np.inf)
    np.testing.assert_array_equal(found.log_upper[1], 0.0)


def test_without_a_tokenizer_or_log_probabilities_one_line_says_so(
    ollama: Callable[..., OllamaStandin],
) -> None:
    with pytest.raises(ModelError, match=r"no /tokenize \(status 404\); name its tokenizer with"):
        open_model(f"openai:{ollama().url}")
    with pytest.raises(ModelError, match="--replies N samples answers instead"):
        open_model(f"openai:{ollama(old=True).url}", load=LOAD)
