"""Lean, swing and dice against statsmodels, exact probabilities, planted data and loops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from clinometer.errors import SettingsError
from clinometer.measure import decompose
from clinometer.measure.components import (
    NO_DICE,
    ONE_CONTEXT,
    CellMoments,
    split_replies,
)
from clinometer.measure.grid import read_preferences


def moments(y: np.ndarray, n: np.ndarray | None = None) -> CellMoments:
    """The moments of replies [X,C,m], of which each cell has its first n."""
    X, C, m = y.shape
    n = np.full((X, C), m) if n is None else n
    there = np.arange(m) < n[..., None]
    mean = np.where(there, y, 0).sum(axis=2) / n
    square = np.where(there, (y - mean[..., None]) ** 2, 0).sum(axis=2)
    within = np.where(n > 1, square / np.maximum(n - 1, 1), np.nan)
    even = np.full(C, 1 / C), np.full(X, 1 / X)
    return CellMoments(
        mean[..., None], within, n.astype(float), *even, None, np.arange(C)
    )


def planted(
    rng: np.random.Generator, parts: tuple[float, float, float], X: int, C: int, m: int
) -> np.ndarray:
    lean, swing, dice = np.sqrt(parts)
    a = rng.normal(size=X)
    a = (a - a.mean()) / np.sqrt(((a - a.mean()) ** 2).mean()) * lean
    cells = a[:, None] + swing * rng.normal(size=(X, C)) + 3 * rng.normal(size=C)
    return np.asarray(cells[..., None] + dice * rng.normal(size=(X, C, m)))


def names(X: int) -> list[str]:
    return [f"g{x}" for x in range(X)]


def test_the_parts_are_those_of_an_analysis_of_variance() -> None:
    """Balanced replies: MS of a two-way analysis, groups counted with 1/X instead of 1/(X-1)."""
    from statsmodels.formula.api import ols
    from statsmodels.stats.anova import anova_lm

    X, C, m = 5, 9, 4
    y = planted(np.random.default_rng(3), (0.4, 0.5, 1.0), X, C, m)
    at = np.indices(y.shape).reshape(3, -1)
    frame = pd.DataFrame({"y": y.ravel(), "x": at[0], "c": at[1]})
    table = anova_lm(ols("y ~ x + c + x:c", frame.astype({"x": str, "c": str})).fit())
    ms = table["mean_sq"]
    found = split_replies(moments(y), names(X))
    share = (X - 1) / X
    expected = (
        share * (ms["x"] - ms["x:c"]) / (C * m),
        share * (ms["x:c"] - ms["Residual"]) / m,
        ms["Residual"],
    )
    values = [
        part.value for part in (found.lean, found.swing, found.dice) if part is not None
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-9)


@pytest.mark.parametrize(
    "parts", [(0.3, 0, 0), (0, 0.3, 0), (0, 0, 1), (0.1, 0.3, 1.0)]
)
@pytest.mark.parametrize(
    ("X", "C", "m", "unequal"), [(2, 6, 2, False), (8, 9, 5, True)]
)
def test_no_part_is_off_on_average(
    parts: tuple[float, float, float], X: int, C: int, m: int, unequal: bool
) -> None:
    """60 planted audits; replies are left out at random. Four standard errors are allowed."""
    rng = np.random.default_rng(5)
    seen = []
    for _ in range(60):
        n = rng.integers(1, m + 1, (X, C)) if unequal else None
        found = split_replies(moments(planted(rng, parts, X, C, m), n), names(X))
        assert found.swing is not None
        assert found.dice is not None
        seen.append((found.lean.value, found.swing.value, found.dice.value))
    truth = parts[0], parts[1] * (X - 1) / X, parts[2]
    error = np.std(seen, axis=0) / np.sqrt(60)
    assert (np.abs(np.mean(seen, axis=0) - truth) <= 4 * error + 1e-12).all()


def test_dice_alone_are_no_lean() -> None:
    """Neither one group of eight nor the whole is found, but in about 1 of 20 audits."""
    rng = np.random.default_rng(7)
    found = [
        split_replies(moments(planted(rng, (0, 0, 1), 8, 12, 4)), names(8))
        for _ in range(200)
    ]
    # 5 % of 200 are 10, with a standard deviation of 3.1.
    assert sum(bool(one.clear_groups()) for one in found) <= 20
    assert 2 <= sum(one.p is not None and one.p <= 0.05 for one in found) <= 20


def test_intervals_hold_the_planted_parts() -> None:
    rng = np.random.default_rng(11)
    truth = 0.1, 0.3 * 5 / 6, 1.0
    held = np.zeros(3)
    for _ in range(100):
        found = split_replies(
            moments(planted(rng, (0.1, 0.3, 1.0), 6, 17, 5)), names(6)
        )
        for i, part in enumerate((found.lean, found.swing, found.dice)):
            assert part is not None
            assert part.low is not None
            assert part.high is not None
            held[i] += part.low <= truth[i] <= part.high
    assert (held >= 88).all()  # 95 expected, standard deviation 2.2


def test_exact_probabilities_have_no_dice_and_the_lean_is_that_of_the_risk() -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet([3, 2], size=(4, 30))
    grid = read_preferences(p, reference="group-mean")
    found = split_replies(CellMoments.of(grid, None), grid.groups)
    assert found.parts[2] == 0
    bias = decompose(
        p, reference="group-mean"
    ).r_bias  # |lean| of each group, as a share
    assert [abs(group.lean[0]) for group in found.groups] == pytest.approx(
        bias.tolist()
    )


def test_clusters_count_as_one_context() -> None:
    """Contexts twice over, in clusters of two: the same lean and the same certainty."""
    y = planted(np.random.default_rng(4), (0.2, 0.3, 1.0), 5, 10, 3)
    once = moments(y)
    twice = moments(np.concatenate([y, y], axis=1))
    twice = CellMoments(**{**vars(twice), "units": np.tile(np.arange(10), 2)})
    first, second = (split_replies(cells, names(5)) for cells in (once, twice))
    assert second.lean.value == pytest.approx(first.lean.value)
    assert second.p == pytest.approx(first.p)
    assert second.contexts == 10


def test_what_replies_cannot_tell_is_said() -> None:
    y = planted(np.random.default_rng(6), (0.2, 0.3, 1.0), 3, 8, 4)
    once = split_replies(moments(y[..., :1]), names(3))
    assert once.dice is None
    assert once.note == NO_DICE
    alone = split_replies(moments(y[:, :1]), names(3))
    assert alone.swing is None
    assert alone.p is None
    assert alone.note == ONE_CONTEXT
    rates = read_preferences([[[0.8, 0.2]], [[0.4, 0.6]]], reference="group-mean")
    yes = split_replies(CellMoments.of(rates, np.full((2, 1), 20.0)), names(2)).groups
    assert [part.lean for part in yes] == [
        pytest.approx((0.2, -0.2)),
        pytest.approx((-0.2, 0.2)),
    ]
    empty = moments(y)
    with pytest.raises(SettingsError, match="at least one reply"):
        split_replies(CellMoments(**{**vars(empty), "n": np.zeros((3, 8))}), names(3))
