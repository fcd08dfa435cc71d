from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clinometer.errors import SettingsError
from clinometer.measure import decompose, membership, preference
from clinometer.statistics.arrays import FloatArray

WORDS = ["he", "canary", "she", "table"]
CATEGORIES = {"male": ["he", "canary"], "female": ["she", "canary"]}


@pytest.mark.parametrize(
    ("words", "categories", "shared", "expected"),
    [
        (WORDS, CATEGORIES, "split", [[1, 0], [0.5, 0.5], [0, 1], [0, 0]]),
        (WORDS, CATEGORIES, "drop", [[1, 0], [0, 0], [0, 1], [0, 0]]),
        (
            "abcz",
            {y: [y, "z"] for y in "abc"},
            "split",
            [*np.eye(3).tolist(), [1 / 3] * 3],
        ),
        (
            "ab",
            {"A": ["a", "a"], "B": ["b"]},
            "split",
            [[1, 0], [0, 1]],
        ),  # twice counts once
    ],
)
def test_membership_by_hand(
    words: Any,
    categories: dict[str, list[str]],
    shared: Any,
    expected: list[list[float]],
) -> None:
    assert membership(list(words), categories, shared=shared).tolist() == expected


@pytest.mark.parametrize("first", [-1.0, 1e-7])
def test_an_impossible_word_and_rounding_above_zero_are_allowed(first: float) -> None:
    assert preference([first, -np.inf], np.eye(2)).p.tolist() == [1.0, 0.0]


AB = {"A": ["a"], "B": ["b"]}
HALF: Any = "half"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: membership(["a"], AB), "among the 1 given, found 'b' of 'B'"),
        (lambda: membership(["a", "b", "a"], AB), "'a' more than once"),
        (lambda: membership(["a"], {"A": ["a"]}), "at least two, found 1"),
        (
            lambda: membership(["a"], {"A": ["a"], "B": []}),
            "to count in 'B', found none",
        ),
        (
            lambda: membership(["a"], {"A": ["a"], "B": ["a"]}, shared="drop"),
            "to count in 'A', found none .*'drop'",
        ),
        (lambda: membership(["a", "b"], AB, shared=HALF), "expected 'split' or 'drop'"),
        (
            lambda: preference([-1.0, -2.0], np.eye(3)),
            "expected 3 words on the last axis",
        ),
        (lambda: preference([-1.0, -2.0], np.ones((2, 1))), "at least two categories"),
        (lambda: preference([-1.0, -2.0], [[1, 0], [-1, 1]]), "at least 0"),
        (lambda: preference([-1.0, -2.0], [[1.0, np.nan], [0.0, 1.0]]), "finite"),
        (lambda: preference([-1.0, -2.0], [[1, 0], [1, 0]]), "category 1 has no word"),
    ],
)
def test_wrong_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call()


@pytest.mark.parametrize(
    ("shared", "p", "covered"),
    # he 0.3, canary 0.1 (half each), she 0.1, table (not counted) 0.4: male 0.35 of 0.5
    [("split", [0.7, 0.3], 0.5), ("drop", [0.75, 0.25], 0.4)],
)
def test_preference_by_hand(shared: Any, p: list[float], covered: float) -> None:
    counts = membership(WORDS, CATEGORIES, shared=shared)
    result = preference(np.log([0.3, 0.1, 0.1, 0.4]), counts)
    np.testing.assert_allclose(result.p, p, atol=1e-15)
    assert float(result.log_coverage) == pytest.approx(math.log(covered), abs=1e-15)
    assert bool(result.observed) is True


def test_uncounted_words_cause_no_underflow() -> None:
    logs = np.array([-2000.0, -np.inf, -2000.0 + math.log(3), 0.0])
    result = preference(logs, membership(WORDS, CATEGORIES))
    np.testing.assert_allclose(result.p, [0.25, 0.75], atol=1e-12)
    assert float(result.log_coverage) == pytest.approx(-2000 + math.log(4), rel=1e-12)


def test_a_row_without_probability_is_missing() -> None:
    logs = np.log(np.full((2, 3, 2), 0.25))
    logs[1, 2] = -np.inf
    result = preference(logs, np.eye(2))
    assert result.observed.tolist() == [[True] * 3, [True, True, False]]
    assert np.isnan(result.p[1, 2]).all()
    assert result.log_coverage[1, 2] == -np.inf
    assert np.isfinite(result.p[result.observed]).all()
    assert decompose(result.p, mask=result.observed).missing_cells == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e-5])
def test_impossible_log_probabilities_are_named(value: float) -> None:
    logs = np.full((2, 3, 4), -1.0)
    logs[1, 2, 3] = value
    m = np.array([[1, 0], [0, 1], [1, 0], [0, 0]])
    with pytest.raises(SettingsError, match=r"at index \(1, 2, 3\)"):
        preference(logs, m)
    with pytest.raises(SettingsError, match=r"at index \(3,\)"):
        preference(logs[1, 2], m)


def test_blocks_do_not_change_the_result(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = np.log(rng.dirichlet(np.ones(6), size=(5, 7)))
    m = membership(
        list("abcdef"), {"A": ["a", "b", "f"], "B": ["c", "f"], "C": ["d", "e"]}
    )
    whole = preference(logs, m)
    # The package attribute of this name is the function, not the module.
    module = importlib.import_module("clinometer.measure.preference")
    monkeypatch.setattr(module, "BLOCK", 13)
    parts = preference(logs, m)
    np.testing.assert_allclose(parts.p, whole.p, rtol=1e-14)
    np.testing.assert_allclose(parts.log_coverage, whole.log_coverage, rtol=1e-13)


@given(arrays(np.float64, (3, 5), elements=st.floats(-700, 0)))
def test_preferences_are_a_distribution_and_equal_plain_loops(logs: FloatArray) -> None:
    m = membership(list("abcde"), {"A": ["a", "b", "e"], "B": ["c", "e"], "C": ["d"]})
    result = preference(logs, m)
    np.testing.assert_allclose(result.p.sum(axis=-1), 1.0, atol=1e-12)
    for row, p in zip(logs, result.p, strict=True):
        top = max(row)
        words = [math.exp(v - top) for v in row]
        mass = [words[0] + words[1] + words[4] / 2, words[2] + words[4] / 2, words[3]]
        np.testing.assert_allclose(p, [v / math.fsum(mass) for v in mass], atol=1e-12)


@given(arrays(np.float64, 4, elements=st.floats(-50, 0)), st.floats(0, 500))
def test_a_common_factor_changes_only_coverage(logs: FloatArray, shift: float) -> None:
    m = np.array([[1, 0], [1, 0], [0, 1], [0.5, 0.5]])
    one, other = preference(logs, m), preference(logs - shift, m)
    np.testing.assert_allclose(other.p, one.p, atol=1e-12)
    assert float(other.log_coverage) == pytest.approx(
        float(one.log_coverage) - shift, abs=1e-9
    )
