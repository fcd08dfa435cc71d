"""What masked, sequence-to-sequence and permutation models share and where they differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.models import direct, zoo

from clinometer.errors import ModelError
from clinometer.models.local.base import light_kernels, read_log_probs
from clinometer.models.local.masked import MaskedScorer
from clinometer.topics import Prompt

PROMPTS = [
    Prompt("The nurse said that", "", space=True),
    Prompt("The man said that", " was late.", space=True),
    Prompt("The man told", ".", space=True),
    Prompt("", " met the nurse", space=False),
    Prompt('The nurse said "', '"', space=False),
]
WORDS = ["he", "her", "queen", "girls"]


@pytest.mark.parametrize("family", ["bert", "roberta", "t5", "bart", "xlnet"])
def test_the_slot_may_be_anywhere(family: str, small_model: zoo.Folder) -> None:
    """At the opening of the text, after a quote, before a full stop: all are probabilities, and
    the order and company of the prompts do not matter."""
    scorer = zoo.opened(small_model(family))
    together = scorer.score(PROMPTS, WORDS)
    writable = np.array(
        [w not in scorer.word_report(WORDS, space=True).unwritable for w in WORDS]
    )
    assert np.isfinite(together.log_probs[:3][:, writable]).all()
    assert (together.log_coverage <= 1e-5).all()
    for i, prompt in enumerate(PROMPTS):
        alone = scorer.score([prompt], WORDS)
        np.testing.assert_allclose(alone.log_probs[0], together.log_probs[i], atol=1e-4)


def test_a_word_that_prefixes_another_is_scored_as_itself(
    small_model: zoo.Folder,
) -> None:
    """A word in one tree with a longer one; under a masked model each length has its own tree."""
    bart = zoo.opened(small_model("bart"))
    both = np.exp(bart.score(PROMPTS[:1], ["girl", "girls"]).log_probs[0])
    alone = np.exp(bart.score(PROMPTS[:1], ["girl"]).log_probs[0])
    assert both.sum() == pytest.approx(alone[0], rel=1e-4)
    bert = zoo.opened(small_model("bert"))
    both = bert.score(PROMPTS[:1], ["girl", "girls"]).log_probs[0]
    alone = bert.score(PROMPTS[:1], ["girl"]).log_probs[0]
    assert both[0] == pytest.approx(alone[0], abs=1e-5)


def test_a_decoder_that_does_not_say_how_it_begins_is_refused(tmp_path: Path) -> None:
    zoo.make("bart", tmp_path, decoder_start_token_id=None)
    with pytest.raises(ModelError, match="expected decoder_start_token_id"):
        zoo.opened(tmp_path)


def test_chinese_without_spaces(tmp_path: Path) -> None:
    tokenizer = zoo.bert_tokenizer(corpus=zoo.CHINESE)
    scorer = zoo.opened(zoo.make("bert", tmp_path, tokenizer=tokenizer))
    prompt = Prompt("医生说", "很好", space=False)
    found = scorer.score([prompt], ["他", "她"]).log_probs[0]
    slot = (
        "masked",
        scorer.model,
        tokenizer,
        prompt.before,
        prompt.after,
    )  # spaces are dropped
    expected = [direct.log_prob(*slot, word) for word in ("他", "她")]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_chunks_change_no_number(
    small_model: zoo.Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for family in ("bert", "t5"):
        scorer = zoo.opened(small_model(family))
        whole = scorer.score(PROMPTS, WORDS)
        monkeypatch.setattr("clinometer.models.tokens.slots._SLICE", 2)
        monkeypatch.setattr("clinometer.models.local.masked._CHUNK", 2)
        monkeypatch.setattr("clinometer.models.local.seq2seq._ENCODED", {"cpu": 2})
        parts = scorer.score(PROMPTS, WORDS)
        np.testing.assert_allclose(parts.log_probs, whole.log_probs, atol=1e-4)
        np.testing.assert_allclose(parts.log_coverage, whole.log_coverage, atol=1e-4)


def test_threads_share_one_model(small_model: zoo.Folder) -> None:
    """Two chunks at a time, as on a GPU: the hook that picks positions must not be shared."""
    from concurrent.futures import ThreadPoolExecutor

    scorer: MaskedScorer = zoo.opened(small_model("bert"))
    chunks = [PROMPTS[:1] * 3, PROMPTS[1:2] * 5, PROMPTS[2:3]] * 4
    expected = [scorer.score(c, WORDS).log_probs for c in chunks]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda c: scorer.score(c, WORDS).log_probs, chunks))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


def test_onednn_is_disabled_on_arm_and_restored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings: Any = torch.backends.mkldnn
    monkeypatch.setattr(settings, "enabled", True)
    for machine, inside in (("aarch64", False), ("x86_64", True)):
        monkeypatch.setattr("platform.machine", lambda machine=machine: machine)
        with light_kernels():
            assert settings.enabled == inside
        assert settings.enabled


def test_a_large_vocabulary_loses_no_precision() -> None:
    """Sums over 262,144 tokens in float32, as in Gemma, beside float64."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn((8, 262_144), generator=generator) * 3
    wanted = torch.arange(8)[None].expand(8, 8)
    exact = logits.double().log_softmax(-1)[:, :8]
    assert float((read_log_probs(logits, wanted).double() - exact).abs().max()) < 1e-5
