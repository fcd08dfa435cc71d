"""Limits on request bodies: a small form, or nothing."""

from __future__ import annotations

from fastapi.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

#: Bytes of a form; a comment has at most 2,000 characters.
MOST_FORM = 64 << 10
_FORM = b"application/x-www-form-urlencoded"


class SmallForms:
    """Refuses any other body by its headers, before reading or spooling any of it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = _problem(scope) if scope["type"] == "http" else None
        if problem is None:
            await self._app(scope, receive, send)
        else:
            status, text = problem
            refused = PlainTextResponse(text, status, headers={"Connection": "close"})
            await refused(scope, receive, send)


def _problem(scope: Scope) -> tuple[int, str] | None:
    headers = dict(scope["headers"])
    length = headers.get(b"content-length", b"0")
    if b"transfer-encoding" in headers or not length.isdigit():
        return 411, "A form must say how long it is."
    if len(length) > 9 or int(length) > MOST_FORM:
        return 413, f"A form has at most {MOST_FORM >> 10} kB."
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if int(length) and kind != _FORM:
        return 415, "Only plain forms are taken."
    return None
