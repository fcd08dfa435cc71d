"""Scores on disk: small, and the same numbers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from clinometer.measure import preference
from clinometer.models import WordScores
from clinometer.runs.scores.codec import from_table, rounded, to_table
from clinometer.storage.parquet_parts import encode


def scores(
    *, words: int = 79, cells: int = 2_000, spread: float = 3.0, seed: int = 0
) -> WordScores:
    """Words whose probabilities differ, less from cell to cell than from word to word; some are
    not expanded."""
    rng = np.random.default_rng(seed)
    logs = rng.normal(0, spread, words) + rng.normal(0, 0.3 * spread, (cells, words))
    logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True)) + 1.0
    logs[rng.random(logs.shape) < 0.05] = -np.inf
    skipped = np.where(rng.random(cells) < 0.5, 1e-4, 0.0)
    return WordScores(logs, np.full(cells, -1.0), skipped)


def stored(found: WordScores) -> WordScores:
    table = pq.read_table(pa.BufferReader(encode(to_table(np.arange(len(found.skipped)), found))))
    read = from_table(table, words=found.log_probs.shape[1])
    assert read is not None
    return read[1]


@pytest.mark.parametrize("words", [2, 9, 79, 400])
@pytest.mark.parametrize("spread", [0.01, 1.0, 3.0, 10.0])
def test_preferences_stay_within_a_millionth(words: int, spread: float) -> None:
    exact = scores(words=words, spread=spread, seed=words)
    exact.log_probs[0] = -np.inf  # a cell without any word
    for seed in range(3):
        category = np.random.default_rng(seed).integers(0, 3, words)
        category[:2] = 0, 1
        counts = np.eye(3)[category][:, :2]  # and some words that count for none
        before = preference(exact.log_probs, counts)
        after = preference(stored(rounded(exact)).log_probs, counts)
        np.testing.assert_array_equal(after.observed, before.observed)
        seen = before.observed
        # shares of the counted words: their mass may be less than that of all
        mass = np.exp(before.log_coverage[seen] + 1.0)
        assert (np.abs(after.p - before.p)[seen].max(axis=1) * mass).max() < 1e-6


def test_a_rare_word_keeps_a_thousandth_of_its_probability() -> None:
    exact = scores(spread=10.0)
    found = rounded(exact).log_probs
    finite = np.isfinite(exact.log_probs)
    np.testing.assert_array_equal(np.isfinite(found), finite)
    assert np.abs(found[finite] - exact.log_probs[finite]).max() < 0.5e-3


def test_what_is_measured_is_what_is_stored() -> None:
    found = rounded(scores())
    read = stored(found)
    np.testing.assert_array_equal(read.log_probs, found.log_probs)
    np.testing.assert_array_equal(read.skipped, found.skipped.astype(np.float32))


def test_bounds_and_samples_are_stored_as_they_are() -> None:
    plain = scores(cells=4)
    bounded = WordScores(plain.log_probs, plain.log_coverage, plain.skipped, plain.log_probs)
    assert rounded(bounded) is bounded


def test_a_part_is_less_than_half_of_what_it_was() -> None:
    plain = to_table(np.arange(2_000), scores())
    sink = pa.BufferOutputStream()
    pq.write_table(plain, sink, compression="zstd")  # as before 0.2.0, which still opens
    before = sink.getvalue()
    small = encode(to_table(np.arange(2_000), rounded(scores())))
    assert len(small) < 0.45 * before.size
    read = from_table(pq.read_table(pa.BufferReader(before)), words=79)
    assert read is not None
    np.testing.assert_array_equal(read[1].log_probs, scores().log_probs.astype(np.float32))
