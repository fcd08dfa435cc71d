"""Error of the first kind and power of `compare`: prints one JSON object.

Preferences of two models are drawn anew for the same 12 groups in n contexts: p = logistic of a
group's leaning plus swings that the two models share in part. Type I: both models have the same
leanings and swings, so the true risks are equal. Power: model A leans further, by as much as makes
its true R^b 0.02 larger. "worst" holds settings made to be hard: all groups at parity, or all at
1.5 standard errors from it. Passed: each measure's mean over the settings is within the limit, and
each single rate within it up to two standard errors of this simulation (an argument sets the
repeats: 250 take about two minutes, 1000 give the figures in docs/compare.md).
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

from clinometer.measure import compare

GROUPS = 12
SWING = 0.8
REPLICATES = 200
LIMIT = (0.03, 0.07)


def weights(kind: str, n: int) -> np.ndarray:
    """Even, or falling like 1/rank."""
    return np.ones(n) if kind == "even" else 1.0 / np.arange(1, n + 1)


def draw(
    rng: np.random.Generator, leanings: np.ndarray, n: int, *, shared: float, tied: float
) -> np.ndarray:
    """p [2,X,n,2]; `shared` is the correlation between models, `tied` that between groups."""

    def noise() -> np.ndarray:
        one, own = rng.standard_normal((1, n)), rng.standard_normal((GROUPS, n))
        return np.sqrt(tied) * one + np.sqrt(1 - tied) * own

    common = noise()
    swings = np.stack([np.sqrt(shared) * common + np.sqrt(1 - shared) * noise() for _ in "ab"])
    first = 1.0 / (1.0 + np.exp(-(leanings[:, :, None] + SWING * swings)))
    return np.stack([first, 1 - first], axis=-1)


def mean_stereotype(leaning: np.ndarray) -> np.ndarray:
    """True mean of s for leanings [..]: Gauss-Hermite."""
    nodes, mass = np.polynomial.hermite_e.hermegauss(60)
    return np.tanh((leaning[..., None] + SWING * nodes) / 2) @ (mass / mass.sum())


def shifted(leanings: np.ndarray, by: float) -> np.ndarray:
    """Leanings whose mean stereotype is larger by `by` in size."""
    grid = np.linspace(-4, 4, 4001)
    truth = mean_stereotype(grid)
    now = np.interp(leanings, grid, truth)
    return np.interp(now + np.sign(leanings) * by, truth, grid)


def rejections(
    leanings: str, n: int, kind: str, *, shared: float, tied: float, more: float, repeats: int
) -> dict[str, object]:
    """Share of p-values at most 0.05 over `repeats` pairs of models."""
    rng = np.random.default_rng([n, len(kind), round(100 * shared), len(leanings)])
    w = weights(kind, n)
    error = np.sqrt(np.sum((w / w.sum()) ** 2) * 0.12)  # of a mean stereotype, about
    hits, contains = np.zeros(3), np.zeros(3)
    for i in range(repeats):
        spread = rng.normal(0, 0.8, GROUPS)
        size = {
            "spread": spread,
            "far": np.where(spread > 0, 1.0, -1.0),
            "parity": np.zeros(GROUPS),
            "near": np.full(GROUPS, 2 * 1.15 * 1.5 * error),
        }[leanings]
        both = np.stack([shifted(size, more) if more else size, size])
        p = draw(rng, both, n, shared=shared, tied=tied)
        result = compare(*p, context_weights=w, replicates=REPLICATES, seed=i)
        hits += [d.p is not None and d.p <= 0.05 for d in result.overall]
        truth = np.abs(mean_stereotype(both)).mean(axis=1)
        gap = truth[0] - truth[1]
        d = result.overall[1]
        contains[1] += d.low is not None and d.high is not None and d.low <= gap <= d.high
    rate = (hits / repeats).round(3).tolist()
    return {
        "leanings": leanings,
        "contexts": n,
        "weights": kind,
        "n_eff": round(float(1 / np.sum((w / w.sum()) ** 2)), 1),
        "between_models": shared,
        "between_groups": tied,
        "R": rate[0],
        "R_bias": rate[1],
        "R_volatility": rate[2],
        "R_bias_interval_holds_truth": round(float(contains[1] / repeats), 3),
    }


def main(repeats: int = 250) -> None:
    """Type-I error, hard settings, power for 0.02."""
    start = time.perf_counter()
    settings = [(30, "even"), (350, "even"), (30, "zipf"), (350, "zipf")]
    kept = {"tied": 0.2, "repeats": repeats}
    type_one = [
        rejections(leanings, n, kind, shared=shared, more=0.0, **kept)
        for n, kind in settings
        for leanings, shared in (("spread", 0.0), ("spread", 0.6), ("far", 0.6))
    ]
    worst = [
        rejections(leanings, n, kind, shared=0.0, more=0.0, tied=0.0, repeats=repeats)
        for n, kind in ((30, "even"), (350, "zipf"))
        for leanings in ("parity", "near")
    ]
    power = [
        rejections("spread", n, kind, shared=0.6, more=0.02, tied=0.2, repeats=repeats // 2)
        for n, kind in settings
    ]
    low, high = LIMIT
    slack = 2 * np.sqrt(0.05 * 0.95 / repeats)
    measures = ("R", "R_bias", "R_volatility")
    rates = [row[m] for row in type_one for m in measures]
    means = {m: round(float(np.mean([row[m] for row in type_one])), 4) for m in measures}
    print(
        json.dumps(
            {
                "benchmark": "compare",
                "groups": GROUPS,
                "repeats": repeats,
                "limit": LIMIT,
                "monte_carlo_two_se": round(float(slack), 3),
                "type_one": type_one,
                "type_one_mean": means,
                "type_one_range": [min(rates), max(rates)],
                "outside_limit": sum(not low <= r <= high for r in rates),
                "worst": worst,
                "power_for_0.02": power,
                "seconds": round(time.perf_counter() - start, 1),
                "passed": all(low <= mean <= high for mean in means.values())
                and all(low - slack <= r <= high + slack for r in rates),
            }
        )
    )


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
