"""The viewer of one run, beside the program that made it."""

from __future__ import annotations

import html
import threading
import webbrowser
from pathlib import Path

import httpx
import pytest
from tests.report.made import made_run

from clinometer.errors import SettingsError
from clinometer.web import view_run


def test_only_the_run_itself_is_shown(tmp_path: Path) -> None:
    run = made_run(tmp_path / "one", groups=3, contexts=5)
    made_run(tmp_path / "two", groups=3, contexts=5)
    with view_run(run, browser=False) as viewer:
        page = viewer.address.split("?")[0]
        with httpx.Client(follow_redirects=True) as browser:
            assert browser.get(page, params={"id": "."}).status_code == 403  # no token yet
            assert browser.get(viewer.address).status_code == 200
            for other in ("two", "../two", ".."):
                assert browser.get(page, params={"id": other}).status_code == 404


def test_the_browser_opens_where_the_run_is(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    with view_run(made_run(None, groups=3, contexts=5)) as viewer:
        (address,) = opened
        file = Path(address.removeprefix("file://"))
        assert html.escape(viewer.address) in file.read_text(encoding="utf-8")
        assert file.parent.stat().st_mode & 0o077 == 0  # its token is for nobody else


def test_waiting_ends_with_an_interrupt_and_closes(monkeypatch: pytest.MonkeyPatch) -> None:
    viewer = view_run(made_run(None, groups=3, contexts=5), browser=False)
    join = threading.Thread.join

    def interrupted(thread: threading.Thread, timeout: float | None = None) -> None:
        monkeypatch.setattr(threading.Thread, "join", join)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    viewer.wait()
    with pytest.raises(httpx.ConnectError):
        httpx.get(viewer.address)


def test_a_port_that_is_taken_is_one_line() -> None:
    run = made_run(None, groups=3, contexts=5)
    with view_run(run, browser=False) as viewer:
        port = int(viewer.address.split(":")[2].split("/")[0])
        with pytest.raises(SettingsError, match=f"^port {port} of 127.0.0.1: "):
            view_run(run, port=port, browser=False)
