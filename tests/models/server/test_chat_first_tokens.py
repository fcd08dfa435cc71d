"""Bounds of words from the most probable first tokens that a provider lists."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.models.server.chat import LISTED, word_bounds

WORDS = ("yes", "no", "yesterday", "n")


def test_the_bounds_hold_what_the_whole_distribution_says() -> None:
    """Replies of up to two made-up tokens; the list shows the first ones, the truth knows both."""
    rng = np.random.default_rng(0)
    firsts = [f"{space}{text}" for text in ("yes", "no", "y", "n", "no", "") for space in ("", " ")]
    firsts += [f"other{i}" for i in range(30)]
    after = ["", "es", "o", "esterday", "terday"]
    for _ in range(200):
        p = rng.dirichlet(np.full(len(firsts), 0.3))
        rest = rng.dirichlet(np.full(len(after), 0.5), len(firsts))
        top = np.argsort(-p)[: rng.integers(1, LISTED + 1)]
        low, high = word_bounds([(firsts[i], float(p[i])) for i in top], WORDS)
        for word, least, most in zip(WORDS, low, high, strict=True):
            begins = [t.strip() == word for t in firsts]  # as exact scores count a word's tokens
            joined = [[t.strip() != word and t.strip() + a == word for a in after] for t in firsts]
            true = float(p @ begins + (p[:, None] * rest)[np.array(joined)].sum())
            assert least <= true + 1e-12 <= most + 2e-12


def test_a_list_of_everything_leaves_the_rounding_alone() -> None:
    low, high = word_bounds([("yes", 0.7), (" no", 0.3)], ("yes", "no", "maybe"))
    assert low == pytest.approx([0.7, 0.3, 0.0])
    assert high == pytest.approx([0.701, 0.301, 0.001])
