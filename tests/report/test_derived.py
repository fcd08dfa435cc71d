"""What pages compute from a run, against slow loops."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.report.made import made_run

from clinometer.measure import decompose
from clinometer.report.derived import Reading
from clinometer.runs import Run


@pytest.fixture(scope="module")
def reading(small: Run) -> Reading:
    return Reading(small)


def test_convergence_ends_at_the_risks_of_the_run(reading: Reading) -> None:
    table = reading.convergence()
    last = table[table["n"] == 40].set_index("measure")
    report = reading.run.risks
    for name in ("R", "R_bias", "R_volatility"):
        assert last.loc[name, "value"] == pytest.approx(getattr(report, name).value, abs=1e-12)
    assert (table["low"] <= table["value"] + 1e-12).all()


def test_a_subset_of_contexts_matches_decompose(reading: Reading) -> None:
    pick = np.array([3, 17, 5, 30])
    p = reading.run.preferences
    direct = decompose(p.values[:, pick], context_weights=p.context_weights[pick])
    assert reading._risks(pick) == pytest.approx(
        (direct.R.value, direct.R_bias.value, direct.R_volatility.value), abs=1e-12
    )


def test_telling_contexts_are_the_most_extreme(reading: Reading) -> None:
    p = reading.run.preferences
    mean = {}
    for c, name in enumerate(p.contexts):
        mean[name] = float(np.mean([2 * p.values[x, c, 0] - 1 for x in range(len(p.groups))]))
    (way, first), (_, second) = reading.telling_contexts()
    assert way == "that pull most to male"
    expected = [n for n in sorted(mean, key=lambda n: -mean[n]) if mean[n] > 0][:10]
    assert list(first["context_id"]) == expected
    assert first["pull"].tolist() == pytest.approx([mean[n] for n in expected])
    assert (
        list(second["context_id"])
        == [n for n in sorted(mean, key=lambda n: mean[n]) if mean[n] < 0][:10]
    )


def test_cell_contributions_sum_to_the_total(reading: Reading) -> None:
    every = reading.weighty_cells(n=30 * 40)
    assert every["share"].sum() == pytest.approx(1)
    assert every["share"].is_monotonic_decreasing
    assert every["sentence"].iloc[0].startswith("The ")
    assert every["sentence"].iloc[0].endswith("___")


def test_coverage_bins_count_every_cell(reading: Reading) -> None:
    bins = reading.coverage_bins()
    assert bins is not None
    assert bins["count"].sum() == 30 * 40
    assert bins["right"].iloc[-1] == pytest.approx(1)


def test_more_categories_and_missing_cells() -> None:
    run = made_run(None, groups=6, contexts=12, categories=4, replicates=0)
    values = run.preferences.values.copy()
    values[0] = np.nan
    values[1, :3] = np.nan
    preferences = replace(run.preferences, values=values)
    run = replace(run, preferences=preferences, risks=preferences.decompose())
    reading = Reading(run)
    assert reading.strength[0].tolist() == pytest.approx([np.nan] * 12, nan_ok=True)
    ways = [way for way, _ in reading.telling_contexts()]
    assert ways == ["furthest from the reference", "nearest to the reference"]
    assert not reading.convergence().isna().any().any()
