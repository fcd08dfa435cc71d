"""J of people's shares from judged counts: close to the truth where the plain one is far off."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.measure.counting_noise import sampled_correction
from clinometer.measure.criterion import Criterion, criterion
from clinometer.measure.grid import read_preferences
from clinometer.measure.judge import unmixed_criterion

CASES = [
    (((0.9, 0.1), (0.25, 0.75)), (5.0, 5.0), 15),
    (((0.85, 0.1, 0.05), (0.1, 0.8, 0.1), (0.1, 0.2, 0.7)), (4.0, 3.0, 3.0), 30),
]


@pytest.mark.parametrize(("rows", "shape", "m"), CASES)
def test_the_mean_is_that_of_people(
    rows: tuple[tuple[float, ...], ...], shape: tuple[float, ...], m: int
) -> None:
    rng = np.random.default_rng(3)
    matrix = np.array(rows)
    K = len(matrix)
    p = rng.dirichlet(shape, 4000)
    counts = rng.multinomial(m, p @ matrix)
    star = np.full(p.shape, 1 / K)
    truth = criterion((p * K - 1) / (K - 1), np.inf).mean()
    inverse = np.linalg.inv(matrix)
    found = unmixed_criterion(counts, inverse, star, criterion=Criterion()).mean()
    plain = criterion((counts / m @ inverse * K - 1) / (K - 1), np.inf).mean()
    assert found == pytest.approx(truth, abs=0.015)
    assert plain - truth > 0.06


def test_a_perfect_judge_is_as_plain_answers() -> None:
    rng = np.random.default_rng(4)
    p = rng.beta(5, 5, 3000)
    counts = np.stack([n := rng.binomial(12, p), 12 - n], axis=-1)
    star = np.full((3000, 2), 0.5)
    found = unmixed_criterion(counts, np.eye(2), star, criterion=Criterion())
    other = sampled_correction(read_preferences(counts / 12), 12)
    assert found.mean() == pytest.approx(float(other.mean()), abs=0.012)
