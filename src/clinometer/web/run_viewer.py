"""The viewer of one run, served by the process that made it."""

from __future__ import annotations

import html
import tempfile
import threading
from contextlib import ExitStack
from pathlib import Path

from clinometer.runs import Run, RunFolder
from clinometer.web.app import new_token
from clinometer.web.pages import link
from clinometer.web.serve import listen, open_browser, server_of
from clinometer.web.viewer import viewer


class ViewerServer:
    """Pages served by a thread until `close`, or until the process ends."""

    address: str
    """The address of the run's page, for this machine only, with the token that lets a browser
    in."""

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
            self._resources = stack.pop_all()

    def wait(self) -> None:
        """Block until Ctrl+C, then close."""
        try:
            while self._thread.is_alive():
                # Without a timeout, Ctrl+C would not end it on Windows.
                self._thread.join(1.0)
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """Stop serving; calling it again does nothing."""
        self._server.should_exit = True
        self._thread.join()
        self._resources.close()

    def __enter__(self) -> ViewerServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ViewerServer({self.address})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: a link."""
        address = html.escape(self.address)
        return f'<a href="{address}" target="_blank" rel="noopener">{address}</a>'


def view_run(run: Run, *, port: int = 0, browser: bool = True) -> ViewerServer:
    """Start the viewer on one run and, with `browser`, open it there."""
    server = ViewerServer(run, port=port)
    if browser:
        open_browser(server.address)
    return server
