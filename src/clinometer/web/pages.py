"""Templates and static files of web pages, and addresses within them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any
from urllib.parse import urlencode

import jinja2
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, Response
from starlette.exceptions import HTTPException

from clinometer.report.document import asset, environment, stylesheet


def add_static(
    app: FastAPI,
    package: str,
    names: Sequence[str],
    texts: Mapping[str, str] | None = None,
) -> None:
    """Serve the style and script of all pages, the files `names` of a package, and `texts` (file
    name -> text)."""
    files = {"page.css": stylesheet(), "page.js": asset("page.js"), **(texts or {})}
    for name in names:
        files[name] = (resources.files(package) / "static" / name).read_text("utf-8")

    @app.get("/static/{name}")
    def static(name: str) -> Response:
        if name not in files:
            raise HTTPException(404)
        media = "text/css" if name.endswith(".css") else "text/javascript"
        return Response(
            files[name], media_type=media, headers={"Cache-Control": "max-age=300"}
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
        """Show errors as pages with the same look, in one sentence."""

        @app.exception_handler(HTTPException)
        def show(request: Request, error: HTTPException) -> Response:
            message = str(error.detail)
            if error.status_code == 404 and message in ("Not Found", ""):
                message = "There is no such page."
            return self("error.html", status=error.status_code, message=message)


def link(path: str, *pairs: tuple[str, Any], **values: Any) -> str:
    """Return an address with its query: empty values are left out, everything is quoted.

    >>> link("/group", id="a/b", group="<x>", q="")
    '/group?id=a%2Fb&group=%3Cx%3E'
    """
    query = [
        (name, value)
        for name, value in [*pairs, *values.items()]
        if value not in (None, "")
    ]
    return f"{path}?{urlencode(query)}" if query else path
