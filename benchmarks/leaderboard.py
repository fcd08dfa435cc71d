"""How long a leaderboard of 60 runs takes to build and to open: python benchmarks/leaderboard.py

Prints one JSON object. 60 models on 120 groups × 100 contexts; built by the command in a fresh
process, from the folders to the files on disk; opened in the machine's Chromium from disk, until
the page's load event, the best of three. An argument keeps the pages in that folder.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.components import require
from tests.report.made import made_run

RUNS, GROUPS, CONTEXTS = 60, 120, 100


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i in range(RUNS):
            made_run(
                folder / "runs" / f"{i}",
                groups=GROUPS,
                contexts=CONTEXTS,
                model=f"made/model-{i:02}",
                lean=0.1 + 0.02 * i,
                seed=i,
            )
        out = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / "site"
        command = [sys.executable, "-m", "clinometer", "report", folder / "runs", "--leaderboard"]
        start = time.perf_counter()
        subprocess.run([*command, "--out", out], check=True, stdout=subprocess.DEVNULL)
        built = time.perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = {
            "runs": RUNS,
            "build_s": round(built, 2),
            "build_processor_s": round(used.ru_utime + used.ru_stime, 2),
            "open_ms": round(min(opened(out / "index.html") for _ in range(3)), 1),
            "index_bytes": (out / "index.html").stat().st_size,
            "files": sum(1 for path in out.rglob("*") if path.is_file()),
        }
    print(json.dumps({**result, "passed": built < 10 and result["open_ms"] < 1000}))


def opened(page: Path) -> float:
    """Milliseconds from navigation to load."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=require("browser"), args=["--no-sandbox"]
        )
        tab = browser.new_page()
        tab.goto(page.as_uri())
        entry = "performance.getEntriesByType('navigation')[0].loadEventEnd"
        took = float(tab.evaluate(entry))
        browser.close()
    return took


if __name__ == "__main__":
    main()
