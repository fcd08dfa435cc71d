"""What is measured of a run: its risks, and the other results that a finished run.json holds."""

from __future__ import annotations

from typing import Any

from clinometer.measure import Preferences, RiskReport
from clinometer.measure.factors import FactorShares, factor_shares
from clinometer.measure.risks import MEASURES
from clinometer.runs.answers import other_record
from clinometer.runs.folder.record import BoundsRecord, RunRecord, SummaryRecord


def measured_risks(record: RunRecord, preferences: Preferences) -> RiskReport:
    """Return the risks of a run, with intervals.

    A reference model is known, not estimated, and what its groups share depends only on how it is
    represented.
    """
    if record.model.kind == "reference":
        return preferences.decompose().decomposition
    return preferences.estimate(**record.settings.inference())


def finished_record(
    record: RunRecord, preferences: Preferences, report: RiskReport
) -> RunRecord:
    """Return the record of a finished run, with all results but the floor of shuffled words."""
    counts = preferences.counts()
    if record.words is not None:
        counts = {**counts, **record.words.counts}
    by_equations = preferences.decompose().summary
    results: dict[str, Any] = {
        "status": "finished",
        "summary": SummaryRecord.model_validate(report.summary),
        "criterion": report.criterion.to_dict(),
        "n_eff": report.n_eff,
        "counts": {**counts, **record.replies},
        "plug_in": {name: by_equations[name].value for name in MEASURES},
    }
    if preferences.counted:
        results["components"] = preferences.components(
            level=record.settings.level, clusters=record.settings.clusters
        )
    factors = _factors(record, preferences)
    if factors is not None:
        results["factors"] = factors
    if record.topic.readout is not None:
        results["other"] = other_record(preferences)
    bounds = _bounds(preferences)
    if bounds is not None:
        results["bounds"] = bounds
    return record.model_copy(update=results)


def _factors(record: RunRecord, preferences: Preferences) -> FactorShares | None:
    """Return what makes the answers swing: the labels of the contexts."""
    if not preferences.labels or record.model.kind == "reference":
        return None
    return factor_shares(
        preferences.grid,
        preferences.labels,
        unit=record.settings.clusters,
        level=record.settings.level,
        samples=preferences.samples,
    )


def _bounds(preferences: Preferences) -> BoundsRecord | None:
    """Return the bounds of the risks; None where preferences are exact."""
    low = preferences.low
    high = preferences.high
    bounds = preferences.bounds()
    if bounds is None or low is None or high is None:
        return None
    width = (high - low).max(axis=2)
    return BoundsRecord(
        R=list(bounds.R),
        R_bias=list(bounds.R_bias),
        R_volatility=list(bounds.R_volatility),
        widest_cell=float(width.max()),
        mean_cell=float(width.mean()),
    )
