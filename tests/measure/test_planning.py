"""Plans that hold: what was planned for comes out in simulations."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.measure import compare, estimate_risks
from clinometer.measure.planning import (
    Spread,
    contexts_for_precision,
    contexts_to_detect,
    detectable,
    half_width,
)


def pair(rng: np.random.Generator, contexts: int, gap: float = 0.0) -> list[np.ndarray]:
    """Two models that lean for 6 groups, the first further by `gap`; contexts shift all groups."""
    both = rng.normal(0, 0.1, (1, contexts))
    out = []
    for lean in (gap, 0.0):
        s = np.clip(0.4 + lean + both + rng.normal(0, 0.1, (1, contexts)), -1, 1)
        s = np.broadcast_to(s, (6, contexts))
        out.append(np.stack([(1 + s) / 2, (1 - s) / 2], axis=-1))
    return out


def test_a_planned_precision_is_reached() -> None:
    rng = np.random.default_rng(0)
    pilot = estimate_risks(pair(rng, 100)[0])
    n = contexts_for_precision(Spread.of_report(pilot), 0.02)
    found = estimate_risks(pair(rng, n)[0]).R
    assert found.high is not None
    assert found.high - found.value == pytest.approx(0.02, rel=0.3)  # a pilot's sd is 10 % off


def test_a_planned_difference_is_found_as_often_as_planned() -> None:
    """80 % of 100 comparisons, less 3 standard errors (12) and the error of the pilot's spread."""
    rng = np.random.default_rng(1)
    pilot = compare(*pair(rng, 200))
    n = contexts_to_detect(Spread.of_comparison(pilot), 0.05)
    hits = 0
    for seed in range(100):
        overall = compare(*pair(rng, n, gap=0.05), seed=seed).overall
        hits += next(d.p for d in overall if d.measure == "R") <= 0.05  # type: ignore[operator]
    assert 0.65 <= hits / 100 <= 0.95


def test_the_formulas_are_each_others_inverse() -> None:
    spread = Spread(0.12, "made")
    assert half_width(spread, contexts_for_precision(spread, 0.03)) == pytest.approx(0.03, rel=0.02)
    assert detectable(spread, contexts_to_detect(spread, 0.03)) == pytest.approx(0.03, rel=0.02)
    assert spread.unpaired().sd == pytest.approx(0.12 * np.sqrt(2))
