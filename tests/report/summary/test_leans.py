"""Which groups lean clearly, against a slow loop."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests
from tests.report.made import made_run

from clinometer.report.derived import Reading
from clinometer.report.summary.leans import find_leans, lean_errors
from clinometer.runs import Run, audit


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
def test_a_lean_is_clear_where_flips_and_the_false_discovery_rate_say_so(categories: int) -> None:
    run = made_run(None, groups=30, contexts=12, categories=categories, lean=0.4, replicates=0)
    values = run.preferences.values.copy()
    values[3, :5] = np.nan
    preferences = replace(run.preferences, values=values)
    run = replace(run, preferences=preferences, risks=preferences.decompose())
    found = find_leans(Reading(run))
    expected = slow(run)
    assert found.favoured.tolist() == [y for y, _ in expected]
    assert found.clear.tolist() == [clear for _, clear in expected]
    assert 0 < found.n_clear < 30
    assert sum(n for _, n in found.counts) == found.n_clear
    first = found.counts[0][0]
    strongest = found.strongest(first)
    assert strongest is not None
    assert found.clear[strongest]


def test_shares_and_their_range() -> None:
    run = made_run(None, groups=5, contexts=12, replicates=0)
    found = find_leans(Reading(run))
    w = run.preferences.context_weights / run.preferences.context_weights.sum()
    for x in range(5):
        p = run.preferences.values[x, :, 1]
        assert found.share[x, 1] == pytest.approx(float(w @ p))
        assert found.low[x, 1] == p.min()
        assert found.high[x, 1] == p.max()
    many = find_leans(Reading(made_run(None, groups=2, contexts=60, replicates=0)))
    assert not many.whole_range
    assert (many.low[:, 1] < many.share[:, 1]).all()


def test_one_context_tells_nothing_and_a_missing_group_has_no_lean() -> None:
    single = find_leans(Reading(made_run(None, groups=3, contexts=1, lean=3.0, replicates=0)))
    assert single.n_clear == 0
    run = made_run(None, groups=3, contexts=8, lean=3.0, replicates=0)
    values = run.preferences.values.copy()
    values[1] = np.nan
    preferences = replace(run.preferences, values=values)
    run = replace(run, preferences=preferences, risks=preferences.decompose())
    found = find_leans(Reading(run))
    assert found.favoured[1] == -1
    assert found.seen.tolist() == [0, 2]
    assert not found.clear[1]


def test_a_reference_model_is_known() -> None:
    found = find_leans(Reading(audit("reference:stereotyped", contexts="paper-gender")))
    assert found.n_clear == 120
    none = find_leans(Reading(audit("reference:unbiased", contexts="paper-gender")))
    assert none.n_clear == 0


def test_errors_of_a_lean_are_those_of_a_weighted_mean() -> None:
    run = made_run(None, groups=4, contexts=9, replicates=0)
    found = lean_errors(Reading(run), 1)
    assert found is not None
    w = run.preferences.context_weights / run.preferences.context_weights.sum()
    n = 1 / float((w**2).sum())
    s = 2 * run.preferences.values[2, :, 1] - 1
    assert found[2] == pytest.approx(
        math.sqrt(float((w**2 * (s - w @ s) ** 2).sum()) * n / (n - 1))
    )
