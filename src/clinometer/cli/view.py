"""clinometer view: runs in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.help import PORT, opt
from clinometer.cli.printing import console


def view_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that contains run folders.")
    ] = Path("runs"),
    port: PORT = 8765,
    host: Annotated[
        str, opt("Address to listen on; if others can reach it, a token is required.")
    ] = "127.0.0.1",
    browser: Annotated[bool, opt("Open the page in a browser.", "--browser/--no-browser")] = True,
) -> None:
    """Explore runs in a browser, down to single words, even while they are being written.

    Reads only the run folders under DIR. The page is reachable only from this machine unless --host
    says otherwise; then the printed address contains a token that grants access.
    """
    from clinometer.web import viewer
    from clinometer.web.app import is_loopback, new_token, serve

    token = None if is_loopback(host) else new_token()
    app = viewer(folder, host=host, token=token)

    def ready(address: str) -> None:
        shown = address if token is None else f"{address}?token={token}"
        console().print(f"runs in {folder}: {shown}  (Ctrl+C stops it)", soft_wrap=True)
        if browser:
            webbrowser.open(shown)

    serve(app, host=host, port=port, ready=ready)
