"""Every fuzzer of tests/security with a larger budget: executions, minutes, findings.

    python benchmarks/fuzz.py                     # all, 40 times as many examples as in CI
    python benchmarks/fuzz.py files --times 100

The tests themselves run, with new random examples instead of the fixed ones of CI. Prints one JSON
object; the status is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECURITY = "tests/security"
FUZZERS = {
    "bytes": f"{SECURITY}/test_files.py::test_any_bytes_are_a_value_or_a_value_error",
    "json": f"{SECURITY}/test_files.py::test_sound_json_is_read_as_it_is",
    "viewer": f"{SECURITY}/test_viewer.py::test_a_spoiled_record_takes_no_page_down",
    "inspect": "tests/bridges/inspect/test_hostile_logs.py::test_a_fuzzed_log_is_a_run_or_one_line",
    **{
        name.replace("_", " "): f"{SECURITY}/test_fuzzed.py::test_{name}"
        for name in (
            "files", "topics", "protocols", "samples_of_a_harness", "results_of_a_tool",
            "tables_of_replies", "model_folders", "gguf_files", "chat_templates", "records",
            "replies", "servers",
        )
    },
}  # fmt: skip
if importlib.util.find_spec("inspect_ai") is None:  # in an environment of its own
    del FUZZERS["inspect"]
#: What Hypothesis says of a phase: "60 passing, 0 failing, and 2 invalid test cases".
COUNTS = re.compile(r"(\d+) (passing|failing|invalid)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", help=f"of {', '.join(FUZZERS)}")
    parser.add_argument("--times", type=int, default=40)
    given = parser.parse_args()
    found = {}
    for name in given.what or FUZZERS:
        begun = time.monotonic()
        one = fuzzed(FUZZERS[name], given.times)
        found[name] = {**one, "minutes": round((time.monotonic() - begun) / 60, 1)}
        print(name, found[name], file=sys.stderr, flush=True)
    print(json.dumps(found, indent=1))
    sys.exit(1 if any(one["findings"] for one in found.values()) else 0)


def fuzzed(test: str, times: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "--hypothesis-show-statistics", test],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "CLINOMETER_NEW_CASES": "1", "CLINOMETER_FUZZ": str(times)},
    )  # fmt: skip
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout[-2000:] + done.stderr[-2000:])
    if done.returncode:
        print(done.stdout[-6000:], file=sys.stderr)
    executions = sum(int(count) for count, _ in COUNTS.findall(done.stdout))
    findings = [line for line in done.stdout.splitlines() if line.startswith("FAILED")]
    return {"executions": executions, "findings": findings}


if __name__ == "__main__":
    main()
