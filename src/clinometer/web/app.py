"""The basis of every web page: headers, the size of forms, and who may come in.

It knows nothing about runs, so that any page can use it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping

from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse, RedirectResponse, Response
from starlette.middleware.trustedhost import TrustedHostMiddleware

from clinometer.errors import SettingsError
from clinometer.models.providers import is_loopback
from clinometer.web.pages import link

MOST_FORM = 64 << 10
"""Bytes of a form; a comment has at most 2,000 characters."""

_FORM = b"application/x-www-form-urlencoded"

SECURITY_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; "
        "frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Scripts from our own files only, no requests to other hosts, never inside a frame."""

COOKIE = "clinometer"

_Next = Callable[[Request], Awaitable[Response]]


def new_app(
    *, token: str | None = None, host: str = "127.0.0.1", guarded: bool = False
) -> FastAPI:
    """Return an application without its pages.

    `token`: every request must carry it, once as ?token=… and then as a cookie. A host that other
    machines can reach is refused without one, unless the pages check their own tokens
    (`guarded`).
    """
    if not is_loopback(host) and not token and not guarded:
        raise SettingsError(
            f"host: {host} can be reached by others; expected a token with it"
        )
    app = FastAPI(title="Clinometer", docs_url=None, redoc_url=None, openapi_url=None)
    if token:
        app.middleware("http")(_gate(token))
    app.middleware("http")(_headers)
    # Blocks DNS rebinding: a foreign name that resolves to this machine gets nothing.
    names = ["localhost", "127.0.0.1", "[::1]", host] if is_loopback(host) else ["*"]
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=names, www_redirect=False)
    app.middleware("http")(_small_forms)
    return app


def new_token() -> str:
    return secrets.token_urlsafe(24)


async def _small_forms(request: Request, call_next: _Next) -> Response:
    """Refuse any body but a small form by its headers, before reading or spooling any of it."""
    problem = _problem(request)
    if problem is not None:
        status, text = problem
        return PlainTextResponse(text, status, headers={"Connection": "close"})
    return await call_next(request)


def _problem(request: Request) -> tuple[int, str] | None:
    """Return what is wrong with a body, by its headers: the status, and a sentence."""
    headers = dict(request.scope["headers"])
    length = headers.get(b"content-length", b"0")
    if b"transfer-encoding" in headers or not length.isdigit():
        return 411, "A form must say how long it is."
    if len(length) > 9 or int(length) > MOST_FORM:
        return 413, f"A form has at most {MOST_FORM >> 10} kB."
    kind = headers.get(b"content-type", b"").split(b";")[0].strip().lower()
    if int(length) and kind != _FORM:
        return 415, "Only plain forms are taken."
    return None


async def _headers(request: Request, call_next: _Next) -> Response:
    response = await call_next(request)
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _gate(token: str) -> Callable[[Request, _Next], Awaitable[Response]]:
    """Return what lets in requests with the token only."""
    # A browser sends cookies to every port of a host: two viewers must not take each other's.
    cookie = f"{COOKIE}-{hashlib.sha256(token.encode()).hexdigest()[:8]}"

    async def gate(request: Request, call_next: _Next) -> Response:
        query = request.query_params
        query_token = query.get("token", "")
        if query_token and hmac.compare_digest(query_token.encode(), token.encode()):
            rest = [
                (name, value) for name, value in query.multi_items() if name != "token"
            ]
            redirect = RedirectResponse(link(request.url.path, *rest), 303)
            redirect.set_cookie(cookie, token, httponly=True, samesite="lax")
            return redirect
        cookie_token = request.cookies.get(cookie, "")
        if hmac.compare_digest(cookie_token.encode(), token.encode()):
            return await call_next(request)
        return PlainTextResponse(
            "The address needs the token that was printed at the start.", 403
        )

    return gate
