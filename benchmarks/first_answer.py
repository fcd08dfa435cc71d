"""Processor time until a model's first answer, and of the first commands: one JSON object.

Each repetition is a process of its own; medians. Wall time is that of the machine as it is: with
other work beside it, processor time says more.

    python benchmarks/first_answer.py
    python benchmarks/first_answer.py --tree ../before . --repetitions 9

With several trees (folders with `src`), their processes take turns, so that the figures compare.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

#: What a first audit does up to its first answer.
_FIRST = """
import sys
from clinometer.runs import audit

class Answered(Exception):
    pass

def progress(done, total):
    if done:
        raise Answered

try:
    audit(sys.argv[1], topic="gender", max_contexts=1, cache=False, progress=progress)
except Answered:
    pass
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tree", type=Path, nargs="+", default=[Path(__file__).parents[1]])
    parser.add_argument("--models", nargs="+", default=["pocket:gpt2-s", "pocket:bert"])
    parser.add_argument("--repetitions", type=int, default=5)
    arguments = parser.parse_args()
    commands = {
        "--help": ["-m", "clinometer", "--help"],
        "models": ["-m", "clinometer", "models"],
        "import torch": ["-c", "import torch"],
        "import torch, transformers, its models": [
            "-c",
            "import torch, transformers; transformers.GPT2LMHeadModel",
        ],
        **{f"first answer of {name}": ["-c", _FIRST, name] for name in arguments.models},
    }
    found: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for _ in range(arguments.repetitions + 1):  # the first fills the disk's cache
        for name, command in commands.items():
            for tree in arguments.tree:
                times = found.setdefault(name, {}).setdefault(tree.resolve().name, [])
                times.append(timed(command, tree))
    print(
        json.dumps(
            {
                "benchmark": "first_answer",
                "seconds": {
                    name: {tree: medians(times[1:]) for tree, times in trees.items()}
                    for name, trees in found.items()
                },
            }
        )
    )


def timed(command: list[str], tree: Path) -> tuple[float, float]:
    """Processor and wall seconds of a Python process."""
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve() / "src"), "OMP_NUM_THREADS": "1"}
    begun = time.perf_counter()
    child = subprocess.Popen([sys.executable, *command], env=environment, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command[:3])}: status {child.returncode}")
    return used.ru_utime + used.ru_stime, time.perf_counter() - begun


def medians(times: list[tuple[float, float]]) -> dict[str, float]:
    processor, wall = zip(*times, strict=True)
    return {
        "processor": round(statistics.median(processor), 2),
        "wall": round(statistics.median(wall), 2),
    }


if __name__ == "__main__":
    main()
