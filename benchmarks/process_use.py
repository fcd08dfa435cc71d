"""What a process has used, from Linux's /proc: processor time and memory."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Use:
    """Of one process at one moment."""

    processor_s: float
    memory_mb: float


def use_of(process: int) -> Use:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return Use(
        ticks / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE") / 1e6
    )


def finished(command: list[str]) -> dict[str, float]:
    """Run a command to its end: wall and processor seconds, and the most memory it had."""
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"{' '.join(command[3:6])} …: status {child.returncode}")
    return {
        "wall_s": round(time.perf_counter() - begun, 2),
        "processor_s": round(used.ru_utime + used.ru_stime, 2),
        "peak_mb": round(used.ru_maxrss / 1000, 1),
    }


@dataclass
class Watch:
    """Looks at a process every few seconds; `done` says how much it has done by then."""

    process: Any
    done: Any
    every_s: float = 5.0
    seen: list[tuple[int, Use]] = field(default_factory=list)

    def __enter__(self) -> Watch:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            with contextlib.suppress(OSError, IndexError):  # just killed
                self.seen.append((self.done(), use_of(self.process())))
            if self._stop.wait(self.every_s):
                return

    def growth(self) -> dict[str, Any]:
        """Memory and processor time per request, in the second and in the last quarter. (In the
        first, things are being read for the first time.)"""
        n = len(self.seen)
        if n < 8:
            return {}
        found = {}
        for name, (a, b) in {
            "early": (n // 4, n // 2),
            "late": (3 * n // 4, n - 1),
        }.items():
            (before, then), (after, now) = self.seen[a], self.seen[b]
            each = (now.processor_s - then.processor_s) / max(1, after - before)
            found[name] = {
                "requests": after - before,
                "processor_ms_per_request": round(1000 * each, 2),
                "memory_mb": round(now.memory_mb, 1),
            }
        return found


def percentiles(seconds: list[float]) -> dict[str, float]:
    """In milliseconds."""
    ordered = sorted(seconds)
    shares = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "max": 1.0}
    at = {
        name: min(len(ordered) - 1, int(share * len(ordered)))
        for name, share in shares.items()
    }
    return {name: round(1000 * ordered[place], 1) for name, place in at.items()}


def load_average() -> float:
    return round(os.getloadavg()[0], 1)
