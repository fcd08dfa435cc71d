"""Variance components against statsmodels' anova and loops; pulls against their definition."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.typing import NDArray

from clinometer.errors import SettingsError
from clinometer.measure import decompose, read_preferences
from clinometer.measure.description.variance_components import pulls, variance_components
from clinometer.statistics.arrays import FloatArray


def preferences(rng: np.random.Generator, X: int = 4, C: int = 7, K: int = 2) -> FloatArray:
    return rng.dirichlet(np.ones(K), size=(X, C))


def dummies(labels: NDArray[Any]) -> FloatArray:
    return np.asarray(labels[:, None] == np.unique(labels), dtype=float)


def explained(s: FloatArray, w: FloatArray, *designs: FloatArray) -> float:
    """Weighted residual sum of squares of statsmodels for the given columns."""
    fit = sm.WLS(s, np.column_stack(designs), weights=w).fit()
    return float(np.sum(w * fit.resid**2))


def test_hand_value() -> None:
    # s of the first category: 0.2 0.6 / -0.2 0.2; mean 0.2, groups ±0.2, contexts ±0.2.
    p = [[[0.6, 0.4], [0.8, 0.2]], [[0.4, 0.6], [0.6, 0.4]]]
    parts = variance_components(read_preferences(p), category="0")
    assert parts.mean == pytest.approx(0.2)
    assert [row["share"] for row in parts.table()] == pytest.approx([0.5, 0.5, 0, 0], abs=1e-12)


@pytest.mark.parametrize("holes", [False, True])
def test_against_statsmodels(rng: np.random.Generator, holes: bool) -> None:
    p, w, g = preferences(rng), rng.random(7), rng.random(4)
    mask = np.ones((4, 7), dtype=bool)
    if holes:
        mask[0, 1] = mask[2, 5] = mask[3, 0] = False
    parts = variance_components(
        read_preferences(p, context_weights=w, group_weights=g, mask=mask), category="0"
    )
    cells = np.where(mask, w, 0.0)
    cells = g[:, None] / g.sum() * cells / cells.sum(axis=1, keepdims=True)
    x, c = np.nonzero(mask)
    s, weight = (2 * p[..., 0] - 1)[x, c], cells[x, c]
    one = np.ones((s.size, 1))
    none, by_x = explained(s, weight, one), explained(s, weight, dummies(x))
    by_c, both = (
        explained(s, weight, dummies(c)),
        explained(s, weight, dummies(x), dummies(c)[:, 1:]),
    )
    assert parts.total == pytest.approx(none, abs=1e-10)
    assert parts.interaction == pytest.approx(both, abs=1e-10)
    assert parts.group == pytest.approx(by_c - both, abs=1e-10)
    assert parts.context == pytest.approx(by_x - both, abs=1e-10)
    assert sum(row["variance"] for row in parts.table()) == pytest.approx(parts.total, abs=1e-12)
    assert (parts.shared == 0) is not holes


def test_between_labels_against_statsmodels(rng: np.random.Generator) -> None:
    p, w = preferences(rng, C=9), rng.random(9)
    label = np.array([0, 0, 1, 1, 1, 2, 2, 2, 2])
    parts = variance_components(
        read_preferences(p, context_weights=w), category="0", labels={"source": label.tolist()}
    )
    s = 2 * p[..., 0] - 1
    beta = s.mean(axis=0) - (w @ s.mean(axis=0)) / w.sum()
    w = w / w.sum()
    share = 1 - explained(beta, w, dummies(label)) / explained(beta, w, np.ones((9, 1)))
    assert parts.labels[0].context == pytest.approx(share, abs=1e-10)
    gamma = s - (s @ w)[:, None] - beta
    x, c = np.indices((4, 9)).reshape(2, -1)
    cells = x * 3 + label[c]
    left = explained(gamma.ravel(), w[c], dummies(cells)) / np.sum(w[c] * gamma.ravel() ** 2)
    assert parts.labels[0].interaction == pytest.approx(1 - left, abs=1e-10)


def test_chance_share_of_meaningless_labels(rng: np.random.Generator) -> None:
    label, w = rng.integers(0, 5, 60), rng.random(60)
    shares = []
    for _ in range(200):
        first = rng.random((1, 60))
        p = np.stack([first, 1 - first], -1)
        shares.append(
            variance_components(
                read_preferences(p, context_weights=w), category="0", labels={"x": label.tolist()}
            ).labels[0]
        )
    assert np.mean([q.context for q in shares]) == pytest.approx(shares[0].by_chance, abs=0.01)


def test_the_favoured_category_has_the_bias_risk_as_its_mean(rng: np.random.Generator) -> None:
    p = preferences(rng, K=3)
    assert variance_components(read_preferences(p)).mean == pytest.approx(
        decompose(p).R_bias.value, abs=1e-12
    )


def test_identical_contexts_leave_only_groups_and_identical_groups_only_contexts(
    rng: np.random.Generator,
) -> None:
    p = np.repeat(preferences(rng, C=1), 6, axis=1)
    parts = variance_components(read_preferences(p), category="0", labels={"x": range(6)})
    assert parts.group == pytest.approx(parts.total)
    assert parts.context == parts.interaction == 0
    assert parts.labels[0].context is None
    parts = variance_components(
        read_preferences(np.repeat(preferences(rng, X=1), 3, axis=0)), category="0"
    )
    assert parts.context == pytest.approx(parts.total)
    still = variance_components(read_preferences(np.full((2, 3, 2), 0.5)))
    assert {row["share"] for row in still.table()} == {None}
    json.dumps(still.to_dict(), allow_nan=False)


def test_pulls_are_the_largest_contributions(rng: np.random.Generator) -> None:
    p, w = preferences(rng, X=2, C=30), rng.random(30)
    mask = rng.random((2, 30)) < 0.8
    found = pulls(
        read_preferences(p, context_weights=w, mask=mask, groups=["a", "b"]), category="0", top=4
    )
    for x, group in enumerate("ab"):
        share = np.where(mask[x], w, 0) / w[mask[x]].sum()
        s = 2 * p[x, :, 0] - 1
        size = share * (s - share @ s)
        assert size.sum() == pytest.approx(0, abs=1e-12)
        up = [q for q in found if q.group == group and q.direction == "up"]
        assert [q.context for q in up] == list(np.argsort(-size)[:4])
        assert [q.contribution for q in up] == pytest.approx(sorted(size)[::-1][:4])
        down = [q for q in found if q.group == group and q.direction == "down"]
        assert [q.context for q in down] == list(np.argsort(size)[:4])
    assert pulls(read_preferences(np.full((2, 3, 2), 0.5))) == ()


def test_errors_are_clear(rng: np.random.Generator) -> None:
    p = read_preferences(preferences(rng))
    with pytest.raises(SettingsError, match="expected one of 0, 1, found 'male'"):
        variance_components(p, category="male")
    with pytest.raises(SettingsError, match="one a context, for 'source', found 2"):
        variance_components(p, labels={"source": ["a", "b"]})
    with pytest.raises(SettingsError, match="top"):
        pulls(p, top=0)
