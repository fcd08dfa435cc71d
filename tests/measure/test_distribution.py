from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.measure import decompose, read_preferences
from clinometer.measure.distribution import (
    context_influence,
    stereotype_distribution,
    weighted_density,
)


def test_density_by_hand() -> None:
    # h = n_eff^(-1/5) × the weighted standard deviation with scipy's correction 1/(1 - sum w²):
    # values 0 and 1, weights 3/4 and 1/4: n_eff = 16/10, variance 3/16 / (1 - 10/16) = 1/2.
    h = math.pow(1.6, -1 / 5) * math.sqrt(0.5)

    def normal(z: float) -> float:
        return math.exp(-z * z / 2) / (h * math.sqrt(2 * math.pi))

    found = weighted_density([0, 1], [0.0, 0.5], weights=[3, 1])
    expected = [0.75 * normal(0) + 0.25 * normal(1 / h), normal(0.5 / h)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_density_integrates_to_one(rng: np.random.Generator) -> None:
    at = np.linspace(-8, 8, 4001)
    f = weighted_density(rng.normal(size=60), at, weights=rng.random(60))
    assert np.trapezoid(f, at) == pytest.approx(1.0, abs=1e-6)
    assert (f >= 0).all()


@pytest.mark.parametrize("values", [[0.3], [0.3, 0.3], [0.3, 0.3 + 1e-14]])
def test_equal_values_have_no_density(values: list[float]) -> None:
    with pytest.raises(SettingsError, match="values that differ"):
        weighted_density(values, [0.0])


def test_values_of_weight_zero_give_no_density() -> None:
    with pytest.raises(SettingsError, match="values that differ"):
        weighted_density([0.3, 0.9], [0.0], weights=[1, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: weighted_density([], [0.5]), "list of numbers"),
        (lambda: weighted_density([np.nan], [0.5]), "NaN or infinity"),
        (lambda: weighted_density([1, 2], [0.5], weights=[0, 0]), "only zeros"),
        (lambda: weighted_density([[1, 2]], [0.5]), "list of numbers"),
        (lambda: weighted_density([1, 2], 0.5), "list of points"),
    ],
)
def test_wrong_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call()


def test_distribution_of_groups_and_overall_by_hand() -> None:
    p = [[[0.6, 0.4], [0.8, 0.2]], [[0.1, 0.9], [0.5, 0.5]]]
    grid = read_preferences(
        p, context_weights=[3, 1], group_weights=[1, 3], groups=["a", "b"], categories=["m", "f"]
    )
    d = stereotype_distribution(grid)
    values, weights = d.sample("m", "a")
    np.testing.assert_allclose(values, [0.2, 0.6], atol=1e-15)
    np.testing.assert_allclose(weights, [0.75, 0.25])
    values, weights = d.sample("m")
    np.testing.assert_allclose(values, [0.2, 0.6, -0.8, 0.0], atol=1e-15)
    np.testing.assert_allclose(weights, [3 / 16, 1 / 16, 9 / 16, 3 / 16])
    values, weights = d.sample("f", "b")
    np.testing.assert_allclose(values, [0.8, 0.0], atol=1e-15)
    np.testing.assert_allclose(weights, [0.75, 0.25])


@pytest.mark.parametrize("normalize", [True, False])
def test_means_match_the_report(normalize: bool, rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(3), size=(3, 20))
    settings: dict[str, Any] = {
        "context_weights": rng.random((3, 20)),
        "reference": rng.dirichlet(np.full(3, 5.0), size=(3, 20)),
        "mask": rng.random((3, 20)) < 0.7,
        "criterion": "ratio",
        "normalize": normalize,
    }
    report = decompose(p, **settings)
    d = stereotype_distribution(read_preferences(p, **settings))
    for x, group in enumerate(d.groups):
        for y, category in enumerate(d.categories):
            values, weights = d.sample(category, group)
            assert values @ weights == pytest.approx(report.mean_stereotype[x, y], abs=1e-12)
    assert np.isnan(d.s[~settings["mask"]]).all()
    assert (d.weights[~settings["mask"]] == 0).all()


def test_missing_groups_and_unknown_labels() -> None:
    mask = np.array([[True, True], [False, False]])
    p = np.full((2, 2, 2), 0.5)
    d = stereotype_distribution(read_preferences(p, mask=mask))
    assert d.sample("0")[0].size == 2
    with pytest.raises(SettingsError, match="'1'"):
        d.sample("0", "1")
    with pytest.raises(SettingsError, match=r"^category: "):
        d.sample("x")
    with pytest.raises(SettingsError, match="values that differ"):
        weighted_density(d.sample("0")[0], [0.0])
    with pytest.raises(SettingsError, match="nothing to average"):
        stereotype_distribution(read_preferences(p, mask=np.zeros((2, 2), bool)))
    with pytest.raises(ValueError, match="read-only"):
        d.s[0] = 0.0


# --- influence of a context, against decomposing again without it ---------------------------------


@pytest.mark.parametrize("norm", [1, 2, np.inf])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("K", [2, 5])
def test_influence_matches_leaving_the_context_out(norm: float, normalize: bool, K: int) -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(K), size=(4, 6))
    weights, group_weights = rng.random(6), rng.random(4)
    reference = rng.dirichlet(np.full(K, 5.0))
    settings: dict[str, Any] = {
        "reference": reference, "criterion": "ratio", "norm": norm, "normalize": normalize,
    }  # fmt: skip
    found = context_influence(
        read_preferences(p, context_weights=weights, group_weights=group_weights, **settings)
    )
    whole = decompose(p, context_weights=weights, group_weights=group_weights, **settings)
    for c in range(6):
        left = [i for i in range(6) if i != c]
        rest = decompose(
            p[:, left], context_weights=weights[left], group_weights=group_weights, **settings
        )
        assert found[c] == pytest.approx(
            whole.R_volatility.value - rest.R_volatility.value, abs=1e-12
        )


def test_missing_cells_are_left_out_of_both_sides() -> None:
    rng = np.random.default_rng(2)
    p = rng.dirichlet(np.ones(2), size=(3, 5))
    mask = np.ones((3, 5), dtype=bool)
    mask[0, 1] = mask[2, 4] = False
    found = context_influence(read_preferences(p, mask=mask))
    whole = decompose(p, mask=mask).R_volatility.value
    left = [0, 2, 3, 4]
    rest = decompose(p[:, left], mask=mask[:, left]).R_volatility.value
    assert found[1] == pytest.approx(whole - rest, abs=1e-12)


def test_a_single_context_has_no_influence() -> None:
    assert np.isnan(context_influence(read_preferences([[0.7, 0.3]]))).all()
