"""What a reliability run says: its findings, the headline first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clinometer.reliability.finding import ReliabilityFinding, Sure, side
from clinometer.reliability.record import ReliabilityRecord
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd


def run_findings(
    record: ReliabilityRecord, statements: pd.DataFrame
) -> tuple[ReliabilityFinding, ...]:
    """Return what a run says, the headline first."""
    scored = statements[statements["cobias"].notna()]
    models = tuple(model.id for model in record.models)
    mean = record.summary.get("cobias")
    stability = record.summary.get("stability")
    if mean is None or stability is None or scored.empty:
        nothing = ReliabilityFinding("nothing", "cannot tell", models)
        return (nothing, *_counts(record))
    lowest = scored.sort_values("cobias", kind="stable").iloc[0]
    numbers = {
        "cobias": mean,
        "stability": stability,
        "scored": Estimate(len(scored)),
        "lowest": Estimate(float(lowest["cobias"])),
    }
    words = {"lowest": str(lowest["text"])}
    findings = [ReliabilityFinding("mean", "described", models, numbers, words)]
    length = record.length
    if length is not None and length.rho is not None:
        sure: Sure = "clear" if side(length.rho) else "unclear"
        numbers = {"rho": length.rho}
        findings.append(ReliabilityFinding("length", sure, models, numbers))
    without_target = record.counts.overall.get("statements_without_target", 0)
    if without_target:
        numbers = {
            "without": Estimate(without_target),
            "statements": Estimate(len(statements)),
        }
        findings.append(ReliabilityFinding("no target", numbers=numbers))
    # People were not asked.
    findings.append(ReliabilityFinding("not validated", "cannot tell"))
    for pair in record.agreement:
        if pair.rho is not None:
            names = (pair.a, pair.b)
            numbers = {"rho": pair.rho}
            findings.append(
                ReliabilityFinding("two models", "described", names, numbers)
            )
    if len(models) == 1:
        findings.append(ReliabilityFinding("one model", "cannot tell", models))
    return (*findings, *_precision(record), *_counts(record))


def _precision(record: ReliabilityRecord) -> list[ReliabilityFinding]:
    """Return how sure the ranks are, and whether single statements can be told apart."""
    sureness = record.sureness
    if sureness is None or sureness.ranked <= 2:
        return []
    findings = []
    if sureness.rank_interval is not None:
        numbers = {
            "places": Estimate(sureness.rank_interval),
            "ranked": Estimate(sureness.ranked),
        }
        findings.append(ReliabilityFinding("ranks", numbers=numbers))
    width = sureness.interval_width
    spread = sureness.spread
    if width is not None and spread is not None and width > 2 * spread:
        numbers = {"width": Estimate(width), "spread": Estimate(spread)}
        findings.append(ReliabilityFinding("too close", "unclear", numbers=numbers))
    return findings


def _counts(record: ReliabilityRecord) -> list[ReliabilityFinding]:
    """Return everything that was counted, by its name and, of a model, its model."""
    regular = {"statements", "versions", "flag_", "statements_without_target"}
    numbers = {}
    for name, n in record.counts.overall.items():
        if n and name not in regular:
            numbers[name.replace("_", " ")] = Estimate(n)
    for model, counts in record.counts.by_model.items():
        for name, n in counts.items():
            if n:
                numbers[f"{model}: {name}".replace("_", " ")] = Estimate(n)
    return [ReliabilityFinding("counts", numbers=numbers)] if numbers else []
