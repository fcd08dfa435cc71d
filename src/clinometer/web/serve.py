"""Sockets, servers, and the browser that is shown their address."""

from __future__ import annotations

import atexit
import html
import shutil
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import FastAPI

from clinometer.errors import SettingsError

if TYPE_CHECKING:
    import uvicorn


def serve(app: FastAPI, *, host: str, port: int, ready: Callable[[str], None]) -> None:
    """Run until interrupted; `ready` is called with the address once it listens."""
    listener, address = listen(host, port)
    with listener:
        ready(address)
        server_of(app).run(sockets=[listener])


def server_of(app: FastAPI) -> uvicorn.Server:
    """Return a server for the application; its `run` takes the sockets."""
    import uvicorn

    return uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False))


def listen(host: str, port: int) -> tuple[socket.socket, str]:
    """Return a listening socket and its address; port 0 takes any free one.

    A port in use is an error in one line.
    """
    is_ipv6 = ":" in host
    family = socket.AF_INET6 if is_ipv6 else socket.AF_INET
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
    name = f"[{host}]" if is_ipv6 else host
    return listener, f"http://{name}:{number}/"


def open_browser(address: str) -> None:
    """Open an address with a token.

    Other users can see the arguments of a program, so the browser is given a file that only this
    user can read.
    """
    folder = Path(tempfile.mkdtemp(prefix="clinometer-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    page = folder / "view.html"
    url = html.escape(address)
    page.write_text(
        f'<!doctype html><meta http-equiv="refresh" content="0;url={url}"><a href="{url}">view</a>',
        encoding="utf-8",
    )
    webbrowser.open(page.as_uri())
