"""The risk-aversion curve against decomposing norm by norm."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from tests.measure import plain_loops

from clinometer.errors import SettingsError
from clinometer.measure import decompose, read_preferences
from clinometer.measure.risk import risk_curve


@pytest.mark.parametrize("normalize", [True, False])
def test_the_curve_matches_decompose_for_each_norm(
    rng: np.random.Generator, normalize: bool
) -> None:
    p = rng.dirichlet(np.ones(4), size=(5, 9))
    settings: dict[str, Any] = {
        "context_weights": rng.random(9),
        "group_weights": rng.random(5),
        "reference": rng.dirichlet(np.full(4, 5.0)),
        "mask": rng.random((5, 9)) < 0.8,
        "normalize": normalize,
    }
    norms = [1, 1.5, 2, 7, np.inf]
    grid = read_preferences(p, criterion="ratio", **settings)
    curve = risk_curve(grid, norms)
    for i, k in enumerate(norms):
        whole = decompose(p, criterion="ratio", norm=k, **settings)
        loop = plain_loops.decompose(p, norm=k, **settings)
        assert curve.R[i] == whole.R.value
        assert curve.R_volatility[i] == whole.R_volatility.value
        assert curve.R_bias[i] == pytest.approx(loop.R_bias, abs=1e-12)
        np.testing.assert_array_equal(curve.r_bias[i], whole.r_bias)


def test_the_curve_never_rises_and_is_flat_for_two_categories(rng: np.random.Generator) -> None:
    curve = risk_curve(read_preferences(rng.dirichlet(np.ones(5), size=(3, 20))))
    assert (np.diff(curve.R) <= 1e-12).all()
    assert (np.diff(curve.R_bias) <= 1e-12).all()
    flat = risk_curve(read_preferences(rng.dirichlet(np.ones(2), size=(3, 20))))
    assert np.ptp(flat.R) < 1e-12


def test_missing_groups_become_null_and_errors_are_clear() -> None:
    p, mask = np.full((2, 3, 2), 0.5), np.ones((2, 3), dtype=bool)
    mask[1] = False
    plain = risk_curve(read_preferences(p, mask=mask), [1, np.inf]).to_dict()
    assert plain["curve"][1]["norm"] == "inf"
    assert plain["curve"][0]["groups"][1]["r"] is None
    json.dumps(plain, allow_nan=False)
    with pytest.raises(SettingsError, match="at least one norm"):
        risk_curve(read_preferences(p), [])
    with pytest.raises(SettingsError, match="from 1 to inf"):
        risk_curve(read_preferences(p), [0.5])
