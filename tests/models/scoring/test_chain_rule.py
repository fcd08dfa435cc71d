"""Walking the tree of words: what is left out, and how far that can move a preference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from clinometer.models.protocol import WordScores
from clinometer.models.scoring.chain_rule import WordQuery, expand, scattered
from clinometer.models.tokens.word_tokens import Trie

HER, S, HIM = 1, 2, 3
WORDS = [(HER,), (HER, S), (HIM,)]


def asked(first: float, second: float, tolerance: float) -> WordScores:
    """One prompt: p(her…) = first, p(him) = 1 - first, p(s | her) = second."""
    tree = Trie.of(WORDS)
    follows = {0: {HER: first, HIM: 1 - first}, 1: {S: second}}

    def ask(questions: Sequence[WordQuery]) -> list[NDArray[np.float64]]:
        with np.errstate(divide="ignore"):
            return [
                np.log([[follows[len(tree.prefix[q.node])][t] for t in tree.child_tokens(q.node)]])
                for q in questions
            ]

    return expand([tree], 1, ask, tolerance=tolerance)


@pytest.mark.parametrize("second", [0.0, 0.3, 1.0])
def test_the_bound_holds_when_a_skipped_word_extends_one_of_another_category(
    second: float,
) -> None:
    """All of "her" may be "hers": its mass then moves between the categories, and M stays."""
    exact = np.exp(asked(0.001, second, 0.0).log_probs[0])
    quick = asked(0.001, second, 0.002)
    near = np.exp(quick.log_probs[0])
    assert quick.skipped[0] == pytest.approx(0.001)
    bound = quick.skipped[0] / np.exp(quick.log_coverage[0])
    moved = abs(exact[1] / exact.sum() - near[1] / near.sum())
    assert moved <= bound + 1e-15
    assert moved == pytest.approx(0.001 * second)


def test_nothing_is_skipped_beyond_the_tolerance() -> None:
    assert asked(0.001, 0.5, 0.0009).skipped[0] == 0.0


def test_chunks_are_assembled_in_order() -> None:
    values = np.arange(12.0).reshape(6, 2)
    whole = WordScores(values, values[:, 0], values[:, 1], values + 1)
    order = np.array([4, 1, 5, 0, 3, 2])
    found = scattered(((some, whole.take(some)) for some in (order[:2], order[2:])), 6)
    np.testing.assert_array_equal(found.log_probs, whole.log_probs)
    np.testing.assert_array_equal(found.skipped, whole.skipped)
    assert found.log_upper is not None
    np.testing.assert_array_equal(found.log_upper, values + 1)
    with pytest.raises(ValueError, match="no parts"):
        scattered(iter(()), 6)
