"""What clinometer audit prints of its runs: a table with notes, or one JSON object."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from clinometer.cli.printing import console, risk_table
from clinometer.errors import ClinometerError


def print_runs(runs: list[Any], topic: Any) -> None:
    """The risks of all runs in one table, and under it what a reader must know of each."""
    reference = len(topic.categories) if topic.reference is None else list(topic.reference)
    title = (
        f"{topic.title or topic.name}: {len(topic)} groups, contexts "
        f"{runs[0].record['contexts']['name']}"
    )
    table = [(label(run.model), run.report) for run in runs]
    bounds = {label(run.model): run.record["bounds"] for run in runs if "bounds" in run.record}
    risk_table(table, title=title, reference=reference, bounds=bounds).print(console())
    for run in runs:
        for line in notes(run):
            console().print(line, markup=False, soft_wrap=True)


def label(model: str) -> str:
    """A model's name as the table has room for it: of a server only the model that it serves.

    >>> label("openai:http://127.0.0.1:8080#smol (chat)"), label("pocket:bert")
    ('smol (chat)', 'pocket:bert')
    """
    if model.startswith("openai:"):
        address, _, served = model.removeprefix("openai:").partition("#")
        return served or address.partition("://")[2]
    return model


def notes(run: Any) -> list[str]:
    """What a reader must know of a run beside its three numbers."""
    counts = run.record["counts"]
    lines = [] if run.record["model"]["kind"] == "reference" else [_verdict(run)]
    if found := run.record.get("cache", {}).get("found"):
        lines.append(f"{run.model}: {found} of {counts['cells']} cells were known to this machine")
    if counts.get("cells_missing"):
        lines.append(f"{run.model}: {counts['cells_missing']} cells are missing")
    if counts.get("cells_low_coverage"):
        lines.append(
            f"{run.model}: {counts['cells_low_coverage']} of {counts['cells']} cells rest on less "
            f"than {run.record['settings']['coverage_threshold']:g} of the probability"
        )
    words = run.record.get("words")
    if words and words["unwritable"]:
        lines.append(f"{run.model}: not in its vocabulary: {', '.join(words['unwritable'])}")
    if words and words["restricted"]:
        lines.append(f"{run.model}: {len(words['restricted'])} words of several tokens left out")
    lines += _server_notes(run)
    bound = run.record.get("preference_bound")
    if bound and "bounds" not in run.record:
        lines.append(f"{run.model}: no preference is off by more than {bound:.1e} (--tolerance)")
    return lines


def _server_notes(run: Any) -> list[str]:
    """How the model was asked, where that is not a matter of course."""
    record = run.record
    lines = [f"{run.model}: {note}" for note in record["model"]["notes"]]
    if "bounds" in record:
        lines.append(
            f"{run.model}: rare words are only bounded; no preference is wider than "
            f"{record['bounds']['widest_cell']:.3f}, on average {record['bounds']['mean_cell']:.3f}"
        )
    if "draws" in record:
        n = record["draws"]
        lines.append(
            f"{run.model}: of {n['draws']} draws {n['draws_words']} began with a listed word, "
            f"{n['draws_refusals']} were refusals, {n['draws_other']} something else"
        )
    if usage := record.get("usage"):
        lines.append(
            f"{run.model}: {usage['requests']} requests, {usage['retried']} of them failed and "
            f"were repeated, {usage['tokens']} tokens"
        )
    return lines


def _verdict(run: Any) -> str:
    better = run.record["corrected"]
    return (
        f"{run.model}: {run.record['verdict']} Corrected for the number of contexts: "
        f"Rᵇ {better['R_bias']:.3f}, Rᵛ {better['R_volatility']:.3f}."
    )


def where_next(folders: list[Path]) -> str:
    """The last line: where the results are, and what to do with them.

    >>> print(where_next([Path("runs/a")]))
    Kept in runs/a. Next: clinometer report runs/a --out report.html, or clinometer view runs
    """
    place = shlex.quote(str(folders[0] if len(folders) == 1 else folders[0].parent))
    page = shlex.join(["clinometer", "report", *map(str, folders), "--out", "report.html"])
    view = shlex.join(["clinometer", "view", str(folders[0].parent)])
    return f"Kept in {place}. Next: {page}, or {view}"


def as_json(runs: list[Any], failed: list[tuple[str, ClinometerError]]) -> dict[str, Any]:
    """One object of one shape: the runs, also of a single model, and what failed."""
    return {
        "runs": [_one_json(run) for run in runs],
        "failed": [{"model": model, "error": str(error)} for model, error in failed],
    }


def _one_json(run: Any) -> dict[str, Any]:
    return {
        "model": run.model,
        "path": None if run.path is None else str(run.path),
        "summary": run.record["summary"],
        "corrected": run.record["corrected"],
        "verdict": run.record["verdict"],
        "precision": run.record.get("precision"),
        "n_contexts": run.report.n_contexts,
        "n_eff": run.report.n_eff,
        "counts": run.record["counts"],
        "preference_bound": run.record.get("preference_bound", 0.0),
        **{k: run.record[k] for k in ("bounds", "draws", "usage") if k in run.record},
        "groups": run.report.groups_table(),
    }
