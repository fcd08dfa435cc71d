"""The mean of J around the samples of a replicate, against one J at a time."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.measure.comparison_engine import around_samples
from clinometer.measure.criterion import Criterion


@pytest.mark.parametrize(
    "criterion", [Criterion(), Criterion(norm=1), Criterion(norm=2), Criterion("share")], ids=str
)
@pytest.mark.parametrize("kind", ["opposite", "uneven reference", "three"])
def test_the_mean_of_j_around_samples(
    rng: np.random.Generator, criterion: Criterion, kind: str
) -> None:
    at, z = rng.normal(0, 0.3, (5, 4, 3, 3)), rng.normal(0, 0.3, (8, 4, 3, 3))
    if kind != "three":
        ratio = {"opposite": -1.0, "uneven reference": -0.25}[kind]
        at, z = (np.stack([s[..., 0], ratio * s[..., 0]], -1) for s in (at, z))
    inner = np.concatenate([z, -z])
    expected = np.mean([criterion(at + one) for one in inner], axis=0)
    np.testing.assert_allclose(around_samples(at, inner, criterion), expected, atol=1e-14)
