"""How far the numbers of a run can be trusted, and the run in plain words."""

from __future__ import annotations

from collections.abc import Sequence

from clinometer.display.numbers import between, counted, percent, risk
from clinometer.findings.finding import Finding
from clinometer.runs import Run
from clinometer.runs.findings.cautions import cautions
from clinometer.runs.findings.of_run import HEADLINES, next_step
from clinometer.runs.names import context_noun, groups_noun
from clinometer.runs.protocol import protocol_sentences
from clinometer.statistics.estimate import Estimate

LEVELS = ("thin", "fair", "good", "exact")
"""How strong evidence is, the weakest first; of several runs the weakest counts."""

_THIN_N = 30
"""Fewer effective contexts are thin evidence."""

_THIN_WIDTH = 0.5
"""An interval wider than this share of R is thin evidence."""

_GOOD_N = 100
"""As many effective contexts can be good evidence."""

_GOOD_WIDTH = 0.25
"""An interval at most as wide as this share of R can be good evidence."""


def evidence(run: Run) -> tuple[str, str]:
    """Return how strong the evidence is, as one of LEVELS, and what it rests on."""
    R = run.risks.R
    contexts = contexts_worth(run)
    if R.low is None or R.high is None or R.value <= 0:
        if run.record.model.kind == "reference":
            return "exact", "a reference model"
        return "thin", contexts
    other = run.record.other
    if other is not None and other.share > 0.5:
        decided = percent(1 - other.share)
        return "thin", f"{decided} of the answers of {contexts} are decided"
    width = (R.high - R.low) / R.value
    n = min(run.risks.n_eff, float(run.risks.n_contexts))
    if n < _THIN_N or width > _THIN_WIDTH:
        return "thin", contexts
    if n >= _GOOD_N and width <= _GOOD_WIDTH:
        return "good", contexts
    return "fair", contexts


def contexts_worth(run: Run) -> str:
    """Return 10 sentences that count like 4: never like more than there are."""
    n = run.risks.n_contexts
    effective = min(round(run.risks.n_eff), n)
    count = counted(n, context_noun(run))
    return count if effective >= n else f"{count} that count like {effective}"


def badge(run: Run) -> str:
    """Return how far the numbers can be trusted, what they rest on, and what would tell more."""
    level, why = evidence(run)
    step = next_step_text(
        run.findings[0],
        finished=run.record.finished,
        thin=level == "thin",
        replies=run.preferences.counted,
    )
    return f"Evidence {level}: {why}{step}"


def badge_of_several(runs: Sequence[Run], first: Finding) -> str:
    """Return the badge of several runs: the weakest evidence counts; `first` is what is said of
    them first."""
    level, why = min(map(evidence, runs), key=lambda found: LEVELS.index(found[0]))
    replies = any(run.preferences.counted for run in runs)
    step = next_step_text(first, thin=level == "thin", replies=replies)
    return f"Evidence {level}: {why}{step}"


def replies_badge(runs: Sequence[Run]) -> str:
    """Return what repeated replies rest on."""
    first = runs[0]
    groups = f"{len(first.preferences.groups)} {groups_noun(first)}"
    parts = first.record.components
    if parts is None:
        return groups
    contexts = f"{parts.contexts} {context_noun(first)}s"
    return f"{groups} × {contexts} × {parts.replies:.2g} replies"


def next_step_text(first: Finding, **how: bool) -> str:
    """Return what would tell more, after what is said first; "" where nothing would."""
    step = next_step(first, **how)
    return f" · next: {step}" if step else ""


def lede(run: Run) -> tuple[str, ...]:
    """Return what follows the headline: how much of R is steady, and what else moves the answer.

    The strip below it has R and what it is measured from, the badge the number of contexts.
    """
    texts = {finding.kind: finding.text for finding in run.findings[1:]}
    kinds = (
        "judge",
        *HEADLINES,
        "shown",
        "placebo",
        "parts",
        "steady",
        "shared",
        "other",
        "shuffled",
    )
    return tuple(texts[kind] for kind in kinds if kind in texts)


def sentences(run: Run) -> list[str]:
    """Return a run in a few sentences: its findings, its risks, and what a reader must know
    first."""
    report = run.risks
    risks = (
        f"R is {_estimate_text(report.R)}, bias risk {_estimate_text(report.R_bias)}, "
        f"volatility risk {_estimate_text(report.R_volatility)}."
    )
    return [
        *(finding.text for finding in run.findings),
        risks,
        *protocol_sentences(run.record.protocol),
        *cautions(run),
    ]


def _estimate_text(e: Estimate) -> str:
    """Return 0.253 (95 % interval 0.192 to 0.346)."""
    if e.low is None or e.high is None or e.level is None:
        return risk(e.value)
    ends = between(e.low, e.high, to=" to ")
    return f"{risk(e.value)} ({100 * e.level:g} % interval {ends})"
