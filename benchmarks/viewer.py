"""The viewer's page of one large run, in a browser: python benchmarks/viewer.py [--contexts 2000]

120 groups × 2,000 contexts, served by `clinometer view`, opened in the machine's Chromium with an
empty cache. From the first byte of the page:

    paint     to the frame in which all three panes are drawn
    complete  to the frame in which every share has arrived and is drawn
    hover     from a move of the pointer over the map to the frame that shows its sentence
    click     from a click on the map to the frame that shows the sentence in large type
    search    from a key in the search box to the frame that shows the shorter list

Prints one JSON object: milliseconds (the median and the worst), what came over the wire, and the
load average, without which wall-clock times mean little. The server's time before the first byte,
in which it measures the run, is given apart (`first_byte`: cold, then known).
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.process_use import load_average
from tests.components import require
from tests.report.made import made_run

COMMAND = [sys.executable, "-c", "from clinometer.cli import main; main()"]
GOAL_MS = 1000

#: Notes the frame after each thing that is waited for, and after each event of a reader.
_WATCH = """(() => {
  const seen = window.seen = { marks: {}, took: {} };
  const painted = (then) => requestAnimationFrame(() => setTimeout(() => then(performance.now())));
  const note = (name) => {
    if (!(name in seen.marks)) painted((at) => { seen.marks[name] ??= at; });
  };
  new MutationObserver(() => {
    const root = document.getElementById("explorer");
    if (!root) return;
    if (root.dataset.ready) note("paint");
    if (root.dataset.complete) note("complete");
  }).observe(document, { subtree: true, childList: true, attributes: true });
  for (const name of ["pointermove", "click", "input"])
    addEventListener(name, (event) => {
      const kind = { pointermove: "hover", input: "search" }[name] || name;
      painted((at) => { (seen.took[kind] ||= []).push(at - event.timeStamp); });
    }, true);
})()"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--groups", type=int, default=120)
    parser.add_argument("--contexts", type=int, default=2000)
    parser.add_argument(
        "--rounds", type=int, default=5, help="how often the page is opened"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made_run(folder / "run", groups=given.groups, contexts=given.contexts)
        with _served(folder) as address, _browser() as browser:
            rounds = [
                _opened(browser, f"{address}run?id=run") for _ in range(given.rounds)
            ]
    times = {
        name: _summary([value for one in rounds for value in one[name]])
        for name in ("paint", "complete", "hover", "click", "search")
    }
    found = {
        "groups": given.groups,
        "contexts": given.contexts,
        "first_byte": {
            "cold": round(rounds[0]["first_byte"]),
            "known": round(statistics.median(one["first_byte"] for one in rounds[1:])),
        },
        **times,
        "data_kb": round(rounds[0]["bytes"] / 1000),
        "longest_task": max(one["longest_task"] for one in rounds),
        "load_average": load_average(),
        "passed": times["paint"]["worst"] < GOAL_MS,
    }
    print(json.dumps(found, indent=1))


def _opened(browser: Any, address: str) -> dict[str, Any]:
    """One visit: times from the first byte of the page, in milliseconds."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.add_init_script(_WATCH)
    page.goto(address)
    page.wait_for_function(
        "() => window.seen.marks.paint && window.seen.marks.complete"
    )
    first = page.evaluate("performance.getEntriesByType('navigation')[0].responseStart")
    size = page.evaluate(
        "performance.getEntriesByType('resource').filter((e) => e.name.includes('/data?'))"
        ".reduce((sum, e) => sum + e.encodedBodySize, 0)"
    )
    box = page.locator("canvas").bounding_box()
    for i in range(60):
        step = i / 60
        x = box["x"] + 120 + step * (box["width"] - 140)
        page.mouse.move(x, box["y"] + 40 + (37 * i) % (box["height"] - 80))
        page.wait_for_function(
            "(n) => (window.seen.took.hover || []).length > n", arg=i
        )
    if "___" not in page.locator(".reads").inner_text():
        raise SystemExit("pointing at the map reads no sentence")
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.locator(".large").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("nurse", delay=30)
    page.wait_for_function("() => document.querySelectorAll('.rows li').length === 1")
    seen = page.evaluate("window.seen")
    tasks = page.evaluate(
        "new Promise((done) => { const all = []; const watch = new PerformanceObserver((list) => "
        "all.push(...list.getEntries().map((e) => e.duration))); "
        "watch.observe({ type: 'longtask', buffered: true }); setTimeout(() => done(all), 100); })"
    )
    context.close()
    return {
        **{name: [at - first] for name, at in seen["marks"].items()},
        **{name: seen["took"][name] for name in ("hover", "click", "search")},
        "first_byte": first,
        "bytes": size,
        "longest_task": round(max(tasks, default=0)),
    }


def _summary(values: list[float]) -> dict[str, float]:
    return {
        "median": round(statistics.median(values), 1),
        "worst": round(max(values), 1),
    }


@contextmanager
def _served(folder: Path) -> Iterator[str]:
    command = [*COMMAND, "view", str(folder), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address is not None, line
        yield address[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


@contextmanager
def _browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=require("browser"), args=["--no-sandbox"]
        )
        yield browser
        browser.close()


if __name__ == "__main__":
    main()
