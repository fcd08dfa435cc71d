"""The viewer: from the list of runs to the words behind a number, page by page.

Pages are made on the server; every state is in the address, so a link leads back to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from clinometer import __version__
from clinometer.errors import ClinometerError
from clinometer.report import run_tables
from clinometer.report.derived import Reading
from clinometer.report.figure import Figure
from clinometer.report.figures import comparison, single_run
from clinometer.report.page import render_report
from clinometer.report.sentences import headline, sentences
from clinometer.runs import Run
from clinometer.runs import compare as compare_runs
from clinometer.runs.folder.recover import Opened
from clinometer.web.app import (
    FastAPI,
    HTMLResponse,
    HTTPException,
    JSONResponse,
    Pages,
    Query,
    Response,
    add_static,
    new_app,
)
from clinometer.web.cells import cell_page, context_rows, group_rows
from clinometer.web.listing import filtered, run_rows, sorted_rows
from clinometer.web.runs_index import RunsIndex

Names = Annotated[tuple[str, ...], Query()]
NONE: tuple[str, ...] = ()

_RUN_FIGURES: dict[str, Callable[[Reading, str], Figure | None]] = {
    "risks": lambda r, name: comparison.risks_figure([r.run], [name]),
    "leaning": lambda r, name: comparison.leaning_figure([r], [name]),
    "heat": lambda r, name: single_run.heat_figure(r),
    "shapes": lambda r, name: single_run.shapes_figure(r.run),
    "convergence": lambda r, name: single_run.convergence_figure(r),
    "coverage": lambda r, name: single_run.coverage_figure(r),
}


def viewer(root: Path, *, host: str = "127.0.0.1", token: str | None = None) -> FastAPI:
    """The application over the runs under `root`."""
    index = RunsIndex(root)
    app = new_app(title="Clinometer", host=host, token=token)
    pages = Pages("clinometer.web", version=__version__, root=index.root.name)
    pages.add_errors(app, "error.html")
    add_static(app, "clinometer.web", {"viewer.js": "text/javascript", "viewer.css": "text/css"})
    drawn = _Drawings(index, pages)
    pages.compile()
    index.entries()  # read once before anybody waits for it

    @app.get("/")
    def runs(q: str = "", topic: str = "", state: str = "", sort: str = "") -> HTMLResponse:
        entries = index.entries()
        rows = sorted_rows(run_rows(filtered(entries, q=q, topic=topic, state=state)), sort)
        return pages(
            "runs.html",
            rows=rows,
            total=len(entries),
            topics=sorted({e.topic for e in entries if e.topic}),
            states=sorted({e.state for e in entries}),
            q=q,
            topic=topic,
            state=state,
            sort=sort,
            live=index.version(),
        )

    @app.get("/run")
    def run(id: str, q: str = "", leaning: str = "", sort: str = "-r") -> HTMLResponse:
        opened = _open(index, id)
        rows: list[dict[str, Any]] = []
        if opened.run is not None:
            rows = [
                row
                for row in opened.run.risks.groups_table()
                if q.lower() in row["group"].lower()
                and leaning in ("", row["leaning"] or "neither")
            ]
            rows = sorted_rows(rows, sort)
        return pages(
            "run.html",
            opened=opened,
            run=opened.run,
            id=id,
            title=headline([opened.name], [opened.run]) if opened.run else opened.name,
            sentences=sentences(opened.name, opened.run) if opened.run else [],
            rows=rows,
            stored=[] if opened.groups is None else opened.groups.to_dict("records"),
            leanings=sorted({x or "neither" for x in opened.run.risks.leaning})
            if opened.run
            else [],
            drawings=list(_RUN_FIGURES) if opened.run else [],
            settings=run_tables.settings_table(opened.content),
            flags=run_tables.flags_table(opened.run) if opened.run else None,
            q=q,
            leaning=leaning,
            sort=sort,
            live=index.version(id),
        )

    @app.get("/group")
    def group(id: str, group: str, q: str = "", sort: str = "-strength") -> HTMLResponse:
        opened, found = _whole(index, id)
        x = _place(group, found.preferences.groups, "group")
        rows = [r for r in group_rows(Reading(found), x) if q.lower() in r["sentence"].lower()]
        return pages(
            "group.html",
            opened=opened,
            run=found,
            id=id,
            group=group,
            row=found.risks.groups_table()[x],
            rows=sorted_rows(rows, sort),
            q=q,
            sort=sort,
            live=index.version(id),
        )

    @app.get("/context")
    def context(id: str, context: str, q: str = "", sort: str = "-strength") -> HTMLResponse:
        opened, found = _whole(index, id)
        c = _place(context, found.preferences.contexts, "context")
        rows = [r for r in context_rows(Reading(found), c) if q.lower() in r["group"].lower()]
        return pages(
            "context.html",
            opened=opened,
            run=found,
            id=id,
            context=context,
            template=(found.preferences.templates or found.preferences.contexts)[c],
            rows=sorted_rows(rows, sort),
            q=q,
            sort=sort,
            live=index.version(id),
        )

    @app.get("/cell")
    def cell(id: str, group: str, context: str) -> HTMLResponse:
        opened, found = _whole(index, id)
        x = _place(group, found.preferences.groups, "group")
        c = _place(context, found.preferences.contexts, "context")
        return pages(
            "cell.html",
            opened=opened,
            run=found,
            id=id,
            group=group,
            context=context,
            cell=cell_page(found, x, c),
            live=index.version(id),
        )

    @app.get("/compare")
    def compare(run: Names = NONE) -> HTMLResponse:
        names = list(dict.fromkeys(run))
        if not 2 <= len(names) <= 6:
            raise HTTPException(400, f"Compare two to six runs; {len(names)} were chosen.")
        found = [_whole(index, name)[1] for name in names]
        problem, shown = "", []
        try:
            shown = run_tables.comparison_tables(compare_runs(*found, align="common"))
        except ClinometerError as error:
            problem = str(error)
        return pages("compare.html", ids=names, runs=found, problem=problem, tables=shown, live="")

    @app.get("/figure")
    def figure(
        name: str, id: str = "", group: str = "", width: str = "wide", run: Names = NONE
    ) -> Response:
        html = drawn(name, id=id, group=group, runs=tuple(run), narrow=width == "narrow")
        return HTMLResponse(html)

    @app.get("/report")
    def report(id: str) -> Response:
        opened = _open(index, id)
        if not opened.showable:
            raise HTTPException(404, opened.notice)
        page = render_report([opened.run if opened.run is not None else index.resolve(id)])
        # The page brings its own, stricter policy; ours would stop its inline script.
        return HTMLResponse(page, headers={"Content-Security-Policy": "sandbox allow-scripts"})

    @app.get("/version")
    def version(id: str = "") -> JSONResponse:
        try:
            return JSONResponse({"version": index.version(id or None)})
        except KeyError:
            raise HTTPException(404) from None

    return app


class _Drawings:
    """Figures as pieces of a page, drawn once for each state of their runs."""

    def __init__(self, index: RunsIndex, pages: Pages) -> None:
        self._index = index
        self._pages = pages
        self._kept: dict[tuple[Any, ...], str] = {}

    def __call__(
        self, name: str, *, id: str, group: str, runs: tuple[str, ...], narrow: bool
    ) -> str:
        names = runs or (id,)
        try:
            state = tuple(self._index.version(n) for n in names)
        except KeyError:
            raise HTTPException(404, "There is no such run.") from None
        key = (name, names, group, narrow, state)
        if key not in self._kept:
            if len(self._kept) > 400:
                self._kept.clear()
            self._kept[key] = self._draw(name, names, group, narrow)
        return self._kept[key]

    def _draw(self, name: str, names: tuple[str, ...], group: str, narrow: bool) -> str:
        found = [_whole(self._index, n) for n in names]
        figure = _figure(name, found, group)
        if figure is None:
            raise HTTPException(404, "There is nothing to draw.")
        drawing = figure.inline_one("narrow" if narrow else "wide")
        return bytes(self._pages("figure.html", figure=figure, drawing=drawing).body).decode()


def _figure(name: str, found: list[tuple[Opened, Run]], group: str) -> Figure | None:
    runs, labels = [r for _, r in found], [o.name for o, _ in found]
    if len(set(labels)) < len(labels):
        labels = [f"{o.name} ({o.path.name})" for o, _ in found]
    first = Reading(runs[0])
    if name == "distribution":
        _place(group, runs[0].preferences.groups, "group")
        return single_run.distribution_figure(first, groups=[group])
    several: dict[str, Callable[[], Figure | None]] = {
        "compare-risks": partial(comparison.risks_figure, runs, labels),
        "compare-plane": partial(comparison.plane_figure, runs, labels),
        "compare-differences": lambda: comparison.differences_figure(
            compare_runs(*runs, align="common")
        ),
    }
    try:
        if name in several:
            return several[name]()
        if name in _RUN_FIGURES:
            return _RUN_FIGURES[name](first, labels[0])
    except ClinometerError as error:
        raise HTTPException(400, str(error)) from error
    raise HTTPException(404, "There is no such figure.")


def _open(index: RunsIndex, name: str) -> Opened:
    try:
        return index.open(name)
    except KeyError:
        raise HTTPException(404, "There is no such run under this folder.") from None


def _whole(index: RunsIndex, name: str) -> tuple[Opened, Run]:
    opened = _open(index, name)
    if opened.run is None:
        raise HTTPException(404, opened.notice)
    return opened, opened.run


def _place(label: str, labels: tuple[str, ...], what: str) -> int:
    try:
        return labels.index(label)
    except ValueError:
        raise HTTPException(404, f"The run has no such {what}.") from None
