"""The viewer: the list of runs under a folder, and one page per run with every answer.

Nothing outside the folder is read, and a run again only when its files have changed, so a page
costs one directory scan.

Pages come from the server; the explorer draws in the browser from the JSON of one run
(`report/page.py`). The address encodes what is shown, so it can be linked to.
"""

from __future__ import annotations

import hashlib
import html
import os
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar

import numpy as np
from fastapi import FastAPI, Query
from fastapi.responses import HTMLResponse, JSONResponse, Response
from starlette.exceptions import HTTPException

from clinometer import __version__
from clinometer.errors import ClinometerError, RunError
from clinometer.measure import Estimate
from clinometer.reliability.folder import ReliabilityFolder
from clinometer.reliability.run import ReliabilityRun
from clinometer.report import tables
from clinometer.report.cell_statistics import RunSummary
from clinometer.report.document import asset
from clinometer.report.page import (
    answer_words,
    chips,
    explorer_data,
    lede,
    render_report,
    sentences,
)
from clinometer.report.reliability import (
    is_reliability_run,
    reliability_story,
    render_reliability,
)
from clinometer.runs import Run, RunFolder
from clinometer.runs.folder.partial import progress
from clinometer.runs.folder.record import UNMEASURABLE
from clinometer.runs.folder.recover import open_run, run_folders
from clinometer.web.app import (
    Pages,
    add_static,
    link,
    listen,
    new_app,
    new_token,
    open_browser,
    server_of,
)

#: States of a run that is not finished: a process writes it, or none does.
RUNNING, INTERRUPTED = "running", "interrupted"
#: Runs with answers to show.
READABLE = ("finished", RUNNING, INTERRUPTED)
_JUST_NOW_S = 60.0
_KEPT = 6  # opened runs kept in memory
_TABLES = ("preferences", "groups", "contexts", *ReliabilityFolder.tables)
_MARKED = frozenset(
    ("run.json", ".lock", "scores", *(f"{name}.parquet" for name in _TABLES))
)

T = TypeVar("T")
Signature = tuple[tuple[str, int, int], ...]
Kept = dict[str, tuple[Signature, T]]


@dataclass(frozen=True)
class Entry:
    """One line of the list of runs, from run.json alone."""

    id: str
    model: str
    topic: str
    contexts: str
    state: str
    created: str
    n_contexts: int | None = None
    n_eff: float | None = None
    R: Estimate | None = None
    R_bias: Estimate | None = None
    R_volatility: Estimate | None = None
    done: int = 0
    total: int = 0
    topic_sha256: str = ""
    kind: str = "audit"
    cobias: Estimate | None = None


class RunsIndex:
    """Runs under a root by their path below it ("pocket/bert"; "." for the root itself)."""

    def __init__(self, root: Path) -> None:
        if not root.is_dir():
            raise RunError(f"{root}: no such folder")
        self.root = root.resolve()
        self._entries: Kept[Entry] = {}
        self._findings: Kept[str] = {}
        self._opened: Kept[RunSummary] = {}

    def entries(self) -> list[Entry]:
        """Every run, the newest first."""
        return self.snapshot()[0]

    def snapshot(self) -> tuple[list[Entry], str]:
        """Every run, the newest first, and the version of them all."""
        signed = self._signed()
        found = [
            _kept(
                self._entries, name, signature, partial(_entry, name, self._place(name))
            )
            for name, signature in signed
        ]
        found.sort(key=lambda e: (e.created, e.id), reverse=True)
        return found, _digest(signed)

    def entry(self, name: str) -> Entry:
        """One run as the list has it."""
        return _entry(name, self.resolve(name))

    def version(self, name: str | None = None) -> str:
        """Changes whenever a run (or any of them) has changed on disk."""
        if name is None:
            return _digest(self._signed())
        return _digest([(name, self._signature(self.resolve(name)))])

    def _signed(self) -> list[tuple[str, Signature]]:
        names = sorted(
            f.relative_to(self.root).as_posix() for f in run_folders(self.root)
        )
        return [(name, self._signature(self._place(name))) for name in names]

    def open(self, name: str) -> RunSummary:
        """The run of this name, opened again if it has changed."""
        path = self.resolve(name)
        found = _kept(
            self._opened,
            name,
            self._signature(path),
            lambda: RunSummary(open_run(path)),
        )
        for oldest in list(self._opened)[:-_KEPT]:
            self._opened.pop(oldest, None)
        return found

    def finding(self, name: str) -> str:
        """The headline of a run, or why there is none; kept until the run changes."""
        path = self.resolve(name)

        def headline() -> str:
            if is_reliability_run(path):
                return str(reliability_story(ReliabilityRun.load(path))["title"])
            opened = self.open(name)
            return opened.opened.notice if opened.opened.run is None else opened.title

        return _kept(self._findings, name, self._signature(path), headline)

    def resolve(self, name: str) -> Path:
        """The folder of a run; 404 for anything that is not one below the root, also by a link."""
        pure, path = PurePosixPath(name), self._place(name)
        foreign = (
            "\0" in name or "\\" in name or pure.is_absolute() or ".." in pure.parts
        )
        try:
            if name and not foreign and self._is_run(path):
                return path
        except (
            OSError,
            ValueError,
        ):  # the name is too long, or the folder not readable
            pass
        raise HTTPException(404, "There is no such run under this folder.")

    def _is_run(self, path: Path) -> bool:
        if not self._inside(path) or not (path / "run.json").is_file():
            return False
        files = [path / file for file in _MARKED]
        if (path / "scores").is_dir():
            files += (path / "scores").iterdir()
        return all(self._inside(file) for file in files)

    def _place(self, name: str) -> Path:
        return self.root if name == "." else self.root / name

    def _inside(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root)

    def _signature(self, path: Path) -> Signature:
        marks = []
        try:
            with os.scandir(path) as inside:
                for one in inside:
                    if one.name in _MARKED:
                        state = one.stat(follow_symlinks=False)
                        marks.append((one.name, state.st_mtime_ns, state.st_size))
        except OSError:  # gone, or just being written
            pass
        return tuple(sorted(marks))


def _kept(known: Kept[T], name: str, signature: Signature, make: Callable[[], T]) -> T:
    """What was made of a run, made again if its files have changed; the latest comes last."""
    found = known.pop(name, None)
    if found is None or found[0] != signature:
        found = (signature, make())
    known[name] = found
    return found[1]


def _digest(signed: list[tuple[str, Signature]]) -> str:
    return hashlib.sha256(repr(signed).encode()).hexdigest()[:16]


def _entry(name: str, path: Path) -> Entry:
    try:
        if is_reliability_run(path):
            return _reliability_entry(name, path)
        record = RunFolder(path).read_record()
        done, total = (0, 0) if record.finished else progress(RunFolder(path), record)
    except Exception:  # a bad run must not hide the others
        return Entry(name, name, "", "", "unreadable", "")
    risks = record.summary
    return Entry(
        id=name,
        model=record.model.id,
        topic=record.topic.title or record.topic.name,
        contexts=record.contexts.name,
        state="unmeasurable"
        if record.status == UNMEASURABLE
        else _state(path, record.finished),
        created=record.created,
        n_contexts=record.contexts.n,
        n_eff=record.contexts.n_eff if record.n_eff is None else record.n_eff,
        topic_sha256=record.topic.sha256,
        done=done,
        total=total,
        R=None if risks is None else risks.R,
        R_bias=None if risks is None else risks.R_bias,
        R_volatility=None if risks is None else risks.R_volatility,
    )


def _state(path: Path, finished: bool) -> str:
    """finished, running or interrupted. A reader must not take the lock of a writer, but can see
    who holds one; where that cannot be seen, a run that was written just now is running."""
    if finished:
        return "finished"
    try:
        lock = (path / ".lock").stat()
        places = [path, path / "run.json", path / "scores"]
        written = max(f.stat().st_mtime for f in places if f.exists())
    except OSError:  # without a lock it has ended
        return INTERRUPTED
    try:
        held = f":{lock.st_ino} " in Path("/proc/locks").read_text(encoding="utf-8")
    except OSError:
        held = False
    return RUNNING if held or time.time() - written < _JUST_NOW_S else INTERRUPTED


def _reliability_entry(name: str, path: Path) -> Entry:
    """A reliability run by its models and its statements."""
    record = ReliabilityFolder(path).read_record()
    return Entry(
        id=name,
        model=", ".join(m.id for m in record.models) or name,
        topic="Reliability of statements",
        contexts="",
        state=_state(path, record.finished),
        created=record.created,
        kind="reliability",
        cobias=record.summary.get("cobias"),
    )


# --- Pages and data -------------------------------------------------------------------------------


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
    explorer = lru_cache(_KEPT)(explorer_data)
    index.entries()  # read once before the first request

    def measured(id: str) -> RunSummary:
        """The run of this name; 404 if it could not be read."""
        found = index.open(id)
        if found.opened.run is None:
            raise HTTPException(404, found.opened.notice)
        return found

    @app.get("/")
    def runs() -> HTMLResponse:
        entries, version = index.snapshot()
        return pages("runs.html", rows=entries, readable=READABLE, live=version)

    @app.get("/run")
    def run(id: str) -> HTMLResponse:
        statements = _reliability(index, id)
        if statements is not None:
            story = reliability_story(statements)
            live = index.version(id)
            return pages("reliability_run.html", story=story, name=id, id=id, live=live)
        viewed = index.open(id)
        opened, summary = viewed.opened, viewed if viewed.opened.run else None
        return pages(
            "run.html",
            opened=opened,
            id=id,
            title=summary.title if summary else opened.name,
            running=index.entry(id).state == RUNNING,
            lede=lede(summary.run) if summary else (),
            chips=chips(summary.run) if summary else (),
            sentences=sentences(summary.run) if summary else [],
            settings=opened.record and tables.settings_table(opened.record.to_dict()),
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
        return Response(explorer(measured(id)), media_type="application/json")

    @app.get("/words")
    def words(id: str, x: int, c: int) -> JSONResponse:
        return JSONResponse(answer_words(*_cell(measured(id).whole, x, c)))

    @app.get("/peers")
    def peers(id: str, x: int = -1, c: int = -1) -> JSONResponse:
        """The other runs of the same topic, in the order after this one; with x and c, the shares
        of the same sentence in each."""
        run = measured(id).run
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

    @app.get("/report")
    def report(id: Annotated[list[str], Query()]) -> Response:
        """The page of a run, or of several audits, which are compared there."""
        names = list(dict.fromkeys(id))
        if len(names) > 6:
            raise HTTPException(
                400, f"A report has at most six runs; {len(names)} were chosen."
            )
        statements = _reliability(index, names[0]) if len(names) == 1 else None
        if statements is not None:
            page = render_reliability(statements)
        else:
            page = render_report([measured(name).whole for name in names])
        # The page has its own, stricter policy; ours would block its inline script.
        policy = "sandbox allow-scripts allow-downloads"
        return HTMLResponse(page, headers={"Content-Security-Policy": policy})

    @app.get("/version")
    def version(id: str = "") -> JSONResponse:
        return JSONResponse({"version": index.version(id or None)})

    return app


def _others(index: RunsIndex, name: str, run: Run) -> list[tuple[str, str]]:
    """(id, name) of the finished runs with the same topic, those after this one first; the model,
    or the run where a model has several."""
    entries = [
        e
        for e in index.entries()
        if e.topic_sha256 == run.record.topic.sha256 and e.state in READABLE
    ]
    place = next((i for i, e in enumerate(entries) if e.id == name), -1)
    times = Counter(e.model for e in entries)
    after = [*entries[place + 1 :], *entries[: max(place, 0)]]
    return [(e.id, e.model if times[e.model] == 1 else e.id) for e in after]


def _answer(other: RunSummary, run: Run, x: int, c: int) -> dict[str, Any]:
    """The shares of the same group and context in another run, as its page shows them; the
    reference of the second category there; and whether it was asked."""
    if other.opened.run is None:
        return {"shares": None, "asked": False}
    p, theirs = run.preferences, other.run.preferences
    try:
        i, j = theirs.groups.index(p.groups[x]), theirs.contexts.index(p.contexts[c])
    except ValueError:
        return {"shares": None, "asked": False}
    values = theirs.values[i, j]
    if values.shape != p.values[x, c].shape or (values != values).any():
        return {"shares": None, "asked": other.opened.state == "finished"}
    star = np.broadcast_to(theirs.grid.reference, theirs.values.shape)[i, j, 1]
    return {"shares": [float(v) for v in values], "star": float(star), "asked": True}


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


# --- The viewer of one run, served by the process that made it ------------------------------------


class ViewerServer:
    """Pages served by a thread until `close`, or until the process ends.

    address   of the run's page, for this machine only, with the token that lets a browser in
    """

    def __init__(self, run: Run, *, port: int) -> None:
        with ExitStack() as stack:
            folder = run.path
            if folder is None:  # a run in memory: the viewer reads only folders
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
                run.write(RunFolder(folder))
            token = new_token()
            app = viewer(folder, token=token)
            listener, root = listen("127.0.0.1", port)
            stack.enter_context(listener)
            self.address = root.rstrip("/") + link("/run", id=".", token=token)
            self._server = server_of(app)
            self._thread = threading.Thread(
                target=self._server.run, kwargs={"sockets": [listener]}, daemon=True
            )
            self._thread.start()
            self._kept = stack.pop_all()

    def wait(self) -> None:
        """Block until Ctrl+C, then close."""
        try:
            while self._thread.is_alive():
                self._thread.join(
                    1.0
                )  # without a timeout, Ctrl+C would not end it on Windows
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving; calling it again does nothing."""
        self._server.should_exit = True
        self._thread.join()
        self._kept.close()

    def __enter__(self) -> ViewerServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ViewerServer({self.address})"

    def _repr_html_(self) -> str:
        """What a notebook shows: a link."""
        address = html.escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">{address}</a>'


def view_run(run: Run, *, port: int = 0, browser: bool = True) -> ViewerServer:
    """Start the viewer on one run and, with `browser`, open it there."""
    serving = ViewerServer(run, port=port)
    if browser:
        open_browser(serving.address)
    return serving
