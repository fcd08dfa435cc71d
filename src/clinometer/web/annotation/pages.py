"""The pages of an annotation task. The token of their link identifies an annotator.

No address names an annotator: everyone sees only their own answers.
"""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import FastAPI, Form, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.exceptions import HTTPException

from clinometer.errors import InputError, SettingsError
from clinometer.reliability import Blanks
from clinometer.storage.untrusted import MOST_RECORD, read_text
from clinometer.web.annotation.store import ACTIVE, STOPPED, Annotator, Store
from clinometer.web.app import new_app
from clinometer.web.pages import Pages, add_static

_LONGEST = 200_000
"""Characters of guidelines: annotators do not read longer texts while they work."""

COOKIE = "clinometer-annotator"
LONGEST_COMMENT = 2000

Field = Annotated[str, Form()]


def read_guidelines(mode: str, path: Path | None = None) -> str:
    """Read the Markdown of a file, or our own for a mode."""
    if path is None:
        folder = resources.files("clinometer.web.annotation") / "texts"
        return (folder / f"{mode}.md").read_text(encoding="utf-8")
    text = read_text(
        path, shown=str(path), kind=".md", error=InputError, most=MOST_RECORD
    )
    if len(text) > _LONGEST:
        raise InputError(
            f"{path}: expected at most {_LONGEST:,} characters, found {len(text):,}"
        )
    return text


def to_html(markdown: str) -> str:
    """Return Markdown as HTML: tags in it are shown as text, there are no pictures, no script
    links.

    >>> to_html("**a** <script>1</script>")
    '<p><strong>a</strong> &lt;script&gt;1&lt;/script&gt;</p>\\n'
    """
    reader = MarkdownIt("commonmark", {"html": False}).disable("image")
    return str(reader.render(markdown))


def annotation(
    store: Store, *, guidelines: str, host: str = "127.0.0.1", secure: bool = False
) -> FastAPI:
    """Return the application over a store. `secure`: pages are served over https, and so are
    cookies."""
    app = new_app(host=host, guarded=True)
    pages = Pages(
        "clinometer.web.annotation",
        task=store.task,
        total=len(store.task.items),
        guidelines=Markup(to_html(guidelines)),  # noqa: S704  (made from text, tags escaped)
        longest=LONGEST_COMMENT,
    )
    pages.add_errors(app)
    add_static(app, "clinometer.web.annotation", ("annotate.js", "annotate.css"))
    _add_entrance(app, pages, store, secure=secure)
    _add_judging(app, pages, store)
    _add_stopping(app, pages, store)
    return app


def _add_entrance(app: FastAPI, pages: Pages, store: Store, *, secure: bool) -> None:
    """Add the first page, with the warning, and the change to another annotator."""

    def entered(token: str) -> Response:
        page = RedirectResponse("/", 303)
        # lax: a link in an email must work on the first click; forms of other sites still fail.
        page.set_cookie(COOKIE, token, httponly=True, samesite="lax", secure=secure)
        return page

    @app.get("/")
    def first(request: Request, token: str = "") -> Response:
        if token:
            current = store.annotator(request.cookies.get(COOKIE, ""))
            new = _annotator(store, token)
            if current is None or current.number == new.number:
                return entered(token)
            # Any page can lead a browser here: nobody answers as another without a word.
            return pages(
                "switch.html", here=current.number, other=new.number, token=token
            )
        annotator = _sender(store, request)
        if annotator.state == ACTIVE:
            return RedirectResponse("/judge", 303)
        done = store.standing(annotator).done
        return pages("first.html", stopped=annotator.state == STOPPED, done=done)

    @app.post("/switch")
    def switch(request: Request, token: Field = "") -> Response:
        _own_page(request)
        _annotator(store, token)
        return entered(token)

    @app.post("/begin")
    def begin(request: Request) -> Response:
        _own_page(request)
        store.begin(_sender(store, request))
        return RedirectResponse("/judge", 303)


def _add_judging(app: FastAPI, pages: Pages, store: Store) -> None:
    """Add the page of an item, its form, and the list of an annotator's own answers."""
    items = store.task.items

    @app.get("/judge")
    def judge(request: Request, item: str = "") -> Response:
        annotator = _sender(store, request)
        if annotator.state != ACTIVE:
            return RedirectResponse("/", 303)
        standing = store.standing(annotator)
        place = _place(store, item) if item else standing.next
        if place is None:
            return pages("done.html", standing=standing)
        return pages(
            "judge.html",
            standing=standing,
            place=place,
            item=items[place],
            parts=Blanks.parse(items[place].text).parts,
            given=store.answer(annotator, place),
        )

    @app.post("/judge")
    def answer(
        request: Request, item: Field = "", value: Field = "", comment: Field = ""
    ) -> Response:
        _own_page(request)
        annotator = _active_sender(store, request)
        if len(comment) > LONGEST_COMMENT:
            raise HTTPException(
                400, f"A comment has at most {LONGEST_COMMENT} characters."
            )
        place = _place(store, item)
        try:
            store.judge(annotator, place, value, comment.replace("\0", "").strip())
        except SettingsError as error:
            raise HTTPException(400, str(error)) from error
        return RedirectResponse("/judge", 303)

    @app.post("/undo")
    def undo(request: Request, item: Field = "") -> Response:
        _own_page(request)
        place = _place(store, item)
        store.undo(_active_sender(store, request), place)
        return RedirectResponse(f"/judge?item={place}", 303)

    @app.get("/answers")
    def answers(request: Request) -> HTMLResponse:
        latest_first = reversed(store.answers(_sender(store, request)))
        rows = [(items[judgement.place], judgement) for judgement in latest_first]
        return pages("answers.html", rows=rows)


def _add_stopping(app: FastAPI, pages: Pages, store: Store) -> None:
    """Add the page on which an annotator opts out."""

    @app.get("/stop")
    def stop(request: Request) -> HTMLResponse:
        annotator = _active_sender(store, request)
        return pages("stop.html", done=store.standing(annotator).done)

    @app.post("/stop")
    def stopped(request: Request, answers: Field = "") -> Response:
        _own_page(request)
        annotator = _active_sender(store, request)
        if answers not in ("keep", "delete"):
            raise HTTPException(400, "Say whether your answers are kept or deleted.")
        store.stop(annotator, forget=answers == "delete")
        return pages("stopped.html", deleted=answers == "delete")


def _annotator(
    store: Store, token: str, problem: str = "This link is not, or no longer, valid."
) -> Annotator:
    """Return the annotator of a token; 403 for an unknown one."""
    annotator = store.annotator(token)
    if annotator is None:
        raise HTTPException(403, problem)
    return annotator


def _sender(store: Store, request: Request) -> Annotator:
    """Return the annotator of a request."""
    problem = "This page needs the personal link that you were given."
    return _annotator(store, request.cookies.get(COOKIE, ""), problem)


def _active_sender(store: Store, request: Request) -> Annotator:
    """Return the annotator of a request for a page that requires the warning to be read; 403 for
    those who stopped."""
    annotator = _sender(store, request)
    if annotator.state != ACTIVE:
        raise HTTPException(403, "Begin on the first page of your personal link.")
    return annotator


def _place(store: Store, text: str) -> int:
    """Return the position of an item in the task, as an address or form gives it."""
    if re.fullmatch("[0-9]{1,9}", text) and int(text) < len(store.task.items):
        return int(text)
    raise HTTPException(404, "There is no such item in this task.")


def _own_page(request: Request) -> None:
    """Refuse a form that another page has sent, even one on another port of this machine."""
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        # Every current browser sends it; Origin is "null" under our Referrer-Policy.
        is_ours = site in ("same-origin", "none")
    else:
        origin = request.headers.get("origin")
        host = request.headers.get("host")
        is_ours = origin is None or urlsplit(origin).netloc == host
    if not is_ours:
        raise HTTPException(403, "Answers are taken from our own pages only.")
