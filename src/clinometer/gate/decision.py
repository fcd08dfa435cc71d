"""Decide by the paired interval whether a run is worse than its baseline by more than a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clinometer.display.numbers import counted, percent, show
from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.findings.finding import Finding
from clinometer.findings.phrases import minus
from clinometer.measure import Comparison
from clinometer.measure.risks import COMPARED, HEADINGS, RISKS
from clinometer.report.export import markdown_text
from clinometer.runs import Run
from clinometer.runs.compare import (
    DECISIVE,
    Align,
    compared,
    resampling_note,
    run_names,
    with_interval,
)
from clinometer.runs.shifts import Shift
from clinometer.settings import POSITIVE
from clinometer.statistics.estimate import Estimate

Verdict = Literal["worse", "not worse", "cannot tell"]

MARGIN = 0.02
"""The least rise of a risk that counts, unless another is given; of a lean, the same share of the
scale or of the answers."""

LEAST_SHARED = 0.9
"""The share of the baseline that must have been compared for a run to pass."""

STATUSES: dict[Verdict, int] = {"not worse": 0, "worse": 1, "cannot tell": 3}
"""Exit status of `clinometer gate` for each verdict."""


@dataclass(frozen=True)
class GatedRow(Plain):
    """One number of both runs, in the cells that both have, and what its change says.

    what     a risk, or the lean of the group or the kind of people that has moved away most
    unit     of the numbers: "" for a risk, points or percentage points
    rise     run minus baseline; of a lean, how much further from the mean
    verdict  worse, better, equivalent, not worse or cannot tell
    because  "silence" where it would pass but for answers that the run lacks
    """

    what: str
    unit: str
    run: float
    baseline: float
    rise: Estimate | None
    margin: float
    verdict: str
    because: Literal["", "silence"] = ""

    @property
    def sentence(self) -> str:
        """How far it has changed, and where that is beside the margin."""

        def amount(value: float) -> str:
            return minus(f"{value:+.2f}") if self.unit else show(value, "signed")

        rise, unit = self.rise or Estimate(0.0), f" {self.unit}" if self.unit else ""
        changed = f"{HEADINGS.get(self.what)} has changed by {amount(rise.value)}"
        if self.unit:
            verb = "shrunk" if rise.value < 0 else "grown"
            changed = (
                f"The lean of {self.what} has {verb} by {abs(rise.value):.2f}{unit}"
            )
        if rise.low is None or rise.high is None:
            return f"{changed}; these contexts give no interval."
        where = {"worse": "all of it above", "cannot tell": "on both sides of"}
        place = where.get(self.verdict, "all of it below")
        interval = f"{amount(rise.low)} to {amount(rise.high)}"
        return f"{changed} ({interval}), {place} {self.margin:g}{unit}."

    def cells(self) -> tuple[str, ...]:
        """As a row: its name, the run, the baseline, the rise, its interval, the verdict."""
        kind, signed = ("points", "signed points") if self.unit else ("risk", "signed")
        name = HEADINGS.get(self.what) or f"lean, {self.what} ({self.unit})"
        rise = self.rise
        both = [
            show(value, signed if self.unit else kind)
            for value in (self.run, self.baseline)
        ]
        if rise is None or rise.low is None:
            return name, *both, show(rise and rise.value, signed), "–", self.verdict
        ends = f"{show(rise.low, signed)} to {show(rise.high, signed)}"
        return name, *both, show(rise.value, signed), ends, self.verdict


@dataclass(frozen=True)
class GateDecision(Plain):
    """What `decide` returns.

    verdict   "worse": a number is higher by more than its margin; "not worse": every number is
              higher by less, or lower; "cannot tell": neither can be said
    rows      what decides
    reason    what the verdict rests on, and what would make it clear
    findings  how the runs differ, as `compare` says it
    level     of the intervals
    share     of the baseline's cells that were compared
    notes     what a reader must know besides
    """

    run: str
    baseline: str
    verdict: Verdict
    rows: tuple[GatedRow, ...]
    reason: str
    findings: tuple[Finding, ...]
    level: float
    share: float
    topic: str
    contexts: str
    n_groups: int
    n_contexts: int
    n_eff: float
    notes: tuple[str, ...]

    @property
    def exit_status(self) -> int:
        return STATUSES[self.verdict]

    def to_dict(self) -> dict[str, Any]:
        """The decision as plain values for JSON."""
        return {**super().to_dict(), "exit_status": self.exit_status}


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
    """Whether a run is worse than its baseline by more than a margin.

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
    given = {
        "margin": margin,
        "margin_points": margin_points,
        "margin_rate": margin_rate,
    }
    for name, value in given.items():
        if value is not None:
            POSITIVE.check(name, value)
    wanted = None if measures is None else tuple(dict.fromkeys(measures))
    if wanted is not None and (not wanted or not set(wanted) <= set(COMPARED)):
        raise SettingsError(
            f"measures: expected some of {', '.join(COMPARED)}; found {', '.join(wanted) or 'none'}"
        )
    pair = [one if isinstance(one, Run) else Run.load(one) for one in (run, baseline)]
    names = run_names(pair)
    both = compared(pair, ["the run", "the baseline"], align=align, clusters=clusters)
    silence = Silence.of(*pair)
    found = both.comparison
    if wanted is not None:
        rows = _risk_rows(found, wanted, margin)
    else:
        outcome = pair[0].outcome
        of_lean = outcome.lean_margin(margin, points=margin_points, rate=margin_rate)
        rows = _worst_people(both.shifts, outcome.unit.name, of_lean)
        if not rows or not any(one.preferences.counted for one in pair):
            rows = [*_risk_rows(found, DECISIVE, margin), *rows]
    same = _same_answers(*pair)
    if same:  # no interval is needed
        rows = [replace(row, verdict="equivalent") for row in rows]
    else:
        rows = [silence.counted(row, pair[1]) for row in rows]
    verdict = _verdict(rows)
    if verdict == "not worse" and silence.both < LEAST_SHARED:
        verdict = "cannot tell"
    return GateDecision(
        run=names[0],
        baseline=names[1],
        verdict=verdict,
        rows=tuple(rows),
        reason="The answers are the same in every cell."
        if same
        else _reason(verdict, rows, found, silence),
        findings=both.findings,
        level=found.level,
        share=silence.both,
        topic=pair[0].record.topic.title or pair[0].record.topic.name,
        contexts=pair[0].record.contexts.name,
        n_groups=len(found.groups),
        n_contexts=found.n_contexts,
        n_eff=found.n_eff,
        notes=tuple(_notes(pair, names, found, silence, rows)),
    )


def _risk_rows(
    found: Comparison, wanted: Sequence[str], margin: float
) -> list[GatedRow]:
    """The risks that decide."""
    values = {(r.model, r.measure): r.value for r in found.ranks}
    rows = {}
    for d in found.overall:
        run, baseline = (values[model, d.measure] for model in (d.a, d.b))
        rise, verdict = with_interval(d, found.level), verdict_of(d.low, d.high, margin)
        rows[d.measure] = GatedRow(d.measure, "", run, baseline, rise, margin, verdict)
    if missing := [name for name in wanted if name not in rows]:
        unknown = [name for name in COMPARED if RISKS[name].needs_probabilities]
        raise SettingsError(
            f"measures: expected {', '.join(rows)} for these runs, found {', '.join(missing)}; "
            f"{' or '.join(unknown)} is not known of sampled answers, and R itself is about the "
            "differences of groups that are compared with their mean"
        )
    return [rows[name] for name in COMPARED if name in wanted]


def _worst_people(shifts: Sequence[Shift], unit: str, margin: float) -> list[GatedRow]:
    """The group, and the kind of people, that speak most against the run."""
    rows: dict[bool, list[GatedRow]] = {False: [], True: []}
    for s in shifts:
        verdict = verdict_of(s.rise.low, s.rise.high, margin)
        verdict = "not worse" if verdict == "equivalent" else verdict
        row = GatedRow(s.name, unit, s.run, s.baseline, s.rise, margin, verdict)
        rows[bool(s.column)].append(row)
    return [max(some, key=_badness) for some in rows.values() if some]


def verdict_of(low: float | None, high: float | None, margin: float) -> str:
    """What the interval of a rise says about a margin.

    "worse": it rises by more than the margin; "better": it falls by more; "equivalent": within the
    margin either way; "not worse": it rises by less than the margin; "cannot tell": none of these,
    or no interval.
    """
    if low is None or high is None:
        return "cannot tell"
    if low > margin:
        return "worse"
    if high < -margin:
        return "better"
    if high < margin:
        return "equivalent" if low > -margin else "not worse"
    return "cannot tell"


def _badness(row: GatedRow) -> tuple[int, float]:
    """The row that speaks most against the run."""
    order = ("better", "equivalent", "not worse", "cannot tell", "worse")
    high = math.inf if row.rise is None or row.rise.high is None else row.rise.high
    return order.index(row.verdict), high


@dataclass(frozen=True)
class Silence:
    """Answers that the baseline gives and the run does not, among the groups and contexts of both.

    groups   those that the run says nothing about
    cells    how many
    share    of the weight of the baseline's cells among them
    both     the share of the weight of all of the baseline's cells that is among them
    """

    groups: tuple[str, ...]
    cells: int
    share: float
    both: float

    @classmethod
    def of(cls, run: Run, baseline: Run) -> Silence:
        p, q = run.preferences, baseline.preferences
        x = [q.groups.index(group) for group in p.groups if group in q.groups]
        c = [
            q.contexts.index(context) for context in p.contexts if context in q.contexts
        ]
        own = (
            [p.groups.index(q.groups[i]) for i in x],
            [p.contexts.index(q.contexts[i]) for i in c],
        )
        asked = q.observed[np.ix_(x, c)]
        lacking = asked & ~p.observed[np.ix_(*own)]
        every = q.grid.context_weights * q.group_weights[:, None] * q.observed
        weights = every[np.ix_(x, c)]
        whole, total = float(weights.sum()), float(every.sum())
        mute = (lacking == asked).all(axis=1) & (weights > 0).any(axis=1)
        return cls(
            groups=tuple(q.groups[x[i]] for i in np.flatnonzero(mute)),
            cells=int(lacking.sum()),
            share=float((weights * lacking).sum()) / whole if whole else 0.0,
            both=whole / total if total else 0.0,
        )

    def counted(self, row: GatedRow, baseline: Run) -> GatedRow:
        """The row with the silence counted against the run: a model that does not answer where
        its baseline leans most would pass otherwise."""
        if self.groups:
            return replace(row, verdict="worse", because="silence")
        rise = row.rise
        passes = row.verdict not in ("worse", "cannot tell")
        if not self.share or rise is None or rise.high is None or not passes:
            return row
        criterion = baseline.preferences.grid.criterion
        top = {"": criterion.top, "points": criterion.length}.get(row.unit, 100.0)
        rise = replace(rise, high=(1 - self.share) * rise.high + self.share * top)
        if rise.high is not None and rise.high >= row.margin:
            return replace(row, rise=rise, verdict="cannot tell", because="silence")
        return replace(row, rise=rise, verdict="not worse")

    def sentence(self) -> str:
        about = f" (none about {', '.join(self.groups[:5])})" if self.groups else ""
        return (
            f"The run lacks {counted(self.cells, 'answer')} that the baseline gives, "
            f"{percent(self.share)} of all{about}"
        )


def _verdict(rows: Sequence[GatedRow]) -> Verdict:
    verdicts = {row.verdict for row in rows}
    if "worse" in verdicts:
        return "worse"
    return "cannot tell" if "cannot tell" in verdicts else "not worse"


def _same_answers(a: Run, b: Run) -> bool:
    p, q = a.preferences, b.preferences
    if (p.groups, p.contexts, p.categories) != (q.groups, q.contexts, q.categories):
        return False
    m, n = (np.nan if one.samples is None else one.samples for one in (p, q))
    return np.array_equal(p.values, q.values, equal_nan=True) and np.array_equal(
        m, n, equal_nan=True
    )


def _reason(
    verdict: Verdict, rows: Sequence[GatedRow], found: Comparison, silence: Silence
) -> str:
    if silence.groups:
        return f"{silence.sentence()}: groups without an answer count against it."
    deciding = [row for row in rows if row.verdict == verdict] or list(rows)
    said = " ".join(row.sentence for row in deciding)
    if verdict != "cannot tell":
        return said
    if silence.both < LEAST_SHARED and _verdict(rows) == "not worse":
        return (
            f"{said} But only {percent(silence.both)} of the baseline was compared, and a run "
            f"passes with {percent(LEAST_SHARED)}: audit both in the same contexts and about the "
            "same groups."
        )
    if any(row.because == "silence" for row in deciding):
        return (
            f"{silence.sentence()}: were all of them the worst, the rise would be above the "
            "margin. Ask for them again, or find out why they cannot be read."
        )
    if any(row.rise is None or row.rise.low is None for row in deciding):
        worth = f"{found.n_eff:.1f} effective contexts"
        return f"{worth} give no interval: audit both with more contexts."
    # What it takes to tell two equal models from one that is worse by the margin.
    rises = [(row.rise, row.margin) for row in deciding if row.rise is not None]
    times = max(
        (max(rise.high - rise.value, rise.value - rise.low) / margin) ** 2
        for rise, margin in rises
        if rise.low is not None and rise.high is not None
    )
    if times <= 1:
        return (
            f"{said} The change is too near the margin for these contexts to place it."
        )
    return (
        f"{said} Equal models would need about {math.ceil(times * found.n_eff):,} effective "
        "contexts to be told from one that is worse by the margin; these are "
        f"{counted(found.n_contexts, 'context')}, {found.n_eff:.1f} effective."
    )


def _notes(
    pair: Sequence[Run],
    names: Sequence[str],
    found: Comparison,
    silence: Silence,
    rows: Sequence[GatedRow],
) -> list[str]:
    notes = []
    if any(row.unit and row.run * row.baseline < 0 for row in rows):
        notes.append(
            "A lean across the mean from the baseline's has grown by what is beyond it."
        )
    scales = {one.preferences.categories for one in pair}
    if len(scales) > 1:
        each = " and ".join(sorted(f"{scale[0]} … {scale[-1]}" for scale in scales))
        notes.append(
            f"The runs hold other scores ({each}); both are compared on one scale."
        )
    if silence.both < 1:
        notes.append(f"{percent(silence.both)} of the baseline was compared.")
    if resampling := resampling_note(list(zip(names, pair, strict=True))):
        notes.append(resampling)
    was, now = pair[1].record.scoring, pair[0].record.scoring
    differing = [
        f"{key} ({was.get(key, 'default')}, now {now.get(key, 'default')})"
        for key in sorted(was.keys() | now.keys())
        if was.get(key) != now.get(key)
    ]
    if differing:
        notes.append(
            f"The runs were scored with other settings: {', '.join(differing)}."
        )
    if any(one.preferences.noisy for one in pair):
        notes.append("So few replies a cell that most of R may be dice, in either run.")
    elif any(one.preferences.counted for one in pair):
        notes.append("Replies: what counting them adds to R is bracketed in each run.")
    if silence.cells:
        notes.append(f"{silence.sentence()}; the upper end counts them as the worst.")
    if others := found.missing_cells - silence.cells:
        notes.append(f"{counted(others, 'cell')} that the baseline lacks left out.")
    if left := [
        name for name in pair[1].preferences.groups if name not in found.groups
    ]:
        notes.append(
            f"{counted(len(left), 'group')} of the baseline not compared: {', '.join(left[:5])}."
        )
    return notes


# --- The gate as an assertion, for a test suite --------------------------------------------------


def assert_not_worse(
    run: Run | str | Path,
    baseline: Run | str | Path,
    *,
    cannot_tell: Literal["fail", "pass"] = "fail",
    **how: Any,
) -> GateDecision:
    """Raise AssertionError unless the run is not worse than its baseline by more than the margin.

    Args:
        run, baseline: runs or their folders, of the same topic and contexts.
        cannot_tell: what an interval on both sides of the margin does: "fail", because it does not
            show that the run is not worse, or "pass".
        how: margin, margin_points, margin_rate, measures, align and clusters, as in
            `clinometer gate`.

    Returns the decision, whose `verdict` is "not worse", or "cannot tell" where that passes.
    """
    if cannot_tell not in ("fail", "pass"):
        raise SettingsError(
            f"cannot_tell: expected fail or pass, found {cannot_tell!r}"
        )
    decision = decide(run, baseline, **how)
    pair, said = f"{decision.run} against {decision.baseline}", decision.verdict
    if said == "worse" or (said == "cannot tell" and cannot_tell == "fail"):
        raise AssertionError(f"{pair}: {said}: {decision.reason}")
    return decision


# --- A decision as Markdown: for the summary of a CI job, or a comment on a pull request ---------


SIGNS = {"worse": "❌", "not worse": "✅", "cannot tell": "🟡"}


def decision_markdown(found: GateDecision) -> str:
    """A heading with the verdict, its reason, the numbers as a table, and what they rest on."""
    between = f"{markdown_text(found.run)} against {markdown_text(found.baseline)}"
    margins = sorted({f"{row.margin:g}" for row in found.rows})
    lines = [
        f"### {SIGNS[found.verdict]} {found.verdict}: {between}",
        "",
        markdown_text(f"{found.findings[0].text} {found.reason}"),
        "",
        f"| | run | baseline | rise | {percent(found.level)} interval | by the margin of "
        f"{', '.join(margins)} |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in found.rows:
        name, *cells = row.cells()
        lines.append(f"| {' | '.join([markdown_text(name), *cells])} |")
    basis = (
        f"{found.topic}: {counted(found.n_groups, 'group')} in "
        f"{counted(found.n_contexts, 'context')} of {found.contexts}, {found.n_eff:,.1f} "
        "effective. The change is about these word lists and contexts of this kind; it does not "
        "say that either model is fair."
    )
    if found.notes:
        lines += ["", *(f"- {markdown_text(note)}" for note in found.notes)]
    lines += ["", f"<sub>{markdown_text(basis)}</sub>", ""]
    return "\n".join(lines)
