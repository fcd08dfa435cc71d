"""clinometer view: runs in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.parameters import PORT
from clinometer.cli.printing import console


def view_command(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder with run folders below it.")
    ] = Path("runs"),
    port: PORT = 8765,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; one that others can reach needs a token."),
    ] = "127.0.0.1",
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")
    ] = True,
) -> None:
    """Walk through runs in a browser, down to the words; shows a run while it is written.

    Reads the run folders under DIR and nothing else. Only this machine can reach it, unless --host
    says otherwise; then a token in the printed address lets people in.
    """
    from clinometer.web import viewer
    from clinometer.web.app import is_loopback, new_token, serve

    token = None if is_loopback(host) else new_token()
    app = viewer(folder, host=host, token=token)

    def ready(address: str) -> None:
        shown = address if token is None else f"{address}?token={token}"
        console().print(
            f"runs in {folder}: {shown}  (Ctrl+C ends it)", markup=False, soft_wrap=True
        )
        if browser:
            webbrowser.open(shown)

    serve(app, host=host, port=port, ready=ready)
