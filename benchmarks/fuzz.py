"""Every fuzzer of tests/security with a larger budget: executions, minutes, findings.

    python benchmarks/fuzz.py                     # all, 40 times as many examples as in CI
    python benchmarks/fuzz.py files --times 100
    python benchmarks/fuzz.py records             # 1,331 mutated records, two pages of each

The tests themselves run, with new random examples instead of the fixed ones of CI. `records` is the
attack on the viewer that first took it down: one value of a run.json is replaced, and the list and
the run are asked for. Prints one JSON object; the status is 1 if anything was found.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
SECURITY, MODELS = "tests/security", "tests/security/test_fuzzed_models.py::test_a_fuzzed"
LOGS = "tests/security/test_fuzzed_logs.py::test"
FUZZERS = {
    "files": f"{SECURITY}/test_files.py::test_fuzzed_files_are_read_or_refused_in_one_line",
    "bytes": f"{SECURITY}/test_limits.py::test_any_bytes_are_a_value_or_a_value_error",
    "json": f"{SECURITY}/test_limits.py::test_sound_json_is_read_as_it_is",
    "topics": f"{MODELS}_topic_is_read_or_refused_in_one_line",
    "protocols": f"{MODELS}_protocol_is_read_or_refused_in_one_line",
    "harness": f"{LOGS}_fuzzed_samples_of_a_harness_are_a_run_or_one_line",
    "tools": f"{LOGS}_fuzzed_replies_of_a_tool_are_runs_or_one_line",
    "tables": f"{LOGS}_a_fuzzed_table_of_replies_is_runs_or_one_line",
    "inspect": "tests/bridges/inspect/test_hostile_logs.py::test_a_fuzzed_log_is_a_run_or_one_line",
    "folders": f"{MODELS}_model_folder_is_opened_or_refused_in_one_line",
    "gguf": f"{MODELS}_gguf_file_is_converted_or_refused_in_one_line",
    "templates": f"{MODELS}_template_is_applied_or_refused_in_one_line",
    "run folders": f"{SECURITY}/test_fuzzed_records.py",
    "replies": f"{SECURITY}/test_fuzzed_replies.py::"
    "test_a_fuzzed_reply_gives_log_probabilities_or_is_wrong",
    "servers": f"{SECURITY}/test_fuzzed_replies.py::"
    "test_a_server_with_fuzzed_replies_is_believed_or_refused_in_one_line",
}
if importlib.util.find_spec("inspect_ai") is None:  # in an environment of its own
    del FUZZERS["inspect"]
#: What Hypothesis says of a phase: "60 passing, 0 failing, and 2 invalid test cases".
COUNTS = re.compile(r"(\d+) (passing|failing|invalid)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", help=f"of {', '.join(FUZZERS)}, records")
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--records", type=int, default=1331)
    given = parser.parse_args()
    found = {}
    for name in given.what or [*FUZZERS, "records"]:
        begun = time.monotonic()
        one = records(given.records) if name == "records" else fuzzed(FUZZERS[name], given.times)
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


def records(number: int) -> dict[str, Any]:
    import numpy as np
    from starlette.testclient import TestClient
    from tests.report.made import made_run
    from tests.security.test_viewer import bad_run, mutated

    from clinometer.web import viewer

    loads, findings = 0, []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        made_run(root / "good", groups=3, contexts=4, replicates=100)
        sound = (root / "good" / "run.json").read_text(encoding="utf-8")
        with TestClient(viewer(root), base_url="http://127.0.0.1") as client:
            for seed in range(number):
                bad_run(root, mutated(json.loads(sound), np.random.default_rng(seed)))
                for page in ("/", "/run?id=bad"):
                    loads += 1
                    try:
                        reply = client.get(page)
                        fine = reply.status_code in (200, 400, 404)
                        fine &= page != "/" or "made:model" in reply.text
                    except Exception as error:
                        fine = False
                        print(f"seed {seed} {page}: {error!r}", file=sys.stderr)
                    if not fine:
                        findings.append(f"seed {seed}: {page}")
    return {"executions": loads, "findings": findings}


if __name__ == "__main__":
    main()
