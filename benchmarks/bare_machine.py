"""What the benchmarks share that also run on a bare GPU machine: imports, stages, timing."""

from __future__ import annotations

import importlib
import json
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

SOURCE = Path(__file__).parent.parent / "src/clinometer"
BEGAN = time.perf_counter()


def import_clinometer() -> str:
    """Import what is measured. A bare GPU machine may lack what the package's other parts need
    (pydantic, scipy, pandas): there, the packages above the models stand in without their own
    `__init__`, and every module that runs is the real one."""
    try:
        importlib.import_module("clinometer.models")
        return "whole"
    except ImportError as error:
        for name in [n for n in sys.modules if n.split(".")[0] == "clinometer"]:
            del sys.modules[name]
        for name, folder in (
            ("clinometer", SOURCE),
            ("clinometer.topics", SOURCE / "topics"),
        ):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [str(folder)]
        from clinometer.topics.prompt import Prompt

        vars(sys.modules["clinometer.topics"])["Prompt"] = Prompt
        return f"without the packages' __init__: {error}"


class Stages:
    """Runs stages while there is time, keeps their rows, and writes everything after each."""

    def __init__(
        self, record: dict[str, Any], seconds: float, out: Path | None
    ) -> None:
        self.record, self.seconds, self.out = record | {"rows": []}, seconds, out

    def run(self, name: str, needs: float, stage: Callable[[], dict[str, Any]]) -> None:
        left = self.seconds - (time.perf_counter() - BEGAN)
        if left < needs:
            row = {"name": name, "skipped": f"{left:.0f} s left, {needs:.0f} needed"}
        else:
            try:
                row = {"name": name, **stage()}
            except (
                Exception
            ) as error:  # one variant that fails must not cost the others
                row = {
                    "name": name,
                    "failed": f"{type(error).__name__}: {str(error)[:200]}",
                }
        row["at_s"] = round(time.perf_counter() - BEGAN, 1)
        self.record["rows"].append(row)
        print(json.dumps(row), flush=True)
        if self.out:
            self.out.write_text(json.dumps(self.record, indent=1))


def timed(work: Callable[[], Any], device: torch.device) -> float:
    sync = torch.cuda.synchronize if device.type == "cuda" else bool
    sync()
    start = time.perf_counter()
    work()
    sync()
    return time.perf_counter() - start


def dtype_on(device: torch.device) -> torch.dtype:
    return torch.bfloat16 if device.type == "cuda" else torch.float32


def matmul_peak(device: torch.device) -> float:
    """TFLOP/s of a large matrix product on random data, median of ten."""
    n = 8192 if device.type == "cuda" else 512
    a, b = (torch.randn(n, n, device=device, dtype=dtype_on(device)) for _ in range(2))
    for _ in range(3):
        a @ b
    return (
        2
        * n**3
        / float(np.median([timed(lambda: a @ b, device) for _ in range(10)]))
        / 1e12
    )
