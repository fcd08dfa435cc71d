"""Notes on a run: what a reader of its numbers must know, one sentence each."""

from __future__ import annotations

from collections.abc import Mapping

from clinometer.contexts import builtin_contexts
from clinometer.contexts.load import FEWEST, family
from clinometer.models.replies import JUDGED
from clinometer.runs.findings.cautions import cautions
from clinometer.runs.findings.factors import factor_notes
from clinometer.runs.findings.of_run import HEADLINES
from clinometer.runs.protocol import protocol_sentences
from clinometer.runs.run import Run

_MOST_FINDINGS = 3
"""Findings under the table, after the headline above it."""

_ALWAYS = (*HEADLINES, "judge", "factors", "placebo")
"""Findings that are always told: what was asked for, and what was read by a judge."""

_UNREAD_REPLIES = {
    "replies_refusals": "were refusals",
    "replies_other": "something else",
    "replies_empty": "empty",
}
"""Counts of replies that are no category, and how a sentence goes on after the number."""


def is_reference(run: Run) -> bool:
    """Return whether the model is one of known preferences, of which nothing can be found."""
    return run.record.model.kind == "reference"


def notes(run: Run) -> list[str]:
    """Return what stands under the table of a run. The rest is in run.json.

    At most three findings after the headline, then what a reader of the numbers must know besides.
    """
    record = run.record
    lines = []
    if not is_reference(run):
        lines += _findings(run)
    if record.factors is not None:
        lines += factor_notes(record.factors, clusters=record.settings.clusters)
    lines += cautions(run)
    if record.protocol is not None:
        lines += protocol_sentences(record.protocol)
    lines += record.model.notes
    lines += _bounds_note(run)
    lines += _replies_note(run)
    lines += _usage_note(run)
    lines += _left_out_note(run)
    lines += _import_notes(run)
    return lines


def _findings(run: Run) -> list[str]:
    """Return the findings to tell, those that are always told first.

    Not what groups share, which the table has, nor the size of R, unless R counts something else
    than the paper's or has no interval.
    """
    sizes = _too_few_contexts(run)
    if not sizes and (run.outcome.risk_words or run.risks.R.note):
        sizes = [finding.text for finding in run.findings if finding.kind == "size"]
    always = []
    others = []
    for finding in run.findings[1:]:
        if finding.kind in _ALWAYS:
            always.append(finding.text)
        elif finding.kind not in ("size", "shared"):
            others.append(finding.text)
    places = max(_MOST_FINDINGS - len(sizes) - len(always), 0)
    return always + others[:places] + sizes


def _too_few_contexts(run: Run) -> list[str]:
    """Say plainly that the contexts are too few to measure with."""
    record = run.record
    n_eff = run.risks.n_eff
    if n_eff >= FEWEST or record.topic.readout or record.imported:
        return []
    more = "a larger set"
    if record.contexts.n_eff >= FEWEST:
        more = "more of them (--max-contexts)"
    elif f"wikipedia-{family(record.topic.name)}" in builtin_contexts():
        more = "a larger set, such as --contexts wikipedia"
    return [
        f"{record.contexts.name}: too small to measure with: these contexts are worth {n_eff:.0f} "
        f"even ones, and {FEWEST} are needed for intervals that can be relied on; take {more}."
    ]


def _bounds_note(run: Run) -> list[str]:
    bounds = run.record.bounds
    if bounds is None:
        return []
    return [
        "Rare words are only bounded; no preference is wider than "
        f"{bounds.widest_cell:.3f}, on average {bounds.mean_cell:.3f}."
    ]


def _replies_note(run: Run) -> list[str]:
    """Say how many replies are no category, where some are not."""
    counts = run.record.replies
    if not counts:
        return []
    unread = []
    for name, words in _UNREAD_REPLIES.items():
        if counts.get(name):
            unread.append(f"{counts[name]:,} {words}")
    if not unread:
        return []
    read = "were one of the categories"
    if run.record.topic.readout is None:
        read = "began with a listed word"
    parts = ", ".join([f"{counts['replies_words']:,} {read}", *unread])
    return [f"Of {counts['replies']:,} replies {parts}."]


def _usage_note(run: Run) -> list[str]:
    """Say what a server was asked for, and what was paid."""
    usage = run.record.usage
    notes = []
    if "requests" in usage:
        cost = run.record.cost
        paid = "" if cost is None else cost.paid_sentence
        notes.append(f"{_requests_and_tokens(usage)}{paid}.")
    if JUDGED + "requests" in usage:
        notes.append(f"The judge: {_requests_and_tokens(usage, JUDGED)}.")
    return notes


def _requests_and_tokens(usage: Mapping[str, int], prefix: str = "") -> str:
    """Return requests, retries of them, and tokens, in words."""
    parts = [f"{usage[prefix + 'requests']:,} requests"]
    retried = usage.get(prefix + "retried")
    if retried:
        parts.append(f"{retried:,} of them failed and were repeated")
    tokens = usage.get(prefix + "tokens")
    if tokens:
        parts.append(f"{tokens:,} tokens")
    return ", ".join(parts)


def _left_out_note(run: Run) -> list[str]:
    parts = run.record.model.request.get("left_out")
    if not parts:
        return []
    return [f"Refused by the server and left out: {', '.join(parts)}."]


def _import_notes(run: Run) -> list[str]:
    """Say what was read of another tool."""
    source = run.record.imported
    if source is None:
        return []
    task = source.task or source.file
    tool = f"{source.tool} {source.version}".rstrip()
    line = f"{source.samples:,} samples ({tool}) of {task}."
    if tool == "replies":
        line = f"{source.samples:,} replies of {task}."
    left_out = [f"Left out: {n} {why}." for why, n in source.left_out.items()]
    return [line, *left_out]
