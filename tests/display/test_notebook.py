"""In a notebook: results show themselves, safely, and turn into pandas."""

from __future__ import annotations

import pytest
from tests.report.made import made_run

from clinometer.measure import decompose
from clinometer.runs import Run, compare


@pytest.fixture(scope="module")
def run() -> Run:
    return made_run(None, groups=30, contexts=12)


def test_a_run_shows_its_numbers_and_its_worst_groups(run: Run) -> None:
    shown = run._repr_html_()
    assert "made:model" in shown
    assert f"{run.risks.R.value:.3f}" in shown
    worst = max(run.risks.groups_table(), key=lambda g: g["r"])["group"]
    assert worst in shown
    assert "10 more rows" in shown
    assert "effective" in shown


def test_a_report_without_intervals() -> None:
    shown = decompose([[0.6, 0.4], [0.8, 0.2]])._repr_html_()
    assert "0.400" in shown
    assert "–" in shown


def test_a_comparison_shows_its_differences(run: Run) -> None:
    found = compare(
        run, made_run(None, groups=30, contexts=12, model="made:other", seed=1)
    )
    shown = found._repr_html_()
    assert "made:model − made:other" in shown
    frame = found.to_pandas()
    assert len(frame) == len(found.overall) + len(found.by_group)


def test_a_name_of_10_000_characters_is_cut() -> None:
    """That names of others are text, `tests/test_api.py` asks of every result."""
    runs = [
        made_run(None, groups=12, contexts=12, hostile=True, seed=seed)
        for seed in (0, 1)
    ]
    pieces = (runs[0], runs[0].risks, compare(*runs))
    assert len("".join(one._repr_html_() for one in pieces)) < 40_000
