"""One HTML page about one or several runs: a single file, no request, everything escaped."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import numpy as np

from clinometer import __version__
from clinometer.display.notebook import visible
from clinometer.display.numbers import show
from clinometer.display.table import Table
from clinometer.errors import ClinometerError
from clinometer.report import run_tables
from clinometer.report.charts.style.theme import PALETTE, brief
from clinometer.report.derived import Reading
from clinometer.report.export import write_files
from clinometer.report.figure import Figure
from clinometer.report.figures import comparison, single_run
from clinometer.report.sentences import NOT_SAID, SAID, headline, sentences
from clinometer.runs import Run, compare
from clinometer.runs.folder.recover import Opened, open_runs, require_some

#: A run, its folder, or a folder as `open_run` found it.
Source = Run | Opened | str | Path

#: Runs that a page compares pair by pair; more pairs than this are a table nobody reads.
_MOST_COMPARED = 5


@dataclass(frozen=True)
class Extra:
    """A part that somebody else adds to a report, such as a study of the same runs."""

    title: str
    text: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, eq=False)
class Section:
    """What the page shows of one run."""

    key: str
    name: str
    run: Run | None
    notice: str = ""
    sentences: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    cells: Table | None = None
    telling: tuple[Table, ...] = ()
    tables: tuple[Table, ...] = field(default=())


def write_report(
    runs: Sequence[Source], out: Path, *, extras: Sequence[Extra] = ()
) -> list[Opened]:
    """Write the page; it appears whole or not at all. Returns the runs as they were opened."""
    opened = _opened(runs)
    write_files({out: _render(opened, extras).encode("utf-8")})
    return opened


def render_report(runs: Sequence[Source], *, extras: Sequence[Extra] = ()) -> str:
    """The page as text, of runs or of their folders."""
    return _render(_opened(runs), extras)


def report_figures(opened: Sequence[Opened]) -> list[Figure]:
    """Every figure of a page, with keys of their own: what --format svg and png write."""
    sections = [_section(one, i) for i, one in enumerate(opened)]
    found = list(_overview(opened))
    compared = _comparison(opened)
    found += compared["figures"] if compared else []
    named = [(s.key + "-" if len(sections) > 1 else "", f) for s in sections for f in s.figures]
    return found + [_with_key(f, prefix + f.key) for prefix, f in named]


def report_tables(opened: Sequence[Opened]) -> list[Table]:
    """Every table of a page, with keys of their own: what --format csv, md and tex write."""
    found = [run_tables.risks_table(opened)]
    compared = _comparison(opened)
    found += compared["tables"] if compared else []
    for i, one in enumerate(opened):
        prefix = f"{_key(i, one)}-" if len(opened) > 1 else ""
        for table in _tables(one):
            title = f"{table.title}: {one.name}" if len(opened) > 1 else table.title
            found.append(replace(table, key=prefix + table.key, title=title))
    return found


def environment(*loaders: jinja2.BaseLoader) -> jinja2.Environment:
    """Templates of the report, with the filters that make text of others safe to show."""
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [*loaders, jinja2.PackageLoader("clinometer.report", "templates")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(visible=visible, brief=brief, show=show)
    return made


@cache
def stylesheet() -> str:
    """The style of pages, with the palette in light, dark and print."""
    light = "".join(f"--{name}:{colours[0]};" for name, colours in PALETTE.items())
    dark = "".join(f"--{name}:{colours[1]};" for name, colours in PALETTE.items())
    css = (resources.files("clinometer.report") / "assets" / "page.css").read_text("utf-8")
    return (
        f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{css}"
    )


@cache
def script() -> str:
    return (resources.files("clinometer.report") / "assets" / "page.js").read_text("utf-8")


def _opened(runs: Sequence[Source]) -> list[Opened]:
    opened = open_runs(
        [
            Opened(r.path or Path(), r.model, "finished", run=r, content=r.record.to_dict())
            if isinstance(r, Run)
            else r
            for r in runs
        ]
    )
    require_some(opened)
    return opened


def _render(opened: Sequence[Opened], extras: Sequence[Extra]) -> str:
    whole = [(one.name, one.run) for one in opened if one.run is not None]
    title = (
        headline([n for n, _ in whole], [r for _, r in whole])
        if whole
        else f"What is left of {', '.join(brief(one.name, 40) for one in opened)}"
    )
    digest = base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()
    return (
        environment()
        .get_template("report.html")
        .render(
            title=title,
            topic=_topic(opened),
            made=datetime.now(UTC).strftime("%-d %B %Y"),
            version=__version__,
            css=stylesheet(),
            js=script(),
            script_hash=f"sha256-{digest}",
            notices=[one.notice for one in opened if one.notice],
            sections=[_section(one, i) for i, one in enumerate(opened)],
            overview=_overview(opened),
            risks=run_tables.risks_table(opened),
            comparison=_comparison(opened),
            extras=extras,
            said=SAID,
            not_said=NOT_SAID,
        )
    )


def _topic(opened: Sequence[Opened]) -> str:
    return " · ".join(dict.fromkeys(one.topic for one in opened if one.topic))


def _overview(opened: Sequence[Opened]) -> list[Figure]:
    groups = _same_categories(opened)
    found: list[Figure | None] = []
    for number, part in enumerate(groups):
        runs, names = [one.run for one in part if one.run], [one.name for one in part]
        some = [comparison.risks_figure(runs, names), comparison.intervals_figure(runs, names)]
        if len(runs) > 1:
            some.append(comparison.plane_figure(runs, names))
        some.append(comparison.leaning_figure([Reading(r) for r in runs], names))
        prefix = f"{number + 1}-" if len(groups) > 1 else ""
        found += [f if f is None else _with_key(f, prefix + f.key) for f in some]
    return [f for f in found if f is not None]


def _same_categories(opened: Sequence[Opened]) -> list[list[Opened]]:
    """Runs that can stand on one axis, together."""
    parts: dict[tuple[Any, ...], list[Opened]] = {}
    for one in opened:
        if one.run is not None:
            kind = (one.run.risks.categories, one.run.risks.normalized)
            parts.setdefault(kind, []).append(one)
    return list(parts.values())


def _comparison(opened: Sequence[Opened]) -> dict[str, Any] | None:
    runs = [one.run for one in opened if one.run is not None and one.state == "finished"]
    if not 2 <= len(runs) <= _MOST_COMPARED:
        return None
    try:
        found = compare(*runs)
    except ClinometerError:
        return None  # another topic or other contexts: the runs stand side by side, unpaired
    return {
        "figures": [comparison.differences_figure(found)],
        "tables": run_tables.comparison_tables(found),
    }


def _section(one: Opened, number: int) -> Section:
    key = _key(number, one)
    if one.run is None:
        return Section(key, one.name, None, one.notice, tables=tuple(_tables(one)))
    run, reading = one.run, Reading(one.run)
    drawn = [
        single_run.groups_figure(run),
        single_run.heat_figure(reading),
        single_run.distribution_figure(reading, groups=_outermost(run)),
        single_run.shapes_figure(run),
        single_run.convergence_figure(reading),
        single_run.coverage_figure(reading),
    ]
    rest = {t.key: t for t in _tables(one, reading)}
    cells = rest.pop("cells")
    telling = [rest.pop(k) for k in list(rest) if k.startswith("contexts-")]
    return Section(
        key,
        one.name,
        run,
        one.notice,
        sentences=tuple(sentences(one.name, run)),
        figures=tuple(f for f in drawn if f is not None),
        cells=cells if len(cells.frame) else None,
        telling=tuple(telling),
        tables=tuple(t for t in rest.values() if len(t.frame)),
    )


def _tables(one: Opened, reading: Reading | None = None) -> list[Table]:
    if one.run is None:
        stored = [] if one.groups is None else [Table("groups", "Groups, as stored", one.groups)]
        return [*stored, *([run_tables.settings_table(one.content)] if one.content else [])]
    reading = reading or Reading(one.run)
    return [
        run_tables.cells_table(reading),
        *run_tables.telling_tables(reading),
        run_tables.groups_table(one.run),
        run_tables.contexts_table(reading),
        run_tables.flags_table(one.run),
        run_tables.settings_table(one.run.record.to_dict()),
    ]


def _outermost(run: Run) -> list[str]:
    """The groups that lean furthest each way, to set against all of them."""
    mean = run.risks.mean_stereotype[:, 0]
    seen = np.flatnonzero(~np.isnan(mean))
    if seen.size < 3:
        return [run.risks.groups[i] for i in seen[:1]] if seen.size == 1 else []
    order = seen[np.argsort(mean[seen], kind="stable")]
    return [run.risks.groups[order[-1]], run.risks.groups[order[0]]]


def _key(number: int, one: Opened) -> str:
    plain = "".join(c if c.isascii() and c.isalnum() else "-" for c in one.name.lower())
    return f"run{number + 1}-{plain.strip('-')[:40] or 'model'}"


def _with_key(figure: Figure, key: str) -> Figure:
    return replace(figure, key=key)
