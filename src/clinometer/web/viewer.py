"""The viewer: the list of runs, and one page per run with every answer.

Pages come from the server; the explorer draws in the browser from the JSON of one run
(`report/explorer.py`). The address encodes what is shown, so it can be linked to.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from clinometer import __version__
from clinometer.errors import ClinometerError
from clinometer.reliability.run import ReliabilityRun
from clinometer.report import tables
from clinometer.report.document import asset
from clinometer.report.explorer import answer_words
from clinometer.report.page import render_report
from clinometer.report.reliability import is_reliability_run, reliability_story, render_reliability
from clinometer.report.sentences import lede, sentences
from clinometer.report.summary import chips
from clinometer.runs import Run
from clinometer.runs.compare import compared
from clinometer.runs.findings import Finding
from clinometer.web.app import Pages, add_static, link, new_app
from clinometer.web.runs_index import READABLE, RUNNING, Entry, OpenedRun, RunsIndex

Names = Annotated[tuple[str, ...], Query()]
NONE: tuple[str, ...] = ()


def viewer(root: Path, *, host: str = "127.0.0.1", token: str | None = None) -> FastAPI:
    """The application over the runs under `root`."""
    index = RunsIndex(root)
    app = new_app(host=host, token=token)
    pages = Pages("clinometer.web", version=__version__, root=index.root.name)
    pages.add_errors(app)
    add_static(
        app,
        "clinometer.web",
        ("viewer.js", "viewer.css"),
        {name: asset(name) for name in ("explorer.js", "explorer.css")},
    )
    pages.compile()
    index.entries()  # read once before the first request

    @app.get("/")
    def runs(q: str = "", topic: str = "", state: str = "", sort: str = "") -> HTMLResponse:
        entries, version = index.snapshot()
        rows = [asdict(e) for e in filtered(entries, q=q, topic=topic, state=state)]
        return pages(
            "runs.html",
            rows=sorted_rows(rows, sort),
            total=len(entries),
            topics=sorted({e.topic for e in entries if e.topic}),
            states=sorted({e.state for e in entries}),
            readable=READABLE,
            q=q,
            topic=topic,
            state=state,
            sort=sort,
            live=version,
        )

    @app.get("/run")
    def run(id: str) -> HTMLResponse:
        statements = _reliability(index, id)
        if statements is not None:
            story = reliability_story(statements)
            live = index.version(id)
            return pages("reliability_run.html", story=story, name=id, id=id, live=live)
        viewed = index.open(id)
        opened = viewed.loaded
        summary = None if opened.run is None else viewed.summary
        return pages(
            "run.html",
            opened=opened,
            id=id,
            title=summary.title if summary else opened.name,
            running=index.entry(id).state == RUNNING,
            lede=lede(summary.run) if summary else (),
            chips=chips(summary.run) if summary else (),
            sentences=sentences(summary.run) if summary else [],
            settings=None
            if opened.record is None
            else tables.settings_table(opened.record.to_dict()),
            flags=tables.flags_table(summary.run) if summary else None,
            live=index.version(id),
        )

    @app.get("/finding")
    def finding(id: str) -> JSONResponse:
        try:
            return JSONResponse({"text": index.finding(id)})
        except ClinometerError as error:
            return JSONResponse({"text": str(error).replace(str(index.root), "")})

    @app.get("/data")
    def data(id: str) -> Response:
        return Response(index.open(id).data, media_type="application/json")

    @app.get("/words")
    def words(id: str, x: int, c: int) -> JSONResponse:
        return JSONResponse(answer_words(*_cell(index.open(id).run, x, c)))

    @app.get("/peers")
    def peers(id: str, x: int = -1, c: int = -1) -> JSONResponse:
        """The other runs of the same topic, in the order after this one; with x and c, the shares
        of the same sentence in each."""
        run = index.open(id).run
        cell = None if x < 0 else _cell(run, x, c)
        return JSONResponse(
            [
                {
                    "id": other,
                    "name": model,
                    "href": link("/run", id=other),
                    **({} if cell is None else _answer(index.open(other), *cell)),
                }
                for other, model in _others(index, id, run)
            ]
        )

    @app.get("/compare")
    def compare(run: Names = NONE) -> HTMLResponse:
        names = list(dict.fromkeys(run))
        if not 2 <= len(names) <= 6:
            raise HTTPException(400, f"Compare two to six runs; {len(names)} were chosen.")
        runs = [index.open(name).run for name in names]
        problem, shown = "", []
        findings: tuple[Finding, ...] = ()
        try:
            both = compared(runs, align="common")
            shown, findings = tables.comparison_tables(both.comparison), both.findings
        except ClinometerError as error:
            problem = str(error)
        return pages(
            "compare.html",
            ids=names,
            runs=runs,
            problem=problem,
            findings=findings,
            tables=shown,
            live="",
        )

    @app.get("/report")
    def report(id: str) -> Response:
        statements = _reliability(index, id)
        if statements is not None:
            page = render_reliability(statements)
        else:
            opened = index.open(id).loaded
            if opened.run is None:
                raise HTTPException(404, opened.notice)
            page = render_report([opened.run])
        # The page has its own, stricter policy; ours would block its inline script.
        policy = "sandbox allow-scripts allow-downloads"
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    @app.get("/version")
    def version(id: str = "") -> JSONResponse:
        return JSONResponse({"version": index.version(id or None)})

    return app


def filtered(entries: Iterable[Entry], *, q: str, topic: str, state: str) -> list[Entry]:
    """Entries that contain every word of `q`, with this topic and state (empty: any)."""
    words = q.lower().split()
    return [
        e
        for e in entries
        if topic in ("", e.topic)
        and state in ("", e.state)
        and all(w in f"{e.id} {e.model} {e.topic} {e.contexts}".lower() for w in words)
    ]


def sorted_rows(rows: Sequence[dict[str, Any]], sort: str) -> list[dict[str, Any]]:
    """Sorted by a column, "-column" from the top; missing values last, unknown columns as is."""
    key = sort.removeprefix("-")
    if not key or not rows or key not in rows[0]:
        return list(rows)

    def rank(row: dict[str, Any]) -> Any:
        return row[key].lower() if isinstance(row[key], str) else row[key]

    present = [r for r in rows if r[key] is not None]
    missing = [r for r in rows if r[key] is None]
    return sorted(present, key=rank, reverse=sort.startswith("-")) + missing


def _others(index: RunsIndex, name: str, run: Run) -> list[tuple[str, str]]:
    """(id, model) of the finished runs with the same topic, those after this one first."""
    entries = [
        e
        for e in index.entries()
        if e.topic_sha256 == run.record.topic.sha256 and e.state in READABLE
    ]
    place = next((i for i, e in enumerate(entries) if e.id == name), -1)
    return [(e.id, e.model) for e in [*entries[place + 1 :], *entries[: max(place, 0)]]]


def _answer(opened: OpenedRun, run: Run, x: int, c: int) -> dict[str, Any]:
    """The shares of the same group and context in another run, and whether it was asked."""
    if opened.loaded.run is None:
        return {"shares": None, "asked": False}
    p, other = run.preferences, opened.run.preferences
    try:
        i, j = other.groups.index(p.groups[x]), other.contexts.index(p.contexts[c])
    except ValueError:
        return {"shares": None, "asked": False}
    values = other.values[i, j]
    if values.shape != p.values[x, c].shape or (values != values).any():
        return {"shares": None, "asked": opened.loaded.state == "finished"}
    return {"shares": [float(v) for v in values], "asked": True}


def _cell(run: Run, x: int, c: int) -> tuple[Run, int, int]:
    groups, contexts = run.preferences.values.shape[:2]
    if not (0 <= x < groups and 0 <= c < contexts):
        raise HTTPException(404, "The run has no such answer.")
    return run, x, c


def _reliability(index: RunsIndex, name: str) -> ReliabilityRun | None:
    """The reliability run of this name; None for an audit, 404 for what cannot be read."""
    path = index.resolve(name)
    if not is_reliability_run(path):
        return None
    try:
        return ReliabilityRun.load(path)
    except ClinometerError as error:
        raise HTTPException(404, str(error).replace(str(path), path.name)) from error
