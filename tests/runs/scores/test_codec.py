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


def test_a_total_at_the_edge_of_two_eighths_is_found_again() -> None:
    found = scores(cells=4_000)
    total = np.log(np.exp(found.log_probs).sum(axis=1, keepdims=True))
    found.log_probs[:] -= total + np.linspace(0.5 - 1e-6, 0.5 + 1e-6, 4_000)[:, None]
    again = rounded(found)
    once = WordScores(again.log_probs, again.log_coverage, again.skipped)  # as the cache gives it
    column = to_table(np.arange(4_000), once).schema.field("log_probs")
    assert pa.types.is_fixed_size_binary(column.type)
    np.testing.assert_array_equal(
        stored(once).log_probs.astype(np.float32), once.log_probs.astype(np.float32)
    )


def test_bounds_and_samples_are_stored_as_they_are() -> None:
    plain = scores(cells=4)
    bounded = WordScores(plain.log_probs, plain.log_coverage, plain.skipped, plain.log_probs)
    assert rounded(bounded) is bounded


def as_before(found: WordScores) -> pa.Buffer:
    """A part as runs wrote it before 0.2.0."""
    columns = {
        name: pa.array(values.astype(np.float32))
        for name, values in (("log_coverage", found.log_coverage), ("skipped", found.skipped))
    }
    flat = pa.array(found.log_probs.astype(np.float32).reshape(-1))
    logs = pa.FixedSizeListArray.from_arrays(flat, found.log_probs.shape[1])
    table = pa.table({"cell": np.arange(len(found.skipped)), "log_probs": logs, **columns})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    return sink.getvalue()


def test_a_part_is_less_than_half_of_what_it_was() -> None:
    before = as_before(scores())
    small = encode(to_table(np.arange(2_000), rounded(scores())))
    assert len(small) < 0.4 * before.size
    read = from_table(pq.read_table(pa.BufferReader(before)), words=79)
    assert read is not None
    np.testing.assert_array_equal(read[1].log_probs, scores().log_probs.astype(np.float32))


def test_scores_without_codes_are_stored_as_they_are() -> None:
    odd = scores(cells=4)
    odd.log_probs[1, 2] = np.nan
    assert rounded(odd) is odd
    np.testing.assert_array_equal(stored(odd).log_probs, odd.log_probs.astype(np.float32))


def test_scores_that_were_not_rounded_lose_nothing() -> None:
    """Of a cache that an earlier version filled."""
    found = scores(cells=4)
    np.testing.assert_array_equal(stored(found).log_probs, found.log_probs.astype(np.float32))


def test_some_of_the_cells_are_read_as_all_are() -> None:
    found = rounded(scores(cells=9))
    some = to_table(np.arange(9), found).slice(3, 4)
    read = from_table(some, words=79)
    assert read is not None
    np.testing.assert_array_equal(read[1].log_probs, found.log_probs[3:7])


@pytest.mark.parametrize(
    "about",
    [
        None,
        {"threshold": "-9000"},
        {"threshold": "much", "words": "[1, 0]"},
        {"threshold": "-9000", "words": "[0, 0]"},
        {"threshold": "-9000", "words": "[0, 1, 2]"},
        {"threshold": "-9000", "words": "[["},
        {"threshold": "9" * 30, "words": "[1, 0]"},
    ],
)
def test_codes_that_do_not_say_what_they_mean_are_no_scores(about: dict[str, str] | None) -> None:
    table = to_table(np.arange(3), rounded(scores(words=2, cells=3)))
    place = table.schema.get_field_index("log_probs")
    field = table.schema.field(place).remove_metadata()
    field = field if about is None else field.with_metadata(about)
    assert from_table(table.cast(table.schema.set(place, field)), words=2) is None
