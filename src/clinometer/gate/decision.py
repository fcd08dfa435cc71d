"""Decide by the paired interval whether a run is worse than its baseline by more than a margin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.findings.finding import Finding
from clinometer.gate.reason import (
    LEAST_SHARED,
    Verdict,
    notes,
    reason,
    verdict_of_rows,
)
from clinometer.gate.row import GatedRow, risk_rows, worst_people
from clinometer.gate.silence import Silence
from clinometer.measure.risks import COMPARED
from clinometer.runs import Run
from clinometer.runs.compare import Align
from clinometer.runs.compared import Compared, compared
from clinometer.runs.findings.of_comparison import DECISIVE
from clinometer.runs.several_runs import run_names
from clinometer.settings import POSITIVE

MARGIN = 0.02
"""The least rise of a risk that counts, unless another is given; of a lean, the same share of the
scale or of the answers."""

STATUSES: dict[Verdict, int] = {"not worse": 0, "worse": 1, "cannot tell": 3}
"""Exit status of `clinometer gate` for each verdict."""


@dataclass(frozen=True)
class GateDecision(Plain):
    """What `decide` returns."""

    run: str
    """The name of the run."""

    baseline: str
    """The name of its baseline."""

    verdict: Verdict
    """"worse": a number is higher by more than its margin; "not worse": every number is higher by
    less, or lower; "cannot tell": neither can be said."""

    rows: tuple[GatedRow, ...]
    """The numbers that decide."""

    reason: str
    """What the verdict rests on, and what would make it clear."""

    findings: tuple[Finding, ...]
    """How the runs differ, as `compare` says it."""

    level: float
    """The level of the intervals."""

    share: float
    """The share of the baseline's cells that were compared."""

    topic: str
    contexts: str
    n_groups: int
    n_contexts: int
    n_eff: float

    notes: tuple[str, ...]
    """What a reader must know besides."""

    @property
    def exit_status(self) -> int:
        return STATUSES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """Return the decision as plain values for JSON."""
        return {**super().to_dict(), "exit_status": self.exit_status}


@dataclass(frozen=True)
class Margins:
    """The rises below which a change does not count."""

    of_risks: float
    """Of a risk."""

    points: float | None
    """Of a lean on a scale, in points; None: the margin of a risk as a share of the scale."""

    rate: float | None
    """Of a lean in favourable answers, as a share; None: the margin of a risk."""


def decide(
    run: Run | str | Path,
    baseline: Run | str | Path,
    *,
    margin: float = MARGIN,
    margin_points: float | None = None,
    margin_rate: float | None = None,
    measures: Sequence[str] | None = None,
    align: Align = "same",
    clusters: str | None = None,
) -> GateDecision:
    """Return whether a run is worse than its baseline by more than a margin.

    Args:
        run, baseline: runs or their folders, of the same topic and contexts.
        margin: a rise of a risk below this does not count.
        margin_points, margin_rate: the same of a lean, in points of a scale and as a share of
            favourable answers; None: the margin of a risk as a share of the scale.
        measures: which risks decide in place of the usual numbers: some of `COMPARED`
            (R, R_bias, R_volatility ...).
        align: "common" compares what the runs share.
        clusters: a label of the contexts by which they are resampled together.

    R and bias risk decide. Where people are compared with their mean, the worst group and the worst
    kind of people decide as well, by how much further from the mean they are; of sampled replies
    they alone. One number that is worse decides; "not worse" takes all of them.

    The numbers and intervals are those of `compare`. A run that is worse by just the margin is
    called "not worse" in at most 5 % of the decisions, and one that is worse by less is called
    "worse" in at most 5 %. Runs with the same answers in every cell are "not worse".
    """
    margins = _checked_margins(margin, margin_points, margin_rate)
    risks = _checked_measures(measures)
    run = run if isinstance(run, Run) else Run.load(run)
    baseline = baseline if isinstance(baseline, Run) else Run.load(baseline)
    names = run_names([run, baseline])
    both = compared(
        [run, baseline], ["the run", "the baseline"], align=align, clusters=clusters
    )
    comparison = both.comparison
    silence = Silence.of(run, baseline)
    rows = _deciding_rows(run, baseline, both, risks, margins)
    same_answers = _have_same_answers(run, baseline)
    if same_answers:  # no interval is needed
        rows = [replace(row, verdict="equivalent") for row in rows]
    else:
        rows = [silence.counted(row, baseline) for row in rows]
    verdict = verdict_of_rows(rows)
    if verdict == "not worse" and silence.compared < LEAST_SHARED:
        verdict = "cannot tell"
    because = "The answers are the same in every cell."
    if not same_answers:
        because = reason(verdict, rows, comparison, silence)
    topic = run.record.topic
    return GateDecision(
        run=names[0],
        baseline=names[1],
        verdict=verdict,
        rows=tuple(rows),
        reason=because,
        findings=both.findings,
        level=comparison.level,
        share=silence.compared,
        topic=topic.title or topic.name,
        contexts=run.record.contexts.name,
        n_groups=len(comparison.groups),
        n_contexts=comparison.n_contexts,
        n_eff=comparison.n_eff,
        notes=tuple(notes(run, baseline, names, comparison, silence, rows)),
    )


def _checked_margins(
    margin: float, margin_points: float | None, margin_rate: float | None
) -> Margins:
    POSITIVE.check("margin", margin)
    if margin_points is not None:
        POSITIVE.check("margin_points", margin_points)
    if margin_rate is not None:
        POSITIVE.check("margin_rate", margin_rate)
    return Margins(margin, margin_points, margin_rate)


def _checked_measures(measures: Sequence[str] | None) -> tuple[str, ...]:
    """Return the risks that decide, each once; none: the usual numbers decide."""
    if measures is None:
        return ()
    names = tuple(dict.fromkeys(measures))
    if not names or not set(names) <= set(COMPARED):
        raise SettingsError(
            f"measures: expected some of {', '.join(COMPARED)}; found {', '.join(names) or 'none'}"
        )
    return names


def _deciding_rows(
    run: Run,
    baseline: Run,
    both: Compared,
    risks: Sequence[str],
    margins: Margins,
) -> list[GatedRow]:
    """Return the rows of the risks that were asked for, or else of the usual numbers."""
    if risks:
        return risk_rows(both.comparison, risks, margins.of_risks)
    outcome = run.outcome
    margin = outcome.lean_margin(
        margins.of_risks, points=margins.points, rate=margins.rate
    )
    people = worst_people(both.shifts, outcome.unit.name, margin)
    counted = run.preferences.counted or baseline.preferences.counted
    if people and counted:
        return people
    return [*risk_rows(both.comparison, DECISIVE, margins.of_risks), *people]


def _have_same_answers(run: Run, baseline: Run) -> bool:
    p, q = run.preferences, baseline.preferences
    if (p.groups, p.contexts, p.categories) != (q.groups, q.contexts, q.categories):
        return False
    if not np.array_equal(p.values, q.values, equal_nan=True):
        return False
    samples = np.nan if p.samples is None else p.samples
    samples_of_baseline = np.nan if q.samples is None else q.samples
    return np.array_equal(samples, samples_of_baseline, equal_nan=True)
