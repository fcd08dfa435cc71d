"""Prefix-tree packs: the layout by itself, and the same numbers as plain rows from every model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.models import zoo

from clinometer.models import WordOptions
from clinometer.models.local.causal import (
    CausalScorer,
    PackingError,
    TreeRun,
    compare,
    shortest_window,
)
from clinometer.models.local.packs import Chunk
from clinometer.models.protocol import ModelInfo, WordScores
from clinometer.topics import Prompt

WORDS = ["he", "she", "her", "man", "mans", "grandson", "granddaughter", "heiress"]
PROMPTS = [
    Prompt(f"The {x} {verb}", after, space=True)
    for x in ("nurse", "engineer")
    for verb in ("said that", "said", "saw the")
    for after in ("", " was late")
]
ROOM = {"n_positions": 64} | dict.fromkeys(("sliding_window", "window_size"), 64)
FAMILIES = [name for name, family in zoo.FAMILIES.items() if family.kind == "causal"]


EXACT = WordOptions(tolerance=0.0)


def causal(
    model: Any,
    tokenizer: Any,
    *,
    options: WordOptions = EXACT,
    batch_tokens: int | None = None,
    **packing: int,
) -> CausalScorer:
    info = ModelInfo("m", "causal", "r")
    scorer = CausalScorer(
        model, tokenizer, info, options=options, batch_tokens=batch_tokens
    )
    vars(scorer).update(packing)
    return scorer


def in_rows(model: Any, tokenizer: Any, options: WordOptions = EXACT) -> WordScores:
    """The scores of all prompts and words by plain rows."""
    scorer = causal(model, tokenizer, options=options)
    scorer.packing.give_up("the test compares with plain rows")
    return scorer.score(PROMPTS, WORDS)


def family_model(name: str, **changes: Any) -> tuple[Any, Any]:
    tokenizer = zoo.FAMILIES[name].tokenizer()
    room = {k: v for k, v in ROOM.items() if k in zoo.FAMILIES[name].settings}
    return zoo.build(name, len(tokenizer), **(room | changes)), tokenizer


def assert_same(found: WordScores, expected: WordScores) -> None:
    np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=1e-5)
    np.testing.assert_allclose(found.log_coverage, expected.log_coverage, atol=1e-5)
    np.testing.assert_allclose(found.skipped, expected.skipped, atol=1e-7)


def agreed(
    model: Any, tokenizer: Any, options: WordOptions = EXACT, **packing: int
) -> CausalScorer:
    """A scorer that may use packs, after it and plain rows have given the same scores."""
    packed = causal(model, tokenizer, options=options, **packing)
    assert_same(packed.score(PROMPTS, WORDS), in_rows(model, tokenizer, options))
    return packed


@pytest.mark.parametrize("family", FAMILIES)
def test_packs_match_plain_rows(family: str) -> None:
    model, tokenizer = family_model(family)
    expected = in_rows(model, tokenizer)
    assert np.ptp(expected.log_probs) > 3.0
    packed = causal(model, tokenizer)
    found = packed.score(PROMPTS, WORDS)
    assert packed.packing.mode == "tree", packed.packing.reason
    assert_same(found, expected)
    # The same list again, bit by bit; then in other packs, another order and one head at a time.
    again = packed.score(PROMPTS, WORDS)
    assert np.array_equal(again.log_probs, found.log_probs)
    order = np.random.default_rng(0).permutation(len(PROMPTS))
    mixed = [PROMPTS[i] for i in order]
    small = causal(model, tokenizer, batch_tokens=64, pack_nodes=9, row_multiple=4)
    for other in (causal(model, tokenizer, batch_tokens=1), small):
        scores = other.score(mixed, WORDS)
        np.testing.assert_allclose(
            scores.log_probs, expected.log_probs[order], atol=1e-5
        )


@pytest.mark.parametrize(
    "options", [WordOptions(), WordOptions(tolerance=0.01)], ids=str
)
def test_word_options_apply_in_packs(options: WordOptions) -> None:
    assert agreed(*family_model("gpt2"), options=options).packing.mode == "tree"


def test_eager_attention_takes_the_same_mask() -> None:
    model, tokenizer = family_model("llama")
    model.set_attn_implementation("eager")
    assert agreed(model, tokenizer).packing.mode == "tree"


def test_shared_prefixes_are_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    model, tokenizer = family_model("gpt2")
    run = 0

    def count(self: TreeRun, chunk: Chunk, cache: Any) -> Any:
        nonlocal run
        run += chunk.tokens.size  # of one pack, which is as wide as it has nodes
        return forward(self, chunk, cache)

    forward = TreeRun._forward
    monkeypatch.setattr(TreeRun, "_forward", count)
    ends = [p for p in PROMPTS if not p.after]
    causal(model, tokenizer, options=WordOptions(single_token=True)).score(
        ends * 2, WORDS
    )
    heads = [tuple(tokenizer(p.before)["input_ids"]) for p in ends]
    assert run == len({h[: k + 1] for h in heads for k in range(len(h))})


OTHERS = {
    "Bloom": {"hidden_size": 32, "n_layer": 2, "n_head": 4},
    "Mpt": {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 64},
    "Mamba": {"hidden_size": 32, "num_hidden_layers": 2, "state_size": 4},
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_model_that_cannot_be_packed_is_scored_in_rows(name: str) -> None:
    tokenizer = zoo.gpt2_tokenizer()
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(
        vocab_size=len(tokenizer), **OTHERS[name]
    )
    model = zoo.widen(getattr(transformers, f"{name}ForCausalLM")(config))
    expected = in_rows(model, tokenizer)
    packed = causal(model, tokenizer)
    # One prompt alone has no branches and may pass; the grid after it must not.
    first = packed.score(PROMPTS[:1], WORDS)
    np.testing.assert_allclose(first.log_probs, expected.log_probs[:1], atol=1e-5)
    assert_same(packed.score(PROMPTS, WORDS), expected)
    assert packed.packing.mode == "rows"
    assert "packs" in packed.packing.reason


def test_a_mask_or_position_without_effect_is_detected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model, tokenizer = family_model("llama")
    plain = model.forward
    for ignored in ("attention_mask", "position_ids"):

        def forward(*, ignored: str = ignored, **inputs: Any) -> Any:
            return plain(**{k: v for k, v in inputs.items() if k != ignored})

        monkeypatch.setattr(model, "forward", forward)
        assert agreed(model, tokenizer).packing.mode == "rows"


def test_a_text_longer_than_the_window_is_scored_in_rows() -> None:
    model, tokenizer = family_model("mistral", sliding_window=5)
    assert shortest_window(model.config) == 5
    found = causal(model, tokenizer).score(PROMPTS, WORDS)
    assert np.array_equal(found.log_probs, in_rows(model, tokenizer).log_probs)


def test_slabs_in_two_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinometer.models.local.causal._SLAB", 2)
    assert (
        agreed(*family_model("gpt2"), threads=2).packing.mode == "tree"
    )  # as with a GPU


def test_a_model_with_a_local_window_gets_short_rows() -> None:
    model, tokenizer = family_model("gpt-neo", window_size=64)
    assert causal(model, tokenizer).pack_nodes == 21
    # With what is asked behind so many, rows are longer than the window.
    assert agreed(model, tokenizer, pack_nodes=60).packing.mode == "rows"


def test_half_precision_is_compared_more_loosely() -> None:
    plain = [np.array([-1.0, -8.0, -12.0])]
    compare([plain[0] + 0.03], plain, torch.bfloat16)
    with pytest.raises(PackingError, match="differ"):
        compare([plain[0] + 0.03], plain, torch.float32)
    with pytest.raises(PackingError, match="differ"):
        compare([plain[0] + 0.5], plain, torch.bfloat16)
    with pytest.raises(PackingError, match="differ"):
        compare([np.array([np.nan, -8.0, -12.0])], plain, torch.float32)
    # Answers that hardly differ from each other must agree the better.
    flat = [np.array([-5.0, -5.001])]
    with pytest.raises(PackingError, match="differ"):
        compare([flat[0] + 5e-4], flat, torch.float32)
