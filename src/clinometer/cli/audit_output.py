"""The output of clinometer audit: a table with notes, or one JSON object."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.cli.printing import print_risks, sentence
from clinometer.contexts import builtin_contexts
from clinometer.contexts.load import FEWEST, family
from clinometer.errors import ClinometerError, Unmeasurable
from clinometer.runs.answers import answered_groups
from clinometer.runs.findings import HEADLINES, cautions
from clinometer.runs.nouns import label
from clinometer.runs.protocol import protocol_sentences
from clinometer.runs.sentences import factor_notes, in_words

if TYPE_CHECKING:
    from clinometer.runs import Run

#: Findings under the table, after the headline above it.
_MOST_FINDINGS = 3
#: Findings that are always said: what was asked for, and what was read by a judge.
_ALWAYS = (*HEADLINES, "judge", "factors", "placebo")


def print_runs(runs: list[Run]) -> None:
    """What was found, the risks of all runs in one table, and notes on each."""
    topic = runs[0].record.topic
    named = f"{topic.title or topic.name}: {topic.groups} groups"
    title = f"{named}, contexts {runs[0].record.contexts.name}; {_population(runs)}"
    table = [(label(run.model), run.risks) for run in runs]
    bounds = {label(run.model): run.record.bounds for run in runs if run.record.bounds}
    floors = {label(run.model): run.record.floor for run in runs}
    for run in runs:
        if run.record.model.kind != "reference":
            sentence(run.findings[0].text)
    print_risks(table, title=title, bounds=bounds, floors=floors)
    for run in runs:
        lines = notes(run)
        if len(runs) > 1 and lines:
            sentence(label(run.model), style="bold")
        for line in lines:
            sentence(line, indent="  " if len(runs) > 1 else "")


def _population(runs: list[Run]) -> str:
    """What the intervals of the table speak of; reference models have none."""
    shown = [run for run in runs if run.risks.R.level is not None] or runs
    return in_words(shown[0].risks.R, shown[0].record.settings.population)


def notes(run: Run) -> list[str]:
    """What stands under the table: at most three findings after the headline, then what a reader
    of the numbers must know besides. The rest is in run.json."""
    record = run.record
    lines = []
    if record.model.kind != "reference":
        lines = _said(run)
    if record.factors is not None:
        lines += factor_notes(record.factors, clusters=record.settings.clusters)
    lines += cautions(run)
    if record.protocol is not None:
        lines += protocol_sentences(record.protocol)
    return lines + _server_notes(run) + _import_notes(run)


def _said(run: Run) -> list[str]:
    """Not what groups share, which the table has, nor the size of R, unless R counts something
    else than the paper's or has no interval."""
    size = [one.text for one in run.findings if one.kind == "size"]
    said = run.risks.criterion.name == "ratio" and not run.risks.R.note
    sure = _size_note(run) or ([] if said else size)
    others = [one for one in run.findings[1:] if one.kind not in ("size", "shared")]
    others.sort(key=lambda one: one.kind not in _ALWAYS)
    always = sum(one.kind in _ALWAYS for one in others)
    return [one.text for one in others[: max(_MOST_FINDINGS - len(sure), always)]] + sure


def _server_notes(run: Run) -> list[str]:
    """How the model was scored, if that is not obvious."""
    record = run.record
    lines = list(record.model.notes)
    if record.bounds is not None:
        lines.append(
            "Rare words are only bounded; no preference is wider than "
            f"{record.bounds.widest_cell:.3f}, on average {record.bounds.mean_cell:.3f}."
        )
    if n := record.replies:
        kinds = {"refusals": "were refusals", "other": "something else", "empty": "empty"}
        rest = [
            f"{n[key]:,} {what}" for name, what in kinds.items() if n.get(key := f"replies_{name}")
        ]
        if rest:
            words = f"{n['replies_words']:,} {_read(run)}"
            lines.append(f"Of {n['replies']:,} replies {', '.join([words, *rest])}.")
    if usage := record.usage:
        again = usage.get("retried")
        used = [f"{usage['requests']:,} requests"]
        used += [f"{again:,} of them failed and were repeated"] if again else []
        used += [f"{usage['tokens']:,} tokens"] if usage["tokens"] else []
        paid = "" if record.cost is None else record.cost.paid_sentence
        lines.append(f"{', '.join(used)}{paid}.")
    if refused := record.model.request.get("left_out"):
        lines.append(f"Refused by the server and left out: {', '.join(refused)}.")
    return lines


def _import_notes(run: Run) -> list[str]:
    """What was read of another tool."""
    source = run.record.imported
    if source is None:
        return []
    used = f"{source.tool} {source.version}".rstrip()
    what, by = ("replies", "") if used == "replies" else ("samples", f" ({used})")
    lines = [f"{source.samples:,} {what} of {source.task or source.file}{by}."]
    return [*lines, *(f"Left out: {n} {why}." for why, n in source.left_out.items())]


def _read(run: Run) -> str:
    if run.record.topic.readout is None:
        return "began with a listed word"
    return "were one of the categories"


def _size_note(run: Run) -> list[str]:
    """Say plainly that the contexts are too few to measure with."""
    record, n_eff = run.record, run.risks.n_eff
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


def where_next(folders: list[Path]) -> str:
    """The last line: where the results are, and what to do next.

    >>> print(where_next([Path("runs/a")]))
    Kept in runs/a. Next: clinometer report runs/a --out report.html, or clinometer view runs
    """
    place = shlex.quote(str(folders[0] if len(folders) == 1 else folders[0].parent))
    page = shlex.join(["clinometer", "report", *map(str, folders), "--out", "report.html"])
    view = shlex.join(["clinometer", "view", str(folders[0].parent)])
    return f"Kept in {place}. Next: {page}, or {view}"


def as_json(runs: list[Run], failed: list[tuple[str, ClinometerError]]) -> dict[str, Any]:
    """One object, always of the same shape: the runs and the failures."""
    return {
        "runs": [_one_json(run) for run in runs],
        "failed": [
            {"model": model, "error": str(error)}
            for model, error in failed
            if not isinstance(error, Unmeasurable)
        ],
        "unmeasurable": [
            {"model": model, "error": str(error), "other": error.other}
            for model, error in failed
            if isinstance(error, Unmeasurable)
        ],
    }


def _one_json(run: Run) -> dict[str, Any]:
    content = run.record.to_dict()
    stated = (
        "summary",
        "criterion",
        "floor",
        "factors",
        "calibration",
        "other",
        "protocol",
        "imported",
        "corrected",
        "counts",
        "bounds",
        "replies",
        "usage",
    )
    return {
        "model": run.model,
        "path": None if run.path is None else str(run.path),
        "population": run.record.settings.population,
        "n_contexts": run.risks.n_contexts,
        "n_eff": run.risks.n_eff,
        "findings": [one.to_dict() for one in run.findings],
        "preference_bound": run.record.preference_bound,
        "risk_bound": run.record.risk_bound,
        **{name: content[name] for name in stated if name in content},
        "groups": answered_groups(run),
        "leans": [lean.to_dict() for lean in run.leans],
    }
