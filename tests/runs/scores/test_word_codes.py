"""Codes of log-probabilities: how far they are off, and that nothing moves twice."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.runs.scores.word_codes import Scale, fits, totals


def log_shares(n: int = 40_000, *, lowest: float = -60.0, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(lowest, 0.0, (n, 1))


@pytest.mark.parametrize("words", [1, 2, 79, 5_000])
def test_a_word_is_off_by_no_more_than_its_part_of_a_preference(words: int) -> None:
    share = log_shares()
    none = np.zeros(len(share), dtype=np.int64)
    scale = Scale.for_words(words)
    off = np.abs(scale.log_probs(scale.codes(share, none), none) - share)
    allowed = np.minimum(2.0**-10, 2.4e-6 / np.sqrt(words) / np.exp(share))
    # half a step; steps are no shorter than 2^-23
    assert (off <= np.maximum(allowed, 2.0**-23) / 2).all()
    assert off.max() > 2.0**-12  # and no more digits than needed


@pytest.mark.parametrize("eighths", [0, -1, -26, -201])
def test_what_was_rounded_once_stays(eighths: int) -> None:
    total = np.full(40_000, eighths)
    logs = log_shares() + eighths / 8
    scale = Scale.for_words(79)
    codes = scale.codes(logs, total)
    found = scale.log_probs(codes, total)
    np.testing.assert_array_equal(scale.codes(found, total), codes)
    short = found.astype(np.float32)  # as the cache keeps it
    again = scale.log_probs(scale.codes(short.astype(np.float64), total), total)
    np.testing.assert_array_equal(again.astype(np.float32), short)


def test_codes_rise_with_the_probability() -> None:
    logs = np.sort(log_shares(), axis=0)
    logs = np.concatenate([[[-np.inf]], logs, [[0.0], [1e-7], [3.0]]])
    scale = Scale.for_words(79)
    codes = scale.codes(logs, np.zeros(len(logs), dtype=np.int64))[:, 0]
    assert (np.diff(codes.astype(np.int64)) >= 0).all()
    assert scale.log_probs(codes[:1, None], np.zeros(1, dtype=np.int64))[0, 0] == -np.inf


@pytest.mark.parametrize("odd", [np.nan, np.inf, -1e7])
def test_numbers_that_are_no_probabilities_have_no_codes(odd: float) -> None:
    logs = np.array([[-1.0, -np.inf], [-2.0, -40.0]])
    assert fits(logs)
    logs[1, 1] = odd
    assert not fits(logs)


def test_nothing_has_no_codes() -> None:
    assert not fits(np.empty((0, 3)))


def test_the_total_is_that_of_all_words() -> None:
    logs = np.array([[np.log(0.25), np.log(0.25)], [np.log(0.5), -np.inf], [-np.inf, -np.inf]])
    assert totals(logs).tolist() == [-6, -6, 0]  # log 0.5 is -5.5 eighths
