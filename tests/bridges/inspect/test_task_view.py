"""The log of clinometer/audit in Inspect View: our metrics, under the names that we give them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.browser import watched
from tests.processes import free_port, model_server

from clinometer.bridges.inspect import import_inspect

MEASURES = ("R", "R_bias", "R_volatility")


def test_inspect_view_shows_the_risks(log: Path, chromium: Any, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", log.parent,
               "--port", port]  # fmt: skip
    run = import_inspect(log)
    with model_server(command, port=port, log=tmp_path / "view.log", health="/") as url:
        seen = watched(chromium, viewport={"width": 1280, "height": 900})
        page = seen.page
        page.set_default_timeout(120_000)
        page.goto(f"{url}/#/logs/{log.name}")
        for name in MEASURES:  # in the head of the page, before anything is clicked
            page.get_by_text(name, exact=True).first.wait_for()
        page.get_by_text("All scoring").click()
        dialog = page.get_by_role("dialog")
        dialog.get_by_text("R_volatility_high", exact=True).wait_for()
        *_, head, body = dialog.locator("tr").all()
        names, values = (row.locator("th, td").all_text_contents() for row in (head, body))
    shown = dict(zip(names, values, strict=True))
    for name in MEASURES:
        estimate = run.risks.summary[name]
        ends = {"": estimate.value, "_low": estimate.low, "_high": estimate.high}
        for end, value in ends.items():
            assert float(shown[f"{name}{end}"]) == pytest.approx(value, abs=6e-4)
    assert seen.errors == []
