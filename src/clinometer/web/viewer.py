"""The viewer: the list of runs under a folder, and one page per run with every answer.

Pages come from the server; the explorer draws in the browser from the JSON of one run
(`report/page.py`). The address encodes what is shown, so it can be linked to.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from fastapi import FastAPI, Query
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from clinometer import __version__
from clinometer.errors import ClinometerError
from clinometer.report import tables
from clinometer.report.chips import chips
from clinometer.report.document import asset
from clinometer.report.evidence import lede, sentences
from clinometer.report.explorer import answer_words, explorer_data
from clinometer.report.page import render_report
from clinometer.report.reliability import reliability_story, render_reliability
from clinometer.report.summary import RunSummary
from clinometer.runs import Run
from clinometer.web.app import new_app
from clinometer.web.pages import Pages, add_static, link
from clinometer.web.runs_index import MOST_OPEN, READABLE, RUNNING, RunsIndex

MOST_REPORTED = 6
"""Runs that one report compares."""


def viewer(root: Path, *, host: str = "127.0.0.1", token: str | None = None) -> FastAPI:
    """Return the application over the runs under `root`."""
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
    _add_pages(app, pages, index)
    _add_data(app, index)
    return app


def _add_pages(app: FastAPI, pages: Pages, index: RunsIndex) -> None:
    """Add the list of runs, the page of a run, and reports."""

    @app.get("/")
    def runs() -> HTMLResponse:
        entries, version = index.snapshot()
        return pages("runs.html", rows=entries, readable=READABLE, live=version)

    @app.get("/run")
    def run(id: str) -> HTMLResponse:
        statements = index.reliability(id)
        if statements is not None:
            story = reliability_story(statements)
            live = index.version(id)
            return pages("reliability_run.html", story=story, name=id, id=id, live=live)
        summary = index.open(id)
        record = summary.opened.record
        return pages(
            "run.html",
            opened=summary.opened,
            id=id,
            running=index.entry(id).state == RUNNING,
            settings=record and tables.settings_table(record.to_dict()),
            live=index.version(id),
            **_results(summary),
        )

    @app.get("/report")
    def report(id: Annotated[list[str], Query()]) -> Response:
        """Return the page of a run, or of several audits, which are compared there."""
        names = list(dict.fromkeys(id))
        if len(names) > MOST_REPORTED:
            raise HTTPException(
                400, f"A report has at most six runs; {len(names)} were chosen."
            )
        statements = index.reliability(names[0]) if len(names) == 1 else None
        if statements is not None:
            page = render_reliability(statements)
        else:
            page = render_report([index.measured(name).whole for name in names])
        # The page has its own, stricter policy; ours would block its inline script.
        policy = "sandbox allow-scripts allow-downloads"
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})


def _results(summary: RunSummary) -> dict[str, Any]:
    """Return what the page of a run says of its results; of one that could not be read, nothing."""
    if summary.opened.run is None:
        return {
            "title": summary.opened.name,
            "lede": (),
            "chips": (),
            "sentences": [],
            "flags": None,
        }
    run = summary.run
    return {
        "title": summary.title,
        "lede": lede(run),
        "chips": chips(run),
        "sentences": sentences(run),
        "flags": tables.flags_table(run),
    }


def _add_data(app: FastAPI, index: RunsIndex) -> None:
    """Add the JSON that the scripts of pages ask for."""
    explorer = lru_cache(MOST_OPEN)(explorer_data)

    @app.get("/finding")
    def finding(id: str) -> JSONResponse:
        try:
            return JSONResponse({"text": index.finding(id)})
        except ClinometerError as error:
            return JSONResponse({"text": str(error).replace(str(index.root), "")})

    @app.get("/data")
    def data(id: str) -> Response:
        return Response(explorer(index.measured(id)), media_type="application/json")

    @app.get("/words")
    def words(id: str, x: int, c: int) -> JSONResponse:
        run = index.measured(id).whole
        _check_cell(run, x, c)
        return JSONResponse(answer_words(run, x, c))

    @app.get("/peers")
    def peers(id: str, x: int = -1, c: int = -1) -> JSONResponse:
        """Return the other runs of the same topic, in the order after this one; with x and c, the
        shares of the same sentence in each."""
        run = index.measured(id).run
        if x >= 0:
            _check_cell(run, x, c)
        rows = []
        for peer, name in peers_of(index, id, run):
            row = {"id": peer, "name": name, "href": link("/run", id=peer)}
            answer = {} if x < 0 else _answer(index.open(peer), run, x, c)
            rows.append(row | answer)
        return JSONResponse(rows)

    @app.get("/version")
    def version(id: str = "") -> JSONResponse:
        return JSONResponse({"version": index.version(id or None)})


def _check_cell(run: Run, x: int, c: int) -> None:
    """Refuse a group or a context that the run does not have."""
    groups, contexts = run.preferences.values.shape[:2]
    if not (0 <= x < groups and 0 <= c < contexts):
        raise HTTPException(404, "The run has no such answer.")


def peers_of(index: RunsIndex, name: str, run: Run) -> list[tuple[str, str]]:
    """Return (id, name) of the finished runs with the same topic, those after this one first; the
    name is the model, or the run where a model has several."""
    entries = [
        entry
        for entry in index.entries()
        if entry.topic_sha256 == run.record.topic.sha256 and entry.state in READABLE
    ]
    ids = [entry.id for entry in entries]
    runs_of = Counter(entry.model for entry in entries)
    if name in ids:
        position = ids.index(name)
        entries = [*entries[position + 1 :], *entries[:position]]
    return [
        (entry.id, entry.model if runs_of[entry.model] == 1 else entry.id)
        for entry in entries
    ]


def _answer(peer: RunSummary, run: Run, x: int, c: int) -> dict[str, Any]:
    """Return the shares of the same group and context in another run, as its page shows them; the
    reference of the second category there; and whether it was asked."""
    if peer.opened.run is None:
        return {"shares": None, "asked": False}
    preferences = run.preferences
    others = peer.run.preferences
    try:
        i = others.groups.index(preferences.groups[x])
        j = others.contexts.index(preferences.contexts[c])
    except ValueError:
        return {"shares": None, "asked": False}
    shares = others.values[i, j]
    if shares.shape != preferences.values[x, c].shape or np.isnan(shares).any():
        return {"shares": None, "asked": peer.opened.state == "finished"}
    reference = np.broadcast_to(others.grid.reference, others.values.shape)[i, j, 1]
    return {
        "shares": [float(share) for share in shares],
        "star": float(reference),
        "asked": True,
    }
