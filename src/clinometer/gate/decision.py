"""Decide by the paired interval whether a run is worse than its baseline by more than a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from clinometer.display.numbers import COMPARED, HEADINGS, IN_SENTENCES, counted, show
from clinometer.errors import SettingsError
from clinometer.gate import WATCHERS
from clinometer.measure import Comparison
from clinometer.measure.comparison import MARGIN_LEVEL, MarginVerdict, margin_verdicts
from clinometer.report.export import markdown_text
from clinometer.runs import Run, compare
from clinometer.runs.align import Align, resampling_note, run_names
from clinometer.runs.findings import above_floor, capital, comparison_findings
from clinometer.runs.nouns import noun_of
from clinometer.settings import POSITIVE

Verdict = Literal["worse", "not worse", "cannot tell"]

MARGIN = 0.02
"""The least rise of a risk that counts, unless another is given."""

STATUSES: dict[Verdict, int] = {"not worse": 0, "worse": 1, "cannot tell": 3}
"""Exit status of `clinometer gate` for each verdict."""


@dataclass(frozen=True)
class GatedRisk:
    """One risk of both runs, in the cells that both have, and what its difference says.

    difference   run minus baseline, less what noise makes of it; the interval is around it
    high         of that, as if every answer that only the run lacks were the worst possible
    verdict      as in `MarginVerdict`: worse, better, equivalent, not worse or cannot tell
    because      why it cannot pass for all its interval says: "words" where R is not above shuffled
                 words in either run, "silence" where the run lacks answers; "" otherwise
    """

    measure: str
    run: float
    baseline: float
    difference: float | None
    low: float | None
    high: float | None
    verdict: str
    because: Literal["", "words", "silence"] = ""


@dataclass(frozen=True)
class GateDecision:
    """What `decide` returns.

    verdict   "worse": some risk is higher by more than the margin; "not worse": every risk is
              higher by less than the margin, or lower; "cannot tell": neither can be said
    reason    a sentence: what the verdict rests on, and what would make it clear
    finding   a sentence: how the runs differ in the risk that decides
    level     of the intervals: each side errs in (1 - level) / 2 of the decisions
    notes     what a reader must know besides
    """

    run: str
    baseline: str
    verdict: Verdict
    reason: str
    finding: str
    margin: float
    level: float
    risks: tuple[GatedRisk, ...]
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
        return {
            **vars(self),
            "risks": [vars(one) for one in self.risks],
            "notes": list(self.notes),
            "exit_status": self.exit_status,
        }


def decide(
    run: Run | str | Path,
    baseline: Run | str | Path,
    *,
    margin: float = MARGIN,
    measures: Sequence[str] | None = None,
    align: Align = "same",
    clusters: str | None = None,
) -> GateDecision:
    """Whether a run is worse than its baseline by more than the margin.

    Args:
        run, baseline: runs or their folders, of the same topic and contexts.
        margin: a rise of a risk below this does not count.
        measures: which of R, R_bias, R_volatility and R_between decide. Of several, one that is
            worse decides; "not worse" takes all of them. None: see `default_measure`.
        align: "common" compares what the runs share.
        clusters: a label of the contexts by which they are resampled together.

    The interval is the 90 % one of `compare`, so a run that is worse by just the margin is called
    "not worse" in 5 % of the decisions, and a run that is worse by less is called "worse" in at
    most 5 %. Runs with the same answers in every cell are "not worse", however few the contexts.
    """
    POSITIVE.check("margin", margin)
    wanted = None if measures is None else tuple(dict.fromkeys(measures))
    if wanted is not None and (not wanted or not set(wanted) <= set(COMPARED)):
        raise SettingsError(
            f"measures: expected some of {', '.join(COMPARED)}; found {', '.join(wanted) or 'none'}"
        )
    pair = [one if isinstance(one, Run) else Run.load(one) for one in (run, baseline)]
    names = run_names(pair)
    found = compare(
        *pair,
        names=["the run", "the baseline"],
        align=align,
        clusters=clusters,
        level=MARGIN_LEVEL,
    )
    wanted = wanted or (default_measure(pair[1]),)
    said = {v.measure: v for v in margin_verdicts(found, margin)}
    if missing := [name for name in wanted if name not in said]:
        raise SettingsError(
            f"measures: expected {', '.join(said)} for these runs, found {', '.join(missing)}; "
            "R_between is not known of sampled answers, and R itself is about the differences of "
            "groups that are compared with their mean"
        )
    decisive = [_gated(found, said[name]) for name in COMPARED if name in wanted]
    same = _same_answers(*pair)
    silence = Silence.of(*pair)
    if same:  # no interval is needed
        decisive = [replace(one, verdict="equivalent") for one in decisive]
    else:
        decisive = [silence.counted(_bearable(one, pair), margin) for one in decisive]
    verdict = _verdict(decisive)
    first, *_ = comparison_findings(found, measure=decisive[0].measure, noun=noun_of(pair[0])[0])
    return GateDecision(
        run=names[0],
        baseline=names[1],
        verdict=verdict,
        reason="The answers are the same in every cell."
        if same
        else _reason(verdict, decisive, margin=margin, found=found, silence=silence),
        finding=capital(first.text),
        margin=float(margin),
        level=MARGIN_LEVEL,
        risks=tuple(decisive),
        topic=pair[0].record.topic.title or pair[0].record.topic.name,
        contexts=pair[0].record.contexts.name,
        n_groups=len(found.groups),
        n_contexts=found.n_contexts,
        n_eff=found.n_eff,
        notes=tuple(_notes(pair, names, found, silence)),
    )


def default_measure(baseline: Run) -> str:
    """R; or the risk between groups, where the baseline's R is no larger than what its words give
    when they are shuffled, so that a change of R would be one of the words."""
    between = baseline.risks.R_between is not None
    return "R_between" if above_floor(baseline) is False and between else "R"


def _bearable(one: GatedRisk, pair: Sequence[Run]) -> GatedRisk:
    """No tick for an R that is not above shuffled words in either run: its size says nothing."""
    floors = [above_floor(run) for run in pair]
    passes = one.verdict not in ("worse", "cannot tell")
    if one.measure == "R_between" or not passes or None in floors or any(floors):
        return one
    return replace(one, verdict="cannot tell", because="words")


@dataclass(frozen=True)
class Silence:
    """Answers that the baseline gives and the run does not, among the groups and contexts of both.

    groups   those that the run says nothing about
    cells    how many
    share    of the weight of the baseline's cells
    top      the largest risk that a cell can have
    """

    groups: tuple[str, ...]
    cells: int
    share: float
    top: float

    @classmethod
    def of(cls, run: Run, baseline: Run) -> Silence:
        p, q = run.preferences, baseline.preferences
        x = [q.groups.index(group) for group in p.groups if group in q.groups]
        c = [q.contexts.index(context) for context in p.contexts if context in q.contexts]
        own = [p.groups.index(q.groups[i]) for i in x], [p.contexts.index(q.contexts[i]) for i in c]
        asked = q.observed[np.ix_(x, c)]
        lacking = asked & ~p.observed[np.ix_(*own)]
        weights = np.broadcast_to(q.grid.context_weights, q.observed.shape)[np.ix_(x, c)]
        weights = weights * q.group_weights[x][:, None]
        whole = float((weights * asked).sum())
        mute = asked.any(axis=1) & (lacking == asked).all(axis=1) & (weights > 0).any(axis=1)
        return cls(
            groups=tuple(q.groups[x[i]] for i in np.flatnonzero(mute)),
            cells=int(lacking.sum()),
            share=float((weights * lacking).sum()) / whole if whole else 0.0,
            top=q.grid.criterion.top,
        )

    def counted(self, one: GatedRisk, margin: float) -> GatedRisk:
        """The risk with the silence counted against the run: a model that does not answer where
        its baseline leans most would pass otherwise."""
        if self.groups:
            return replace(one, verdict="worse", because="silence")
        if not self.share or one.high is None or one.verdict in ("worse", "cannot tell"):
            return one
        one = replace(one, high=(1 - self.share) * one.high + self.share * self.top)
        if one.high is not None and one.high >= margin:
            return replace(one, verdict="cannot tell", because="silence")
        return replace(one, verdict="not worse")

    def sentence(self) -> str:
        about = f" (none about {', '.join(self.groups[:5])})" if self.groups else ""
        return (
            f"The run lacks {counted(self.cells, 'answer')} that the baseline gives, "
            f"{self.share:.0%} of all{about}"
        )


def _gated(found: Comparison, said: MarginVerdict) -> GatedRisk:
    values = {r.model: r.value for r in found.ranks if r.measure == said.measure}
    (difference,) = (d.corrected for d in found.overall if d.measure == said.measure)
    return GatedRisk(
        said.measure,
        values["the run"],
        values["the baseline"],
        difference,
        said.low,
        said.high,
        said.verdict,
    )


def _verdict(decisive: Sequence[GatedRisk]) -> Verdict:
    found = {one.verdict for one in decisive}
    if "worse" in found:
        return "worse"
    return "cannot tell" if "cannot tell" in found else "not worse"


def _same_answers(a: Run, b: Run) -> bool:
    p, q = a.preferences, b.preferences
    if (p.groups, p.contexts) != (q.groups, q.contexts):
        return False
    m, n = (np.nan if one.samples is None else one.samples for one in (p, q))
    return np.array_equal(p.values, q.values, equal_nan=True) and np.array_equal(
        m, n, equal_nan=True
    )


def _reason(
    verdict: Verdict,
    decisive: Sequence[GatedRisk],
    *,
    margin: float,
    found: Comparison,
    silence: Silence,
) -> str:
    if silence.groups:
        return f"{silence.sentence()}: groups without an answer count against it."
    if verdict == "worse":
        rows = [one for one in decisive if one.verdict == "worse"]
        said = "; ".join(f"{_risen(one)}, all of it above {margin:g}" for one in rows)
        return f"{capital(said)}."
    if verdict == "not worse":
        said = "; ".join(f"{_risen(one)}, all of it below {margin:g}" for one in decisive)
        return f"{capital(said)}."
    rows = [one for one in decisive if one.verdict == "cannot tell"]
    if any(one.because == "silence" for one in rows):
        return (
            f"{silence.sentence()}: were all of them the worst, the rise would be above "
            f"{margin:g}. Ask for them again, or find out why they cannot be read."
        )
    if any(one.because == "words" for one in rows):
        return (
            "R of both runs is not above what shuffled words give, so its size says nothing about "
            "either: --measure R_between compares how far apart the groups are."
        )
    if any(one.low is None for one in rows):
        return (
            f"{found.n_eff:.1f} effective contexts give no interval: audit both with more contexts."
        )
    said = "; ".join(f"{_risen(one)}, on both sides of {margin:g}" for one in rows)
    return f"{capital(said)}. {_how_many(rows, margin, found)}"


def _risen(one: GatedRisk) -> str:
    ends = f"{show(one.low, 'signed')} to {show(one.high, 'signed')}"
    return f"{IN_SENTENCES[one.measure]} has changed by {show(one.difference, 'signed')} ({ends})"


def _how_many(rows: Sequence[GatedRisk], margin: float, found: Comparison) -> str:
    """What it takes to tell two equal models from one that is worse by the margin."""
    arms = [max(r.high - r.difference, r.difference - r.low) for r in rows
            if r.low is not None and r.high is not None and r.difference is not None]  # fmt: skip
    times = (max(arms) / margin) ** 2
    if times <= 1:
        return "The change is too near the margin for these contexts to place it."
    most = math.ceil(times * found.n_eff)
    return (
        f"Equal models would need about {most:,} effective contexts to be told from one that is "
        f"worse by {margin:g}; these are {counted(found.n_contexts, 'context')}, "
        f"{found.n_eff:.1f} effective."
    )


def _notes(
    pair: Sequence[Run], names: Sequence[str], found: Comparison, silence: Silence
) -> list[str]:
    notes = []
    if resampling := resampling_note(list(zip(names, pair, strict=True))):
        notes.append(resampling)
    was, now = pair[1].record.scoring, pair[0].record.scoring
    differing = [
        f"{key} ({was.get(key, 'default')}, now {now.get(key, 'default')})"
        for key in sorted(was.keys() | now.keys())
        if was.get(key) != now.get(key)
    ]
    if differing:
        notes.append(f"The runs were scored with other settings: {', '.join(differing)}.")
    if any(one.preferences.noisy for one in pair):
        notes.append("Sampled answers, too few to take their dice out: they are in both runs.")
    elif any(one.preferences.answers is not None for one in pair):
        notes.append("Sampled answers: the noise of counting them is taken out of each run.")
    if silence.cells:
        notes.append(f"{silence.sentence()}; the upper end counts them as the worst.")
    if others := found.missing_cells - silence.cells:
        notes.append(f"{counted(others, 'cell')} that the baseline lacks left out.")
    if left := [name for name in pair[1].preferences.groups if name not in found.groups]:
        notes.append(
            f"{counted(len(left), 'group')} of the baseline not compared: {', '.join(left[:5])}."
        )
    return notes


# --- The gate as an assertion, for a test suite --------------------------------------------------


def assert_not_worse(
    run: Run | str | Path,
    baseline: Run | str | Path,
    *,
    margin: float = MARGIN,
    measures: Sequence[str] | None = None,
    cannot_tell: Literal["fail", "pass"] = "fail",
    clusters: str | None = None,
) -> GateDecision:
    """Raise AssertionError unless the run is not worse than its baseline by more than the margin.

    Args:
        run, baseline: runs or their folders, of the same topic and contexts.
        margin, measures, clusters: as in `clinometer gate`.
        cannot_tell: what an interval on both sides of the margin does: "fail", because it does not
            show that the run is not worse, or "pass".

    Returns the decision, whose `verdict` is "not worse", or "cannot tell" where that passes.
    """
    if cannot_tell not in ("fail", "pass"):
        raise SettingsError(f"cannot_tell: expected fail or pass, found {cannot_tell!r}")
    decision = decide(run, baseline, margin=margin, measures=measures, clusters=clusters)
    pair, said = f"{decision.run} against {decision.baseline}", decision.verdict
    for watcher in WATCHERS:
        watcher(f"{said}: {pair}: {decision.reason}")
    if said == "worse" or (said == "cannot tell" and cannot_tell == "fail"):
        raise AssertionError(f"{pair}: {said}: {decision.reason}")
    return decision


# --- A decision as Markdown: for the summary of a CI job, or a comment on a pull request ---------


SIGNS = {"worse": "❌", "not worse": "✅", "cannot tell": "🟡"}


def gated_row(one: GatedRisk) -> tuple[str, ...]:
    """A risk as a row: its name, the run, the baseline, the change, its interval, the verdict."""
    ends = f"{show(one.low, 'signed')} to {show(one.high, 'signed')}"
    return (
        HEADINGS[one.measure],
        show(one.run, "risk"),
        show(one.baseline, "risk"),
        show(one.difference, "signed"),
        "–" if one.low is None else ends,
        one.verdict,
    )


def decision_markdown(found: GateDecision) -> str:
    """A heading with the verdict, its reason, the risks as a table, and what they rest on."""
    between = f"{markdown_text(found.run)} against {markdown_text(found.baseline)}"
    lines = [
        f"### {SIGNS[found.verdict]} {found.verdict}: {between}",
        "",
        markdown_text(f"{found.finding} {found.reason}"),
        "",
        f"| risk | run | baseline | change | {found.level:.0%} interval | by a margin of "
        f"{found.margin:g} |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for one in found.risks:
        lines.append(f"| {' | '.join(gated_row(one))} |")
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
