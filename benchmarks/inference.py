"""Bias of the estimates and speed of the inference: prints one JSON object.

The contexts of a setting are independent draws of p, independent between groups; Zipf weights go
by rank and are unrelated to p. `--quick` runs a tenth of the repetitions. Coverage over many
settings is measured by coverage.py.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import betaln

from clinometer.measure import decompose, estimate_risks

GROUPS, REPETITIONS = 20, 400
SHAPE = (120, 2000, 2)
RISKS = ("R", "R_bias", "R_volatility")
Draw = Callable[[np.random.Generator, int, int], np.ndarray]


def weights(kind: str, n: int) -> np.ndarray:
    """Even, or Zipf by rank."""
    return np.ones(n) if kind == "even" else 1.0 / np.arange(1, n + 1)


def beta_truth(a: float, b: float) -> np.ndarray:
    """R, R^b, R^v of p ~ Beta(a, b) for K = 2."""

    def part(p: float) -> float:
        density = (a - 1) * np.log(p) + (b - 1) * np.log(1 - p) - betaln(a, b)
        return float(abs(2 * p - 1) * np.exp(density))

    whole = quad(part, 0, 0.5)[0] + quad(part, 0.5, 1)[0]
    bias = abs(2 * a / (a + b) - 1)
    return np.array([whole, bias, whole - bias])


def pair(first: np.ndarray) -> np.ndarray:
    """p and 1 - p."""
    return np.stack([first, 1 - first], axis=-1)


def stream(*key: object) -> np.random.Generator:
    """Random numbers of their own for each row: a bad draw must not return in the next ones."""
    return np.random.default_rng(zlib.crc32(repr(key).encode()))


def named(values: np.ndarray) -> dict[str, float]:
    """Three numbers by the names of the risks."""
    return {name: round(float(v), 4) for name, v in zip(RISKS, values, strict=True)}


def bias_row(
    name: str, draw: Draw, truth: np.ndarray, *, n: int, X: int, times: int, **more: Any
) -> Any:
    """Mean error of R^v and R^b, plug-in and shown (the middle), and their spread."""
    rng = stream(name, "bias", n, X)
    plain, better = np.zeros((times, 2)), np.zeros((times, 2))
    for i in range(times):
        p = draw(rng, X, n)
        for rows, report in (
            (plain, decompose(p)),
            (better, estimate_risks(p, **more)),
        ):
            rows[i] = report.R_bias.value, report.R_volatility.value
    off, left = plain.mean(axis=0) - truth[1:], better.mean(axis=0) - truth[1:]
    return {
        "p": name,
        "n": n,
        "X": X,
        **{key: int(value) for key, value in more.items()},
        "true_R_volatility": round(float(truth[2]), 4),
        "plug_in": round(float(plain[:, 1].mean()), 4),
        "shown": round(float(better[:, 1].mean()), 4),
        "bias_left": round(float(left[1] / off[1]), 3) if abs(off[1]) > 1e-3 else None,
        "error_in_R_bias": [round(float(off[0]), 4), round(float(left[0]), 4)],
        "sd": [round(float(plain[:, 1].std()), 4), round(float(better[:, 1].std()), 4)],
        "standard_error": round(float(better[:, 1].std() / np.sqrt(times)), 4),
    }


def biases(times: int) -> list[Any]:
    """Plug-in against shown."""
    rows = []
    for a, b in ((5, 5), (6, 4), (2, 8), (0.5, 0.5)):
        for n in (10, 50, 350):
            for X in (1, 20, 120):
                draw: Draw = lambda rng, X, n, a=a, b=b: pair(rng.beta(a, b, (X, n)))  # noqa: E731
                more = times * 10 if X == 1 else times
                rows.append(
                    bias_row(
                        f"Beta({a},{b})", draw, beta_truth(a, b), n=n, X=X, times=more
                    )
                )
    many = np.random.default_rng(0).dirichlet(np.full(5, 2.0), 1_000_000)
    whole = float(((many.max(axis=1) * 5 - 1) / 4).mean())
    for n in (10, 50):
        rows.append(
            bias_row(
                "Dirichlet(2 x 5)",
                lambda rng, X, n: rng.dirichlet(np.full(5, 2.0), (X, n)),
                np.array([whole, 0.0, whole]),
                n=n,
                X=20,
                times=times,
            )
        )
    for m in (5, 10, 25):
        rows.append(
            bias_row(
                "Beta(5,5), sampled",
                lambda rng, X, n, m=m: pair(
                    rng.binomial(m, rng.beta(5, 5, (X, n))) / m
                ),
                beta_truth(5, 5),
                n=350,
                X=20,
                times=max(10, times // 4),
                samples=m,
            )
        )
    return rows


def speed() -> Any:
    """Risks with intervals of 120 × 2,000 × 2, and the peak of the process so far."""
    p = pair(np.random.default_rng(0).beta(5, 5, SHAPE[:2]))
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        estimate_risks(p, context_weights=weights("zipf", SHAPE[1]))
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return {
        "shape": SHAPE,
        "seconds": [round(s, 2) for s in seconds],
        "peak_process_mb": round(peak, 1),
        "limits": {"seconds": 10, "mb": 2000},
        "passed": min(seconds) < 10 and peak < 2000,
    }


def main() -> None:
    """Run everything; --quick for about a minute."""
    times = REPETITIONS // 10 if "--quick" in sys.argv else REPETITIONS
    start = time.perf_counter()
    quick = speed()
    result = {
        "benchmark": "inference",
        "repetitions": times,
        "speed": quick,
        "bias": biases(max(20, times // 4)),
        "cpus": os.cpu_count(),
        "numpy": np.__version__,
        "seconds": round(time.perf_counter() - start, 1),
        "cpu_seconds": round(time.process_time(), 1),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
