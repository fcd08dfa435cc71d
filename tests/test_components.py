"""A missing program: its own tests are skipped and named; in CI nothing starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run_tests(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("PYTEST_", "CI"))
    }
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments],
        env={**environment, "CLINOMETER_BROWSER": "/nowhere/chromium", **variables},
        cwd=Path(__file__).resolve().parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )


def test_without_a_browser_its_tests_are_skipped_and_in_ci_nothing_starts() -> None:
    done = run_tests("tests/report/test_page_browser.py", "tests/topics/test_prompt.py")
    assert done.returncode == 0, done.stdout
    line = done.stdout.splitlines()[-2]
    assert "browser: not found" in line
    assert "needed for the browser tests" in line
    assert "chromium" in line
    done = run_tests("tests/topics/test_prompt.py", CI="true")
    assert done.returncode == 4
    assert "CI may skip no test" in done.stdout + done.stderr
    assert "passed" not in done.stdout
