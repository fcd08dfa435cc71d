"""The embedded model: real weights, against a direct softmax of its own logits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from clinometer.models import LoadOptions, ModelSpec, WordOptions, open_model
from clinometer.models.catalog import weights as resolve
from clinometer.models.catalog.weights import gguf_file, weights_source
from clinometer.models.local.causal import CausalScorer
from clinometer.topics import Prompt

#: one token: he, she, her, hers; two: granddaughter, abbot, canary; three: abbess, manservant
WORDS = ("he", "she", "her", "hers", "granddaughter", "abbot", "canary", "abbess", "manservant")
BEFORE = ["The nurse said that", "The engineer announced that", "The ceo said that"]


def direct(scorer: CausalScorer, prompt: Prompt, word: str) -> float:
    """p(word + what follows | prompt) from whole-sequence logits of one sentence."""
    head = scorer.tokenizer(prompt.before)["input_ids"]
    whole = scorer.tokenizer(prompt.fill(word))["input_ids"]
    assert whole[: len(head)] == head
    with torch.inference_mode():
        probabilities = (
            scorer.model(torch.tensor([whole], device=scorer.device)).logits[0].double().softmax(-1)
        )
    factors = [float(probabilities[i - 1, whole[i]]) for i in range(len(head), len(whole))]
    return float(np.prod(factors))


@pytest.fixture(scope="module")
def exact() -> Any:
    exactly = WordOptions(tolerance=0)
    return open_model("smollm2", load=LoadOptions(dtype="float32"), words=exactly)


def test_words_have_the_expected_token_counts(exact: CausalScorer) -> None:
    tokens = exact.word_report(WORDS, space=True).tokens
    assert [len(tokens[w]) for w in WORDS] == [1, 1, 1, 1, 2, 2, 2, 3, 3]


@pytest.mark.parametrize("after", ["", " was late."])
def test_probabilities_equal_a_direct_softmax(exact: CausalScorer, after: str) -> None:
    """With text after the slot, of the word and that text; coverage is that of the slot alone."""
    prompts = [Prompt(before, after, space=True) for before in BEFORE]
    scores = exact.score(prompts, WORDS)
    expected = [[direct(exact, p, w) for w in WORDS] for p in prompts]
    np.testing.assert_allclose(np.exp(scores.log_probs), expected, atol=1e-5, rtol=0)
    np.testing.assert_allclose(scores.log_probs, np.log(expected), atol=1e-3, rtol=0)
    assert (scores.skipped == 0).all()
    plain = exact.score([Prompt(before, "", space=True) for before in BEFORE], WORDS)
    np.testing.assert_allclose(scores.log_coverage, plain.log_coverage, atol=1e-3)


def test_folders_and_hub_ids_are_their_own_source(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    assert weights_source(ModelSpec.parse(str(tmp_path))) == str(tmp_path)
    assert weights_source(ModelSpec.parse("openai-community/gpt2")) == "openai-community/gpt2"


def test_gguf_files_become_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(b"")
    monkeypatch.setattr(resolve, "embedded_gguf", lambda: Path("embedded.gguf"))
    monkeypatch.setattr(resolve, "folder_of_gguf", lambda gguf: Path(f"{gguf.stem}-folder"))
    assert gguf_file(ModelSpec.parse(str(file))) == file
    assert weights_source(ModelSpec.parse(str(file))) == "model-folder"
    assert weights_source(ModelSpec.parse("smollm2")) == "embedded-folder"


@pytest.mark.parametrize("name", ["reference:random", "openai:http://h/v1#m"])
def test_models_not_loaded_locally_have_no_source(name: str) -> None:
    assert gguf_file(ModelSpec.parse(name)) is None
    assert weights_source(ModelSpec.parse(name)) is None
