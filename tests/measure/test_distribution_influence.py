"""Influence of a context, against decomposing again without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clinometer.measure import decompose, read_preferences
from clinometer.measure.distribution import context_influence


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
