"""The same audit twice, into two folders: what the machine's cache saves. One JSON object.

Both are the command as a user types it, process start included; the cache is empty before the
first. `--ray N` makes a third one without the cache on N Ray nodes of one core each on this
machine, kills one of them after a quarter of the cells, and compares the numbers.

    python benchmarks/warm.py --model smollm2 --contexts paper-gender
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.runs import Run
from clinometer.storage.cache_folder import cache_folder


def command(arguments: argparse.Namespace, out: Path) -> float:
    """Seconds of one audit."""
    start = time.monotonic()
    clinometer = Path(sys.executable).with_name("clinometer")
    options = ["--json", "--contexts", arguments.contexts, "--out", out, *arguments.more]
    subprocess.run(
        [clinometer, "audit", arguments.model, *options], check=True, stdout=subprocess.DEVNULL
    )
    return time.monotonic() - start


def on_ray(arguments: argparse.Namespace, out: Path) -> dict[str, Any]:
    """The same on a cluster that loses a node."""
    from ray.cluster_utils import Cluster

    from clinometer.execution.ray import WorkerResources
    from clinometer.runs import AuditSettings, audit

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(arguments.ray - 1)]
    os.environ["RAY_ADDRESS"] = cluster.address
    killed: list[int] = []

    def kill(done: int, of: int) -> None:
        if not killed and done >= of / 4:
            killed.append(done)
            cluster.remove_node(nodes[-1], allow_graceful=False)

    start = time.monotonic()
    audit(
        arguments.model,
        contexts=arguments.contexts,
        out=out,
        settings=AuditSettings(),
        cache=False,
        executor="ray",
        resources=WorkerResources(cpus=1),
        progress=kill,
    )
    return {"seconds": round(time.monotonic() - start, 1), "node_killed_after_cells": killed}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--contexts", default="paper-gender")
    parser.add_argument("--ray", type=int, default=0)
    parser.add_argument("more", nargs="*", help="further options of the audit, after --")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if (models := cache_folder() / "models").is_dir():  # converting a GGUF file is no scoring
            (work / "models").symlink_to(models.resolve())
        os.environ["CLINOMETER_CACHE"] = str(work)
        os.environ.pop("CLINOMETER_CACHE_LIMIT", None)
        first, second = (command(arguments, work / name) for name in ("first", "second"))
        cold, warm = Run.load(work / "first"), Run.load(work / "second")
        result: dict[str, Any] = {
            "cells": int(np.prod(cold.preferences.values.shape[:2])),
            "first_s": round(first, 2),
            "second_s": round(second, 2),
            "ratio": round(first / second, 1),
            "from_cache": warm.record.cache.found,
            "identical": warm.preferences.equals(cold.preferences)
            and warm.risks.to_dict() == cold.risks.to_dict(),
            "cache_bytes": sum(f.stat().st_size for f in (work / "scores").rglob("*.*")),
        }
        if arguments.ray:
            result["ray"] = on_ray(arguments, work / "ray")
            clustered = Run.load(work / "ray")
            difference = np.abs(clustered.preferences.values - cold.preferences.values).max()
            result["ray"] |= {
                "identical": clustered.preferences.equals(cold.preferences),
                "largest_difference_of_a_preference": float(difference),
            }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
