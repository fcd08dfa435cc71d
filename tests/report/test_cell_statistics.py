"""What pages compute from a run, and which groups lean clearly, against slow loops."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from tests.present import present
from tests.report.made import made_run, without

from clinometer.report.cell_statistics import CellStatistics, drawn, lean_errors
from clinometer.runs import Run, audit


@pytest.fixture(scope="module")
def cells(small: Run) -> CellStatistics:
    return CellStatistics(small)


def test_cell_contributions_sum_to_the_total(cells: CellStatistics) -> None:
    every = cells.weighty_cells(n=30 * 40)
    assert every["share"].sum() == pytest.approx(1)
    assert every["share"].is_monotonic_decreasing
    assert every["sentence"].iloc[0].startswith("The ")
    assert every["sentence"].iloc[0].endswith("___")


def test_missing_cells_of_more_categories_have_no_strength() -> None:
    run = made_run(None, groups=6, contexts=12, categories=4)
    cells = CellStatistics(without(run, 0, (1, slice(3))))
    assert cells.strength[0].tolist() == pytest.approx([np.nan] * 12, nan_ok=True)


def slow(run: Run) -> list[tuple[int, bool]]:
    """Category and clearness of each group, one flip of one pair of categories at a time."""
    values = run.preferences.values
    X, C, K = values.shape
    flips = np.array(list(itertools.product((1, -1), repeat=C)))
    best, p = [], []
    for x in range(X):
        w = np.where(np.isnan(values[x, :, 0]), 0.0, run.preferences.context_weights)
        w = w / w.sum()
        y = int(np.argmax(w @ np.nan_to_num(values[x])))
        each = []
        for z in set(range(K)) - {y}:
            one = w * np.nan_to_num(values[x, :, y] - values[x, :, z])
            each.append(float(np.mean(np.abs(flips @ one) >= abs(one.sum()) - 1e-9)))
        best.append(y)
        p.append(max(each))
    q = multipletests(p, method="fdr_bh")[1]
    return [(y, bool(share <= 0.05)) for y, share in zip(best, q, strict=True)]


@pytest.mark.parametrize("categories", [2, 4])
def test_a_lean_is_clear_where_flips_and_the_false_discovery_rate_say_so(
    categories: int,
) -> None:
    run = made_run(None, groups=30, contexts=12, categories=categories, lean=0.4)
    run = without(run, (3, slice(5)))
    leans = CellStatistics(run)
    expected = slow(run)
    assert leans.side.tolist() == [y for y, _ in expected]
    assert leans.clear.tolist() == [clear for _, clear in expected]
    assert 0 < leans.clear.sum() < 30


def test_shares_and_their_range() -> None:
    run = made_run(None, groups=5, contexts=12)
    leans = CellStatistics(run)
    w = run.preferences.context_weights / run.preferences.context_weights.sum()
    for x in range(5):
        p = run.preferences.values[x, :, 1]
        assert leans.share[x, 1] == pytest.approx(float(w @ p))
        assert leans.share_range[:, x, 1].tolist() == [p.min(), p.max()]
    many = CellStatistics(made_run(None, groups=2, contexts=60))
    assert not many.whole_range
    assert (many.share_range[0, :, 1] < many.share[:, 1]).all()


def test_one_context_tells_nothing_and_a_missing_group_has_no_lean() -> None:
    single = CellStatistics(made_run(None, groups=3, contexts=1, lean=3.0))
    assert single.clear.sum() == 0
    leans = CellStatistics(without(made_run(None, groups=3, contexts=8, lean=3.0), 1))
    assert leans.side[1] == -1
    assert leans.answered.tolist() == [0, 2]
    assert not leans.clear[1]


def test_a_reference_model_is_known() -> None:
    leans = CellStatistics(audit("reference:stereotyped", contexts="paper-gender"))
    assert leans.clear.sum() == 120
    none = CellStatistics(audit("reference:unbiased", contexts="paper-gender"))
    assert none.clear.sum() == 0


def test_errors_of_a_lean_are_those_of_a_weighted_mean() -> None:
    run = made_run(None, groups=4, contexts=9)
    leans = present(lean_errors(CellStatistics(run), 1))
    w = run.preferences.context_weights / run.preferences.context_weights.sum()
    n = 1 / float((w**2).sum())
    s = 2 * run.preferences.values[2, :, 1] - 1
    assert leans[2] == pytest.approx(
        math.sqrt(float((w**2 * (s - w @ s) ** 2).sum()) * n / (n - 1))
    )


def test_a_scale_is_drawn_between_its_ends_with_the_same_means(small: Run) -> None:
    """Scores 0, 5 and 10 of a made run: two categories, and the mean score stays."""
    rng = np.random.default_rng(0)
    p = small.preferences
    values = rng.dirichlet(np.ones(3), p.values.shape[:2])
    scored = replace(
        p,
        values=values,
        categories=("0", "5", "10"),
        reference="group-mean",
        criterion="points",
    )
    whole = replace(small, preferences=scored, risks=scored.decompose())
    ends = drawn(whole)
    assert ends.preferences.categories == ("0", "10")
    assert np.allclose(ends.preferences.values[..., 1] * 10, values @ [0, 5, 10])
    assert (ends.risks.R, ends.leans, ends.findings) == (
        whole.risks.R,
        whole.leans,
        whole.findings,
    )
    cells = CellStatistics(ends, whole)
    assert np.allclose(
        present(cells.run.outcome.value(cells.run.preferences)), values @ [0, 5, 10]
    )
    assert np.nanmax(cells.depth) == pytest.approx(1.0)
    assert drawn(small) is small
