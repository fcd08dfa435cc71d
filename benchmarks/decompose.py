"""Time and memory of `decompose` on 120 × 32,000 × 2: prints one JSON object."""

from __future__ import annotations

import json
import os
import time
import tracemalloc

import numpy as np

from clinometer.measure import decompose

SHAPE = (120, 32_000, 2)
LIMIT_SECONDS = 2.0
LIMIT_TIMES_INPUT = 3.0


def main() -> None:
    """Run each case five times for time, once more for memory."""
    rng = np.random.default_rng(0)
    first = rng.beta(5, 5, SHAPE[:2])
    p = np.stack([first, 1 - first], axis=-1)
    weights = rng.zipf(2.0, SHAPE[1]).astype(np.float64)
    cases = {
        "plain": {},
        "norm 2": {"norm": 2},
        "mask": {"mask": rng.random(SHAPE[:2]) < 0.9},
        "reference per cell": {"reference": np.full(SHAPE, 0.5)},
    }
    results = {}
    for name, settings in cases.items():
        seconds = []
        for _ in range(5):
            start = time.perf_counter()
            decompose(p, context_weights=weights, **settings)
            seconds.append(time.perf_counter() - start)
        tracemalloc.start()
        decompose(p, context_weights=weights, **settings)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        results[name] = {
            "seconds_median": round(float(np.median(seconds)), 3),
            "seconds_max": round(max(seconds), 3),
            "extra_mb": round(peak / 1e6, 2),
            "total_times_input": round(1 + peak / p.nbytes, 3),
        }
    passed = all(
        r["seconds_max"] < LIMIT_SECONDS and r["total_times_input"] <= LIMIT_TIMES_INPUT
        for r in results.values()
    )
    print(
        json.dumps(
            {
                "benchmark": "decompose",
                "shape": SHAPE,
                "input_mb": round(p.nbytes / 1e6, 1),
                "cpus": os.cpu_count(),
                "numpy": np.__version__,
                "limit_seconds": LIMIT_SECONDS,
                "limit_times_input": LIMIT_TIMES_INPUT,
                "results": results,
                "passed": passed,
            }
        )
    )


if __name__ == "__main__":
    main()
