"""What the planted simulations share: arguments, seeds, repetitions on many cores.

Each repetition has its own generator, from the seed, the setting's name and the repetition's
number, so the figures do not depend on the number of cores. Settings that OUT has already, with the
same seed and number of repetitions, are not computed again.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, Protocol

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

CHUNK = 10
"""Repetitions that one process computes at a time."""


class Named(Protocol):
    """A setting."""

    @property
    def name(self) -> str:
        """Its name, different from all others."""


def generator(seed: int, name: str, repetition: int = 0) -> np.random.Generator:
    """Repetitions count from 1; 0 is for what all of them share."""
    return np.random.default_rng([seed, zlib.crc32(name.encode()), repetition])


def main(
    description: str,
    halves: dict[str, Sequence[Any]],
    some: Callable[[Any, int, range], list[Any]],
    summary: Callable[[Any, int, list[Any]], dict[str, Any]],
) -> None:
    """Read the arguments, run the settings, write one JSON line for each.

    halves   the settings by --half
    some     a setting, the seed and numbers of repetitions -> one result each
    summary  a setting, the seed and all its results -> the line
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "out", type=Path, nargs="?", help="JSON lines; none: only printed"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--half", choices=[*halves], default="report")
    parser.add_argument("--only", default="", help="settings whose name contains this")
    given = parser.parse_args()
    done = _done(given.out)
    todo = [
        setting
        for setting in halves[given.half]
        if given.only in setting.name
        and (setting.name, given.seed, given.repeats) not in done
    ]
    began = time.perf_counter()
    with ProcessPoolExecutor(given.jobs) as pool:
        chunks: dict[Future[list[Any]], tuple[Named, int]] = {
            pool.submit(some, setting, given.seed, numbers): (setting, numbers.start)
            for setting in todo
            for numbers in _chunks(given.repeats)
        }
        found: dict[str, dict[int, list[Any]]] = {setting.name: {} for setting in todo}
        for future in as_completed(chunks):
            setting, start = chunks[future]
            mine = found[setting.name]
            mine[start] = future.result()
            if len(mine) < len(_chunks(given.repeats)):
                continue
            results = [one for start in sorted(mine) for one in mine[start]]
            identity = {
                "setting": setting.name,
                "seed": given.seed,
                "repeats": given.repeats,
            }
            line = json.dumps(identity | summary(setting, given.seed, results))
            print(line, flush=True)
            if given.out:
                with given.out.open("a", encoding="utf-8") as out:
                    out.write(line + "\n")
    print(
        f"# {time.perf_counter() - began:.0f} s with {given.jobs} processes", flush=True
    )


def _chunks(repeats: int) -> list[range]:
    return [range(i + 1, min(i + CHUNK, repeats) + 1) for i in range(0, repeats, CHUNK)]


def _done(out: Path | None) -> set[tuple[str, int, int]]:
    if out is None or not out.exists():
        return set()
    lines = map(json.loads, out.read_text("utf-8").splitlines())
    return {(line["setting"], line["seed"], line["repeats"]) for line in lines}
