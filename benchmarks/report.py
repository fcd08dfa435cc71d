"""How long a report of a big run and the viewer's first page take: python benchmarks/report.py

Prints one JSON object. The report is of 120 groups × 2,000 contexts, from the folder to the file
on disk in a fresh process; the first page is asked of a viewer over 200 runs, the first time
(nothing read by a request yet) and again.
"""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.report.made import made_run

RUNS = 200


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made_run(folder / "big", groups=120, contexts=2000, replicates=2000)
        report = folder / "report.html"
        command = [sys.executable, "-c", "from clinometer.cli import main; main()", "report"]
        command.append(str(folder / "big"))
        start = time.perf_counter()
        subprocess.run([*command, "--out", str(report)], check=True, stdout=subprocess.DEVNULL)
        built = time.perf_counter() - start
        many = folder / "many"
        made_run(many / "run0", groups=20, contexts=20, replicates=100)
        for i in range(1, RUNS):
            shutil.copytree(many / "run0", many / f"run{i}")
        cold, warm = first_page(many)
        size = report.stat().st_size
        print(
            json.dumps(
                {
                    "report_120x2000_s": round(built, 2),
                    "report_bytes": size,
                    "viewer_200_runs_first_page_cold_ms": round(1000 * cold, 1),
                    "viewer_200_runs_first_page_warm_ms": round(1000 * warm, 1),
                }
            )
        )


def first_page(folder: Path) -> tuple[float, float]:
    import uvicorn

    from clinometer.web import viewer

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(viewer(folder), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    while not server.started:
        time.sleep(0.01)
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    times = []
    for _ in range(4):
        start = time.perf_counter()
        with urllib.request.urlopen(address) as answer:
            page = answer.read().decode()
        times.append(time.perf_counter() - start)
        if f"{RUNS} runs" not in page:
            raise SystemExit("the page does not list every run")
    server.should_exit = True
    thread.join()
    listener.close()
    return times[0], min(times[1:])


if __name__ == "__main__":
    main()
