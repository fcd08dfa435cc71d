"""What the groups share of R, against a slow implementation and on models planted for it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.measure import plain_loops
from tests.preferences import labelled, pair
from tests.present import present

from clinometer.measure import Preferences, decompose, read_preferences
from clinometer.measure.group_split import group_split
from clinometer.statistics.arrays import BoolArray, FloatArray


def slow_split(
    p: FloatArray,
    *,
    w_c: FloatArray,
    w_x: FloatArray,
    star: FloatArray,
    norm: float,
    mask: BoolArray,
    normalize: bool,
) -> tuple[float, float]:
    """R_shared and R_between, cell by cell."""
    X, C, K = p.shape
    worst = max(1 / v - 1 for v in star) if normalize else 1.0
    seen = [x for x in range(X) if any(mask[x][c] and w_c[c] > 0 for c in range(C))]
    groups = math.fsum(w_x[x] for x in seen)
    cell = np.zeros((X, C))
    for x in seen:
        total = math.fsum(w_c[c] for c in range(C) if mask[x][c])
        for c in range(C):
            cell[x, c] = w_x[x] / groups * w_c[c] / total if mask[x][c] else 0.0
    shared = between = 0.0
    for c in range(C):
        here = [x for x in range(X) if cell[x, c] > 0]
        if not here:
            continue
        whole = math.fsum(cell[x, c] for x in here)
        s = {x: [(p[x][c][y] / star[y] - 1) / worst for y in range(K)] for x in here}
        mean = [math.fsum(cell[x, c] * s[x][y] for x in here) / whole for y in range(K)]
        shared += whole * plain_loops.criterion_of(mean, norm, "ratio")
        for x in here:
            between += cell[x, c] * plain_loops.criterion_of(
                [a - m for a, m in zip(s[x], mean, strict=True)], norm, "ratio"
            )
    return shared, between


@given(seed=st.integers(0, 10_000))
def test_the_split_matches_plain_loops_and_keeps_its_bounds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, C, K = rng.integers(2, 6), rng.integers(1, 8), rng.integers(2, 5)
    p = rng.dirichlet(np.ones(K), (X, C))
    w_c, w_x = rng.random(C) + 0.1, rng.random(X) + 0.1
    star = rng.dirichlet(np.full(K, 5.0)) * 0.9 + 0.1 / K
    mask = rng.random((X, C)) < 0.8
    mask[:, 0] = True
    norm, normalize = float(rng.choice([1.0, 2.0, np.inf])), bool(rng.random() < 0.5)
    how: dict[str, Any] = {
        "context_weights": w_c, "group_weights": w_x, "reference": star, "mask": mask,
        "criterion": "ratio", "norm": norm, "normalize": normalize,
    }  # fmt: skip
    found = present(group_split(read_preferences(p, **how)))
    expected = slow_split(
        p, w_c=w_c, w_x=w_x, star=star, norm=norm, mask=mask, normalize=normalize,
    )  # fmt: skip
    assert (found.R_shared.value, found.R_between.value) == pytest.approx(expected, abs=1e-12)
    whole = decompose(p, **how).R.value
    assert found.R_shared.value <= whole + 1e-12
    assert whole <= found.R_shared.value + found.R_between.value + 1e-12


def planted(shared: float, between: float, *, seed: int = 0) -> Preferences:
    """16 groups × 40 contexts: a lean that all share, and one of +-between for half of them."""
    rng = np.random.default_rng(seed)
    side = np.where(np.arange(16) % 2 == 0, 1.0, -1.0)[:, None]
    swing = rng.normal(0, 0.02, (1, 40))
    up = (1 + shared + between * side + swing) / 2
    return labelled(pair(up))


@pytest.mark.parametrize(
    ("shared", "between"), [(0.5, 0.0), (0.0, 0.5), (0.4, 0.2), (0.2, 0.5), (0.0, 0.0)]
)
def test_planted_models_are_distinguished(shared: float, between: float) -> None:
    report = planted(shared, between).estimate()
    a, b = report.R_shared, report.R_between
    assert a is not None
    assert b is not None
    assert a.high is not None
    assert a.value == pytest.approx(shared, abs=0.02)
    assert b.value == pytest.approx(between, abs=1e-9)
    assert (a.low or 0.0) <= a.value <= a.high
    # A lean of one sign hides a smaller difference: R is the larger of the two, not their sum.
    assert report.R.value == pytest.approx(max(shared, between), abs=0.02)


def test_the_interval_covers_the_truth() -> None:
    """R_between of contexts drawn from a known kind; 95 % +- 3 standard errors of 300 trials."""
    rng = np.random.default_rng(5)
    spread = 0.3
    truth = spread * math.sqrt(2 / math.pi) * math.sqrt(1 - 1 / 40)  # mean |d| of 40 normal groups
    held = 0
    for _ in range(300):
        size = rng.gamma(4.0, 0.25, (1, 30))  # contexts differ in how far the groups are apart
        s = np.clip(rng.normal(0, spread, (40, 30)) * size, -1, 1)
        up = (1 + s) / 2
        grid = read_preferences(pair(up))
        found = present(group_split(grid, level=0.95))
        e = found.R_between
        held += (e.low or 0.0) <= truth * 0.995 <= (e.high or 0.0)
    assert 0.912 <= held / 300 <= 0.988


def test_one_group_has_no_split() -> None:
    assert group_split(read_preferences([[0.9, 0.1], [0.2, 0.8]])) is None


def test_groups_that_never_meet_in_a_context_have_no_split() -> None:
    p = np.full((2, 4, 2), 0.5)
    mask = np.array([[True, True, False, False], [False, False, True, True]])
    assert group_split(read_preferences(p, mask=mask)) is None
    mask[1, 0] = True
    assert group_split(read_preferences(p, mask=mask)) is not None
