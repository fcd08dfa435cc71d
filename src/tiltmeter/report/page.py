"""One HTML page about one or several runs: no script, no request, everything escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jinja2

from tiltmeter.atomic import replacing
from tiltmeter.errors import RunError
from tiltmeter.measure import reference_risks
from tiltmeter.runs import Run

_REFERENCES = (
    ("Ideally unbiased", "unbiased"),
    ("Stereotyped", "stereotyped"),
    ("Randomly stereotyped", "random"),
)


def write_report(runs: Sequence[Run], out: Path) -> None:
    """Write the page; it appears whole or not at all."""
    page = render_report(runs)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"{out}: cannot be written: {error.strerror}") from error
    with replacing(out, error=RunError) as beside:
        beside.write_text(page, encoding="utf-8")


def render_report(runs: Sequence[Run]) -> str:
    """The page as text."""
    if not runs:
        raise RunError("report: expected at least one run, found none")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tiltmeter", "report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        runs=[_view(run) for run in runs],
        references=_references(runs[0]),
        made=datetime.now(UTC).strftime("%d %B %Y"),
    )


def _references(run: Run) -> list[dict[str, Any]]:
    given = run.record["topic"]["reference"]
    known = len(run.preferences.categories) if given is None else given
    rows = []
    for label, name in _REFERENCES:
        risks = reference_risks(name, categories=known)  # type: ignore[arg-type]
        rows.append({"name": label, **risks._asdict()})
    return rows


def _view(run: Run) -> dict[str, Any]:
    """What the page shows of a run, as plain values."""
    groups = [row for row in run.report.groups_table() if row["r"] is not None]
    groups.sort(key=lambda row: -row["r"])
    summary = {k: v["value"] for k, v in run.record["summary"].items()}
    return {
        "name": run.model,
        "record": run.record,
        "groups": groups,
        "contexts": sorted(
            zip(run.preferences.templates, run.preferences.context_weights, strict=True),
            key=lambda pair: -pair[1],
        )[:20],
        "leaning": _leaning_counts(groups),
        "n_contexts": run.report.n_contexts,
        "n_eff": run.report.n_eff,
        **summary,
    }


def _leaning_counts(groups: list[dict[str, Any]]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for row in groups:
        name = row["leaning"] or "neither"
        counts[name] = counts.get(name, 0) + 1
    return sorted(counts.items(), key=lambda pair: -pair[1])
