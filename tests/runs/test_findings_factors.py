from __future__ import annotations

from clinometer.measure import Estimate
from clinometer.measure.factors import FactorShare, FactorShares
from clinometer.runs.findings import factor_notes, resampled


def test_one_factor_and_none() -> None:
    rest = Estimate(0.9)
    alone = FactorShares(None, 50, 0.1, [FactorShare("source", 3, Estimate(0.1))], rest)
    assert "contexts are a sample" in resampled(alone)
    unknown = FactorShares(None, 50, 0.1, [FactorShare("id", 50, None, "too fine")], rest)
    assert factor_notes(unknown, clusters=None) == ["The share of id is unknown: too fine."]


def test_shared_levels_ask_for_clusters_once() -> None:
    crossed = FactorShares(
        "wording", 40, 0.1, [FactorShare("wording", 40, Estimate(0.6))], Estimate(0.4), "a and b"
    )
    assert any("--clusters wording" in note for note in factor_notes(crossed, clusters=None))
    assert factor_notes(crossed, clusters="wording") == ["A and b."]
