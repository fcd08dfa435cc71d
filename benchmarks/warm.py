"""The same audit twice, into two folders: what the machine's cache saves. One JSON object.

Both are the command as a user types it, process start included; the cache is empty before the
first.

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
from clinometer.storage.atomic import cache_folder


def command(arguments: argparse.Namespace, out: Path) -> float:
    """Seconds of one audit."""
    start = time.monotonic()
    clinometer = Path(sys.executable).with_name("clinometer")
    options = [
        "--json",
        "--contexts",
        arguments.contexts,
        "--out",
        out,
        *arguments.more,
    ]
    subprocess.run(
        [clinometer, "audit", arguments.model, *options],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--contexts", default="paper-gender")
    parser.add_argument(
        "more", nargs="*", help="further options of the audit, after --"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        if (
            models := cache_folder() / "models"
        ).is_dir():  # converting a GGUF file is no scoring
            (work / "models").symlink_to(models.resolve())
        os.environ["CLINOMETER_CACHE"] = str(work)
        os.environ.pop("CLINOMETER_CACHE_LIMIT", None)
        first, second = (
            command(arguments, work / name) for name in ("first", "second")
        )
        cold, warm = Run.load(work / "first"), Run.load(work / "second")
        result: dict[str, Any] = {
            "cells": int(np.prod(cold.preferences.values.shape[:2])),
            "first_s": round(first, 2),
            "second_s": round(second, 2),
            "ratio": round(first / second, 1),
            "from_cache": warm.record.cache.found,
            "identical": warm.preferences.equals(cold.preferences)
            and warm.risks.to_dict() == cold.risks.to_dict(),
            "cache_bytes": sum(
                f.stat().st_size for f in (work / "scores").rglob("*.*")
            ),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
