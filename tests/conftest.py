"""What the tests share: the data folder, and the embedded model converted once."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

# No test may pass because an earlier one was remembered; tests of the cache switch it on.
os.environ["TILTMETER_CACHE_LIMIT"] = "0"

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real third-party data beside the checkout; always there in CI."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data folder is not beside this checkout")
    return folder


@pytest.fixture(scope="session")
def smollm2():  # type: ignore[no-untyped-def]
    """The embedded model: a real one, opened once a worker."""
    from tiltmeter.models import open_model

    return open_model("smollm2")


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Debian's browser, started once a worker."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox"]
        )
        yield browser
        browser.close()
