"""The basis of every web page: headers, templates, static files, access control.

It knows nothing about runs, so that any page can use it.
"""

from __future__ import annotations

import atexit
import hashlib
import hmac
import html
import secrets
import shutil
import socket
import tempfile
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import jinja2
from fastapi import FastAPI, Request
from fastapi.responses import (
    HTMLResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware

from clinometer.errors import SettingsError
from clinometer.models.providers import is_loopback
from clinometer.report.document import asset, environment, stylesheet

if TYPE_CHECKING:
    import uvicorn

#: Bytes of a form; a comment has at most 2,000 characters.
MOST_FORM = 64 << 10
_FORM = b"application/x-www-form-urlencoded"


def _problem(request: Request) -> tuple[int, str] | None:
    """What is wrong with a body, by its headers."""
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


#: Scripts from our own files only, no requests to other hosts, never inside a frame.
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

COOKIE = "clinometer"


def new_app(
    *, token: str | None = None, host: str = "127.0.0.1", guarded: bool = False
) -> FastAPI:
    """An application without its pages.

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


def open_browser(address: str) -> None:
    """Open an address with a token. Other users can see the arguments of a program, so the browser
    is given a file that only this user can read."""
    folder = Path(tempfile.mkdtemp(prefix="clinometer-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    page = folder / "view.html"
    url = html.escape(address)
    page.write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0;url={url}"><a href="{url}">view</a>',
        encoding="utf-8",
    )
    webbrowser.open(page.as_uri())


def add_static(
    app: FastAPI,
    package: str,
    names: Sequence[str],
    more: Mapping[str, str] | None = None,
) -> None:
    """Serve the style and script of all pages, the files `names` of a package, and `more` (file
    name -> text)."""
    texts = {"page.css": stylesheet(), "page.js": asset("page.js"), **(more or {})}
    for name in names:
        texts[name] = (resources.files(package) / "static" / name).read_text("utf-8")

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in texts:
            raise HTTPException(404)
        media = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(
            texts[name], media_type=media, headers={"Cache-Control": "max-age=300"}
        )


class Pages:
    """Templates of a package, rendered into responses."""

    def __init__(self, package: str, **shared: Any) -> None:
        self._environment = environment(jinja2.PackageLoader(package, "templates"))
        self._environment.globals.update(shared, link=link)

    def __call__(
        self, template: str, /, *, status: int = 200, **values: Any
    ) -> HTMLResponse:
        return HTMLResponse(
            self._environment.get_template(template).render(**values), status
        )

    def compile(self) -> None:
        """Compile every template, so that the first page does not wait for it."""
        for name in self._environment.list_templates(extensions=["html"]):
            self._environment.get_template(name)

    def add_errors(self, app: FastAPI) -> None:
        """Errors as pages with the same look, in one sentence."""

        @app.exception_handler(HTTPException)
        def show(request: Request, error: HTTPException) -> Response:
            unnamed = error.status_code == 404 and error.detail in ("Not Found", "")
            message = "There is no such page." if unnamed else str(error.detail)
            return self("error.html", status=error.status_code, message=message)


def link(path: str, *pairs: tuple[str, Any], **values: Any) -> str:
    """An address with its query: empty values are left out, everything is quoted.

    >>> link("/group", id="a/b", group="<x>", q="")
    '/group?id=a%2Fb&group=%3Cx%3E'
    """
    given = [(k, v) for k, v in [*pairs, *values.items()] if v not in (None, "")]
    return f"{path}?{urlencode(given)}" if given else path


def serve(app: FastAPI, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Run until interrupted; `ready` is called with the address once it listens."""
    listener, address = listen(host, port)
    with listener:
        ready(address)
        server_of(app).run(sockets=[listener])


def server_of(app: FastAPI) -> uvicorn.Server:
    """A server for the application; its `run` takes the sockets."""
    import uvicorn

    return uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))


def listen(host: str, port: int) -> tuple[socket.socket, str]:
    """A listening socket and its address; port 0 takes any free one.

    A port in use is an error in one line.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen()  # the address is shown next, and may be opened at once
    except OSError as error:
        listener.close()
        raise SettingsError(
            f"port {port} of {host}: {error.strerror}; try --port 0"
        ) from error
    number = listener.getsockname()[1]
    return listener, f"http://{f'[{host}]' if ':' in host else host}:{number}/"


_Next = Callable[[Request], Awaitable[Response]]


async def _small_forms(request: Request, go_on: _Next) -> Response:
    """Refuse any body but a small form by its headers, before reading or spooling any of it."""
    if problem := _problem(request):
        status, text = problem
        return PlainTextResponse(text, status, headers={"Connection": "close"})
    return await go_on(request)


async def _headers(request: Request, go_on: _Next) -> Response:
    response = await go_on(request)
    for name, value in SECURITY_HEADERS.items():
        response.headers.setdefault(name, value)
    return response


def _gate(token: str) -> Callable[[Request, _Next], Awaitable[Response]]:
    # A browser sends cookies to every port of a host: two viewers must not take each other's.
    cookie = f"{COOKIE}-{hashlib.sha256(token.encode()).hexdigest()[:8]}"

    async def gate(request: Request, go_on: _Next) -> Response:
        given = request.query_params.get("token", "")
        if given and hmac.compare_digest(given.encode(), token.encode()):
            rest = [
                (k, v) for k, v in request.query_params.multi_items() if k != "token"
            ]
            there = RedirectResponse(link(request.url.path, *rest), 303)
            there.set_cookie(cookie, token, httponly=True, samesite="lax")
            return there
        kept = request.cookies.get(cookie, "")
        if hmac.compare_digest(kept.encode(), token.encode()):
            return await go_on(request)
        return PlainTextResponse(
            "The address needs the token that was printed at the start.", 403
        )

    return gate
