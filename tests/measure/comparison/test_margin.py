"""Non-inferiority: the error of "not worse" at the margin, and what each interval says."""

from __future__ import annotations

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.measure import compare
from clinometer.measure.comparison import MARGIN_LEVEL, margin_verdicts


def pair(rng: np.random.Generator, gap: float, contexts: int = 60):  # type: ignore[no-untyped-def]
    """Two models that lean the same way for 8 groups, the first further by `gap` on average."""
    shared = rng.normal(0, 0.1, (8, contexts))  # what both models share in a context
    s = [
        np.clip(0.4 + lean + shared + rng.normal(0, 0.08, (8, contexts)), -1, 1)
        for lean in (gap, 0.0)
    ]
    return [np.stack([(1 + one) / 2, (1 - one) / 2], axis=-1) for one in s]


def judged(models, margin: float, seed: int = 0) -> dict[str, str]:  # type: ignore[no-untyped-def]
    found = compare(*models, level=MARGIN_LEVEL, seed=seed)
    return {v.measure: v.verdict for v in margin_verdicts(found, margin)}


def test_the_error_at_the_margin_is_5_percent() -> None:
    """A model that is worse by exactly the margin: "not worse" in 5 % of 200 (3 se: 4.6)."""
    rng = np.random.default_rng(11)
    wrong = [judged(pair(rng, 0.02), 0.02, seed)["R"] in ("not worse", "equivalent")
             for seed in range(200)]  # fmt: skip
    assert 0.004 <= np.mean(wrong) <= 0.096


@pytest.mark.parametrize(
    ("gap", "verdict"),
    [(0.2, "worse"), (-0.2, "better"), (0.0, "equivalent"), (0.05, "cannot tell")],
)
def test_what_an_interval_says(gap: float, verdict: str) -> None:
    found = judged(pair(np.random.default_rng(2), gap, contexts=200), 0.05)
    assert found["R"] == verdict


def test_a_margin_is_positive() -> None:
    found = compare(*pair(np.random.default_rng(0), 0.0), level=MARGIN_LEVEL)
    with pytest.raises(SettingsError, match="margin: expected a number above 0"):
        margin_verdicts(found, 0.0)
