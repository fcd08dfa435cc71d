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
    stereotype_sample,
    weighted_density,
)
from clinometer.statistics.shape import distribution_characteristics


def test_density_by_hand() -> None:
    # h = n_eff^(-1/5) × the weighted standard deviation with scipy's correction 1/(1 - sum w²):
    # values 0 and 1, weights 3/4 and 1/4: n_eff = 16/10, variance 3/16 / (1 - 10/16) = 1/2.
    h = math.pow(1.6, -1 / 5) * math.sqrt(0.5)

    def normal(z: float) -> float:
        return math.exp(-z * z / 2) / (h * math.sqrt(2 * math.pi))

    found = weighted_density([0, 1], [0.0, 0.5], weights=[3, 1])
    expected = [0.75 * normal(0) + 0.25 * normal(1 / h), normal(0.5 / h)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *(
            (
                lambda values=values: weighted_density(values, [0.0]),
                "values that differ",
            )
            for values in ([0.3], [0.3, 0.3], [0.3, 0.3 + 1e-14])
        ),
        (
            lambda: weighted_density([0.3, 0.9], [0.0], weights=[1, 0]),
            "values that differ",
        ),
        (lambda: weighted_density([], [0.5]), "list of finite numbers"),
        (lambda: weighted_density([np.nan], [0.5]), "finite numbers"),
        (lambda: weighted_density([1, 2], [0.5], weights=[0, 0]), "only zeros"),
        (
            lambda: weighted_density([[1, 2]], [0.5]),
            "values: expected a list of numbers",
        ),
        (lambda: weighted_density([1, 2], 0.5), "at: expected a list of numbers"),
        (lambda: distribution_characteristics([]), "at least one number"),
        (lambda: distribution_characteristics([np.nan]), "at least one number"),
        (lambda: distribution_characteristics([np.inf, 1]), "infinity"),
        (lambda: distribution_characteristics([[1, 2]]), "shape"),
    ],
)
def test_wrong_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call()


def test_distribution_of_groups_and_overall_by_hand() -> None:
    p = [[[0.6, 0.4], [0.8, 0.2]], [[0.1, 0.9], [0.5, 0.5]]]
    grid = read_preferences(
        p,
        context_weights=[3, 1],
        group_weights=[1, 3],
        groups=["a", "b"],
        categories=["m", "f"],
    )
    for which, s, w in (
        (("m", "a"), [0.2, 0.6], [0.75, 0.25]),
        (("m",), [0.2, 0.6, -0.8, 0.0], [3 / 16, 1 / 16, 9 / 16, 3 / 16]),
        (("f", "b"), [0.8, 0.0], [0.75, 0.25]),
    ):
        values, weights = stereotype_sample(grid, *which)
        np.testing.assert_allclose(values, s, atol=1e-15)
        np.testing.assert_allclose(weights, w)


@pytest.mark.parametrize("criterion", ["ratio", "raw"])
def test_means_match_the_report(criterion: str, rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(3), size=(3, 20))
    settings: dict[str, Any] = {
        "context_weights": rng.random((3, 20)),
        "reference": rng.dirichlet(np.full(3, 5.0), size=(3, 20)),
        "mask": rng.random((3, 20)) < 0.7,
        "criterion": criterion,
    }
    report = decompose(p, **settings)
    grid = read_preferences(p, **settings)
    for x, group in enumerate(grid.groups):
        for y, category in enumerate(grid.categories):
            values, weights = stereotype_sample(grid, category, group)
            assert values @ weights == pytest.approx(
                report.mean_stereotype[x, y], abs=1e-12
            )


def test_missing_groups_and_unknown_labels() -> None:
    mask = np.array([[True, True], [False, False]])
    p = np.full((2, 2, 2), 0.5)
    grid = read_preferences(p, mask=mask)
    assert stereotype_sample(grid, "0")[0].size == 2
    for which, message in (
        (("0", "1"), "'1'"),
        (("x",), "^category: "),
        (("0", "x"), "^group: "),
    ):
        with pytest.raises(SettingsError, match=message):
            stereotype_sample(grid, *which)
    with pytest.raises(SettingsError, match="nothing to average"):
        stereotype_sample(read_preferences(p, mask=np.zeros((2, 2), bool)), "0")


# --- influence of a context, against decomposing again without it ---------------------------------


@pytest.mark.parametrize(
    "criterion", ["ratio:1", "ratio:2", "ratio", "raw:1", "raw:2", "raw"]
)
@pytest.mark.parametrize("K", [2, 5])
def test_influence_matches_leaving_the_context_out(criterion: str, K: int) -> None:
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(K), size=(4, 6))
    weights, mask = rng.random(6), np.ones((4, 6), dtype=bool)
    mask[0, 1] = mask[2, 4] = False
    settings: dict[str, Any] = {
        "reference": rng.dirichlet(np.full(K, 5.0)), "group_weights": rng.random(4),
        "criterion": criterion,
    }  # fmt: skip

    def swing(kept: list[int]) -> float:
        how = {**settings, "context_weights": weights[kept], "mask": mask[:, kept]}
        return decompose(p[:, kept], **how).R_volatility.value

    grid = read_preferences(p, context_weights=weights, mask=mask, **settings)
    without = np.array([swing([i for i in range(6) if i != c]) for c in range(6)])
    assert context_influence(grid) == pytest.approx(
        swing([*range(6)]) - without, abs=1e-12
    )


def test_a_single_context_has_no_influence() -> None:
    assert np.isnan(context_influence(read_preferences([[0.7, 0.3]]))).all()


# --- the shape of a distribution ------------------------------------------------------------------
