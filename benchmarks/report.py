"""Reports, viewer and comparisons under load: python benchmarks/report.py [report|viewer|compare …]

    report    a report of 120 groups × 5,000 contexts, from the folder to the file, by the command
    viewer    `clinometer view` over 1,000 runs: its start, its first page, then eight readers at
              once who ask for lists, runs, their data and sentences, for --seconds
    compare   `clinometer compare` of 20 models, 120 groups × 200 contexts each

Prints one JSON object: processor time and memory, which mean something on a busy machine, and
wall-clock times, which mean little without the load average beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.process_use import Watch, finished, load_average, percentiles, use_of
from tests.report.made import made_run

COMMAND = [sys.executable, "-c", "from clinometer.cli import main; main()"]
READERS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", choices=[[], *PARTS], default=[])
    parser.add_argument("--contexts", type=int, default=5000, help="of the report")
    parser.add_argument("--runs", type=int, default=1000, help="of the viewer")
    parser.add_argument(
        "--seconds", type=float, default=60, help="of the viewer's readers"
    )
    parser.add_argument("--models", type=int, default=20, help="to compare")
    given = parser.parse_args()
    found: dict[str, Any] = {}
    for name in given.what or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            found[name] = {
                **PARTS[name](Path(folder), given),
                "load_average": load_average(),
            }
    print(json.dumps(found, indent=1))


def report(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    made_run(folder / "run", groups=120, contexts=given.contexts)
    out = folder / "report.html"
    used = finished([*COMMAND, "report", str(folder / "run"), "--out", str(out)])
    return {
        "contexts": given.contexts,
        **used,
        "file_mb": round(out.stat().st_size / 1e6, 2),
    }


def compare(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    runs = [str(folder / f"model{i}") for i in range(given.models)]
    for i, run in enumerate(runs):
        lean = 0.4 + 0.02 * i
        made_run(
            Path(run), groups=120, contexts=200, model=f"made:{i}", seed=i, lean=lean
        )
    return {"models": given.models, **finished([*COMMAND, "compare", *runs, "--json"])}


def viewer(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Twenty runs of their own, and copies of them."""
    first = [f"run{i}" for i in range(20)]
    for i, name in enumerate(first):
        made_run(folder / name, groups=20, contexts=20, model=f"made:{i}", seed=i)
    for i in range(len(first), given.runs):
        shutil.copytree(folder / first[i % len(first)], folder / f"run{i}")
    begun = time.perf_counter()
    command = [*COMMAND, "view", str(folder), "--port", "0", "--no-browser"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address is not None, line
        with httpx.Client(base_url=address[0], timeout=600) as client:
            started = time.perf_counter() - begun
            before = use_of(process.pid).processor_s
            page = client.get("/")
            if f"{given.runs} runs" not in page.text.replace(",", ""):
                raise SystemExit("the page does not list every run")
            lists = [_timed(lambda: client.get("/")) for _ in range(10)]
            each = (use_of(process.pid).processor_s - before) / 11
        times, growth = _readers(address[0], process.pid, given)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()
    return {
        "runs": given.runs,
        "start_s": round(started, 2),
        "list_processor_ms": round(1000 * each),
        "list_ms": percentiles(lists),
        "list_mb": round(len(page.content) / 1e6, 2),
        "readers": READERS,
        "requests": sum(map(len, times.values())),
        "milliseconds": {page: percentiles(found) for page, found in times.items()},
        "server": growth,
    }


def _readers(
    address: str, process: int, given: argparse.Namespace
) -> tuple[dict[str, list[float]], dict[str, Any]]:
    times: dict[str, list[float]] = {}
    until = time.monotonic() + given.seconds

    def reader(seed: int) -> None:
        rng = random.Random(seed)  # noqa: S311  (a simulation)
        with httpx.Client(base_url=address, timeout=600) as client:
            while time.monotonic() < until:
                page = rng.choices(
                    ("/", "/run", "/data", "/words", "/version"), (1, 4, 4, 6, 2)
                )[0]
                run = {"id": f"run{rng.randrange(given.runs)}"}
                cell = (
                    {"x": rng.randrange(20), "c": rng.randrange(20)}
                    if page == "/words"
                    else {}
                )
                asked = {} if page == "/" else {**run, **cell}
                begun = time.perf_counter()
                client.get(page, params=asked).raise_for_status()
                times.setdefault(page, []).append(time.perf_counter() - begun)

    threads = [threading.Thread(target=reader, args=(seed,)) for seed in range(READERS)]
    every = max(1.0, given.seconds / 60)
    with Watch(lambda: process, lambda: sum(map(len, times.values())), every) as watch:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return times, watch.growth()


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


PARTS: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "report": report,
    "viewer": viewer,
    "compare": compare,
}

if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
