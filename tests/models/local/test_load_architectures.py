"""Every architecture: our log-probabilities against plain transformers calls, word by word."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from tests.models import direct, zoo

from clinometer.errors import SettingsError
from clinometer.models import LoadOptions, WordOptions, open_model
from clinometer.models.local.load import choose_dtype
from clinometer.topics import Prompt

PROMPTS = [
    Prompt("The nurse said that", "", space=True),
    Prompt("The doctor in the house told", " was late", space=True),
    Prompt("The man met", " and the woman.", space=True),
    Prompt("The teacher liked the", "", space=True),
]
MORE = [
    Prompt(f"The {x} stated that", a, space=True)
    for x in ("engineer", "pilot", "woman")
    for a in ("", " was late")
]


@pytest.fixture(scope="module")
def plain(small_model: zoo.Folder) -> Callable[[str], tuple[Any, Any]]:
    """Model and tokenizer as transformers loads them."""

    @cache
    def load(family: str) -> tuple[Any, Any]:
        folder, kind = small_model(family), zoo.FAMILIES[family].kind
        model = zoo.AUTO[kind].from_pretrained(folder).eval()
        return model, transformers.AutoTokenizer.from_pretrained(folder)

    return load


def choose_words(tokenizer: Any) -> list[str]:
    """Words of 1, 2 and 4 tokens, none of whose tokens begin another's."""
    chosen: dict[str, list[int]] = {}
    for size, count in ((1, 2), (2, 1), (4, 2)):
        found = 0
        for word in zoo.CANDIDATES:
            ids = direct.word_ids(tokenizer, word)
            others = chosen.values()
            unknown = tokenizer.unk_token_id in ids
            clash = unknown or any(
                ids[: len(o)] == o or o[: len(ids)] == ids for o in others
            )
            if len(ids) == size and not clash and found < count:
                chosen[word] = ids
                found += 1
        assert found == count, (
            f"the zoo's tokenizer writes too few words in {size} tokens"
        )
    return list(chosen)


@cache
def scorer(folder: Path, *, tolerance: float = 0.0, **load: Any) -> Any:
    how = LoadOptions(**{"device": "cpu", "dtype": "float32", **load})
    return open_model(str(folder), load=how, words=WordOptions(tolerance=tolerance))


@pytest.mark.parametrize("family", zoo.FAMILIES)
def test_batches_match_one_prompt_and_one_word_at_a_time(
    family: str, small_model: zoo.Folder, plain: Callable[[str], tuple[Any, Any]]
) -> None:
    model, tokenizer = plain(family)
    words, kind = choose_words(tokenizer), zoo.FAMILIES[family].kind
    expected = np.array(
        [
            [
                direct.log_prob(kind, model, tokenizer, p.before, p.after, w)
                for w in words
            ]
            for p in PROMPTS
        ]
    )
    assert np.ptp(expected) > 3.0  # a model near uniform would hide mistakes
    one_row = scorer(small_model(family), batch_tokens=1)
    assert one_row.info.kind == kind
    found = one_row.score(PROMPTS, words)
    np.testing.assert_allclose(found.log_probs, expected, atol=1e-4)
    assert not found.skipped.any()
    # 64 rows and more, in batches of up to 64, in another order of prompts and of words.
    many = PROMPTS * 16 + MORE
    order = np.random.default_rng(0).permutation(len(many))
    back = np.argsort(order)[: len(PROMPTS)]
    mixed = [many[i] for i in order]
    in_batches = scorer(small_model(family), batch_tokens=64 * 12).score(
        mixed, words[::-1]
    )
    np.testing.assert_allclose(in_batches.log_probs[back][:, ::-1], expected, atol=1e-4)
    np.testing.assert_allclose(
        in_batches.log_coverage[back], found.log_coverage, atol=1e-4
    )


@pytest.mark.parametrize("family", zoo.FAMILIES)
def test_no_preference_moves_by_more_than_the_reported_bound(
    family: str, small_model: zoo.Folder, plain: Callable[[str], tuple[Any, Any]]
) -> None:
    words, prompts = choose_words(plain(family)[1]), PROMPTS[::2] + MORE
    exact = scorer(small_model(family)).score(prompts, words)

    def share(
        log_probs: Any,
    ) -> Any:  # the first, third and fifth word against the rest
        p = np.exp(log_probs)
        return p[:, ::2].sum(axis=1) / p.sum(axis=1)

    categories = np.array(
        [[i % 2 == 0, i % 2 == 1] for i in range(len(words))], dtype=float
    )
    for tolerance, counts in ((1e-4, None), (0.02, None), (0.02, categories)):
        quick = scorer(small_model(family), tolerance=tolerance).score(
            prompts, words, counts
        )
        bound = quick.skipped / np.exp(quick.log_coverage)
        assert (bound <= tolerance + 1e-12).all()
        moved = np.abs(share(quick.log_probs) - share(exact.log_probs))
        assert (moved <= bound + 1e-6).all()
        asked = np.isfinite(quick.log_probs)
        np.testing.assert_allclose(
            quick.log_probs[asked], exact.log_probs[asked], atol=1e-4
        )


HALF = [family for family in zoo.FAMILIES if family not in ("deberta", "xlnet")]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("family", HALF)
def test_half_precision_scores_are_close(
    family: str,
    dtype: str,
    small_model: zoo.Folder,
    plain: Callable[[str], tuple[Any, Any]],
) -> None:
    """bfloat16 is the default on a GPU. These models are sharper than trained ones."""
    words = choose_words(plain(family)[1])
    exact = scorer(small_model(family)).score(PROMPTS, words).log_probs
    half = scorer(small_model(family), dtype=dtype)
    assert half.info.dtype == dtype
    found = half.score(PROMPTS, words).log_probs
    assert 0 < np.abs(found - exact).max() < 0.1 * np.ptp(exact)


@pytest.mark.parametrize("family", ["deberta", "xlnet"])
def test_architectures_without_half_precision_run_in_full(
    family: str, small_model: zoo.Folder
) -> None:
    folder = str(small_model(family))
    for dtype in ("bfloat16", "float16"):
        with pytest.raises(SettingsError, match="--load dtype=float32"):
            open_model(folder, load=LoadOptions(device="cpu", dtype=dtype))
    whole = open_model(folder, load=LoadOptions(device="cpu"))
    assert whole.info.dtype == "float32"
    assert np.isfinite(whole.score(PROMPTS, ["he", "she"]).log_probs).all()
    config = transformers.AutoConfig.from_pretrained(folder)
    assert choose_dtype(family, config, "auto", torch.device("cuda")) == "float32"
