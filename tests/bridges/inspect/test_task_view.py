"""The log of clinometer/audit in Inspect View: our metrics, under the names that we give them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.browser import watched
from tests.processes import free_port, model_server

from clinometer.bridges.inspect.read import import_inspect


def test_inspect_view_shows_the_risks(log: Path, chromium: Any, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", log.parent,
               "--port", port]  # fmt: skip
    run = import_inspect(log)
    with model_server(command, port=port, log=tmp_path / "view.log", health="/") as url:
        seen = watched(chromium, viewport={"width": 1280, "height": 900})
        seen.page.goto(f"{url}/#/logs/{log.name}")
        for name in ("R", "R_bias", "R_volatility"):
            seen.page.get_by_text(name, exact=True).first.wait_for()
        shown = seen.page.locator("body").inner_text()
    for name in ("R", "R_bias", "R_volatility"):
        estimate = run.risks.summary[name]
        for value in (estimate.value, estimate.low, estimate.high):
            assert value is not None
            assert f"{value:.3f}" in shown
