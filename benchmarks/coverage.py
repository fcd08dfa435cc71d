"""Coverage of the intervals and error rates of the tests, over many settings: one JSON line each.

    python benchmarks/coverage.py OUT.jsonl [--processes 16] [--repeats 200] [--part bracket|
        replies|intervals|few|compare|unpaired|margin|leaning|criteria|equal]
        [--half choose|report] [--only TEXT] [--csv FILE] [--limit SECONDS]
    python benchmarks/coverage.py OUT.jsonl --summary

Lines that OUT holds already are not computed again, so the same command resumes a run that was
stopped. Settings are split in two halves by a hash of their name: constructions are chosen on
"choose", and "report" is for the figures in docs/. The random numbers of a repetition
depend on the name of its setting and its index alone. Needs numpy and scipy only.

Two categories: s = tanh(lean + swing z), z normal with correlation `rho` between groups in a
context; more: p = softmax of the same. Leans are in standard errors of a group's mean: all alike
("same"), or spread normally over the groups ("spread"). The last category has the share `rare`
where one is given, and the others are alike.

"bracket" has the nineteen worlds that the construction was first tried in, drawn anew. "replies"
counts replies on scales, and looks for groups that lean. "criteria" holds groups against their
mean, with the criteria share and points: coverage, and how often any group is listed where none
leans (`listed`). "equal" compares models of equal risk. "few" is R alone in the settings of
"intervals" with two categories and at most 50 contexts, for thousands of repetitions.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import clinometer
from clinometer.measure import (
    Preferences,
    compare,
    estimate_risks,
    read_preferences,
)

SWING = 0.35
LEANS, CONTEXTS, RHOS = (0.0, 0.5, 1.0, 1.5, 3.0), (5, 10, 30, 50, 350), (0.0, 0.5, 0.9)
WEIGHTS = ("even", "zipf", "mined")
RISKS = ("R", "R_bias", "R_volatility")
SETS = (("even", 10), ("even", 30), ("even", 100), ("paper", 10))
TRUTH, BLOCK = 40_000, 2_000
"""Contexts behind a truth relative to the mean of the groups, and how many at a time."""


def intervals_settings() -> Iterator[dict[str, Any]]:
    """Every combination for two categories; fewer for five, which take thirty times as long."""
    for n in CONTEXTS:
        for kind in WEIGHTS:
            for lean in LEANS:
                for rho in RHOS:
                    for X in (20, 120):
                        for shape in ("same", "spread"):
                            if lean or shape == "same":
                                yield {
                                    "K": 2,
                                    "n": n,
                                    "weights": kind,
                                    "lean": lean,
                                    "rho": rho,
                                    "X": X,
                                    "shape": shape,
                                }
    for n in (10, 30, 50):
        for kind in ("even", "zipf"):
            for lean in (0.0, 1.0, 3.0):
                for rho in (0.0, 0.5):
                    yield {
                        "K": 5,
                        "n": n,
                        "weights": kind,
                        "lean": lean,
                        "rho": rho,
                        "X": 20,
                        "shape": "same",
                    }


def criteria_settings() -> Iterator[dict[str, Any]]:
    """Every combination for exact probabilities and up to three categories. More categories, and
    sampled replies, take many times as long: some of the designs, in turn."""
    kinds = [("share", K, rare) for K in (2, 3, 5, 10) for rare in (0.0, 0.0001, 0.01)]
    kinds += [("points", K, 0.0) for K in (5, 10)]
    exact, sampled = (list(product((4, 24), SETS, of)) for of in ((0,), (10, 20)))
    for i, ((criterion, K, rare), lean) in enumerate(product(kinds, (0.0, 3.0))):
        some = exact if K < 5 else [exact[(3 * i + k) % len(exact)] for k in (0, 5)]
        turn = (5 * (i // 2) + 7 * (i % 2)) % len(sampled)
        replies = [sampled[turn]] if rare in (0.0, 0.01) else []
        for X, (weights, n), answers in some + replies:
            yield {
                "criterion": criterion,
                "K": K,
                "rare": rare,
                "n": n,
                "weights": weights,
                "lean": lean,
                "rho": 0.5,
                "X": X,
                "shape": "spread",
                "answers": answers,
            }


def settings_of(part: str) -> list[dict[str, Any]]:
    """The settings of a part."""
    if part == "intervals":
        return list(intervals_settings())
    if part == "few":
        return [one for one in intervals_settings() if one["K"] == 2 and one["n"] <= 50]
    if part == "criteria":
        return list(criteria_settings())
    if part == "equal":
        return [
            {
                "reference": reference,
                "K": K,
                "weights": kind,
                "n": n,
                "X": X,
                "leanings": leanings,
            }
            | {"shared": 0.6, "more": 0.0}
            for reference in ("even", "group-mean")
            for K in (2, 5)
            for kind, n in SETS
            for X in (4, 24)
            for leanings in (
                "spread",
                "close",
                "parity",
                *(("mirrored",) if K == 2 else ()),
            )
        ]
    if part == "compare":
        return [
            {
                "weights": kind,
                "n": n,
                "X": X,
                "leanings": leanings,
                "shared": shared,
                "more": more,
            }
            for kind, n in (("paper", 10), ("even", 30), ("zipf", 30), ("mined", 350))
            for X in (12, 120)
            for leanings in ("spread", "far", "near", "parity")
            for shared in (0.0, 0.6)
            for more in ((0.0, 0.1) if leanings == "spread" else (0.0,))
        ]
    if part == "unpaired":
        return [
            {
                "weights": f"{kind},{other}",
                "n": n,
                "m": m,
                "X": 24,
                "leanings": leanings,
            }
            | {"common": common, "more": more}
            for kind, n, other, m in (
                ("paper", 10, "mined", 350),
                ("even", 30, "mined", 350),
                ("zipf", 30, "zipf", 30),
                ("mined", 350, "mined", 350),
            )
            for leanings in ("spread", "far", "near", "parity")
            for common in ((0.0, 0.5) if n == m and leanings == "spread" else (0.0,))
            for more in ((0.0, 0.1) if leanings == "spread" and not common else (0.0,))
        ]
    if part == "bracket":
        return [{"world": name} for name in WORLDS]
    if part == "replies":
        return [
            {"scale": scale, "m": m, "X": X, "shape": shape}
            for scale in (101, 10, 5, 2)
            for m in (2, 3, 5, 20)
            for X in (8, 24)
            for shape in ("alike", "one lower", "swinging")
        ]
    if part == "margin":
        return [
            {"weights": kind, "n": n, "X": 24, "shared": shared, "margin": margin}
            for kind, n in (("even", 30), ("zipf", 30), ("even", 350), ("mined", 350))
            for shared in (0.0, 0.6)
            for margin in (0.02, 0.05)
        ]
    return [
        {"weights": kind, "n": n, "X": 120, "rho": rho, "lean": lean}
        for kind, n in (("paper", 10), ("even", 30), ("zipf", 30), ("mined", 350))
        for rho in (0.0, 0.5)
        for lean in (0.0, 3.0)
    ]


def weights(kind: str, n: int) -> np.ndarray:
    """Even, 1/rank, the n largest counts of a mined set, or the counts of paper-gender."""
    if kind == "even":
        return np.ones(n)
    if kind == "zipf":
        return 1.0 / np.arange(1, n + 1)
    name = {"mined": "wikipedia-gender", "paper": "paper-gender"}[kind]
    path = Path(clinometer.__file__).parent / "contexts" / "builtin" / f"{name}.csv"
    with path.open(encoding="utf-8") as file:
        counts = [float(row["count"]) for row in csv.DictReader(file)]
    return np.sort(counts)[::-1][:n]


def standard_error(w: np.ndarray) -> float:
    """Of a group's mean, in units of z."""
    return SWING * float(np.sqrt(np.sum(w**2)) / np.sum(w))


def leans_of(setting: dict[str, Any], w: np.ndarray) -> np.ndarray:
    """[X] leans, in units of z."""
    lean = setting["lean"] * standard_error(w)
    if setting.get("shape") != "spread":
        return np.full(setting["X"], lean)
    place = (np.arange(setting["X"]) + 0.5) / setting["X"]
    from scipy.special import ndtri

    return lean * np.sqrt(np.pi / 2) * ndtri(place)


def noise(rng: np.random.Generator, shape: tuple[int, ...], rho: float) -> np.ndarray:
    """Normal [n,X,..] with correlation rho between groups."""
    one = rng.standard_normal((shape[0], 1, *shape[2:]))
    return np.sqrt(rho) * one + np.sqrt(1 - rho) * rng.standard_normal(shape)


def shares_of(setting: dict[str, Any], z: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """p [X,n,K] of noise z [n,X], or [n,X,K] for more than two categories, and leans mu [X]."""
    K, rare = setting["K"], setting.get("rare") or 1 / setting["K"]
    last = np.log(rare * (K - 1) / (1 - rare)) if setting.get("rare") else 0.0
    if K == 2:
        first = (1 + np.tanh(mu - last / 2 + SWING * z)) / 2
        return np.moveaxis(np.stack([first, 1 - first], axis=-1), 0, 1)
    z = 2 * SWING * z
    z[..., 0] += 2 * mu
    z[..., -1] += last
    p = np.exp(z)
    return np.moveaxis(p / p.sum(axis=-1, keepdims=True), 0, 1)


def cells_of(setting: dict[str, Any]) -> tuple[int, ...]:
    """The shape of the noise behind the preferences."""
    return (setting["n"], setting["X"], *((setting["K"],) if setting["K"] > 2 else ()))


def draw(
    rng: np.random.Generator, setting: dict[str, Any], mu: np.ndarray
) -> np.ndarray:
    """p [X,n,K]."""
    return shares_of(setting, noise(rng, cells_of(setting), setting["rho"]), mu)


def truth_of(setting: dict[str, Any], mu: np.ndarray) -> np.ndarray:
    """R, R^b, R^v: a fine grid for two categories (|s| has a corner), a million draws for five."""
    if "criterion" in setting:
        return relative_truth(setting, mu)
    if setting["K"] == 2:
        x = np.linspace(-8, 8, 40_001)
        mass = np.exp(-(x**2) / 2)
        s = np.tanh(mu[:, None] + SWING * x)
        r, b = np.abs(s) @ mass / mass.sum(), np.abs(s @ mass / mass.sum())
    else:
        z = (
            2
            * SWING
            * np.random.default_rng(0).standard_normal((1_000_000, setting["K"]))
        )
        z[:, 0] += 2 * mu[0]
        p = np.exp(z)
        p /= p.sum(axis=1, keepdims=True)
        K = setting["K"]
        r, b = (
            ((p.max(axis=1) * K - 1) / (K - 1)).mean(),
            (p.mean(axis=0).max() * K - 1) / (K - 1),
        )
        b = b if setting["lean"] else 0.0
    return np.array([np.mean(r), np.mean(b), np.mean(r) - np.mean(b)])


def relative_truth(setting: dict[str, Any], mu: np.ndarray) -> np.ndarray:
    """The same against the mean of the groups, from contexts that no repetition has.

    The lean of a group follows from its own law alone. All groups get the same noise for it, so
    that groups that are alike have exactly none.
    """
    rng, r, mean = np.random.default_rng(0), 0.0, np.zeros((setting["X"], setting["K"]))
    for _ in range(TRUTH // BLOCK):
        p = draw(rng, {**setting, "n": BLOCK}, mu)
        r += float(distance(setting, p - p.mean(axis=0)).mean()) * BLOCK / TRUTH
        alike = draw(rng, {**setting, "n": BLOCK, "rho": 1.0}, mu)
        mean += alike.mean(axis=1) * BLOCK / TRUTH
    b = float(distance(setting, mean - mean.mean(axis=0)).mean())
    return np.array([r, b, r - b])


def distance(setting: dict[str, Any], s: np.ndarray) -> np.ndarray:
    """Total variation, or the area between the distributions on an even scale of length 1."""
    if setting["criterion"] == "points":
        return np.abs(np.cumsum(s, axis=-1)[..., :-1]).mean(axis=-1)
    return np.abs(s).sum(axis=-1) / 2


def preferences(
    setting: dict[str, Any], rng: np.random.Generator, mu: np.ndarray, w: np.ndarray
) -> Preferences:
    """What an audit reads: probabilities, or shares of sampled replies."""
    p, m = draw(rng, setting, mu), setting.get("answers", 0)
    if m:
        p = rng.multinomial(m, p) / m
    X, n, K = p.shape
    return Preferences(
        values=p,
        groups=tuple(f"group {x}" for x in range(X)),
        contexts=tuple(f"context {c}" for c in range(n)),
        categories=tuple(str(y + 1) for y in range(K)),
        context_weights=w,
        group_weights=np.ones(X),
        reference="group-mean" if "criterion" in setting else None,
        criterion=setting.get("criterion"),
        answers=np.full((X, n), float(m)) if m else None,
    )


def run_intervals(setting: dict[str, Any], repeats: int, name: str) -> dict[str, Any]:
    """How often the intervals hold the truth, on which side they miss, and their width."""
    w = weights(setting["weights"], setting["n"])
    mu = leans_of(setting, w)
    truth = truth_of(setting, mu)
    held, below, above, given, width = np.zeros((5, 3))
    null, listed = "criterion" in setting and not setting["lean"], 0
    started = time.monotonic()
    for i in range(repeats):
        if i and time.monotonic() - started > setting["limit"]:
            repeats = i
            break
        found = preferences(setting, stream(name, i), mu, w)
        report = found.estimate()
        listed += null and any(lean.category is not None for lean in found.leans())
        for k, e in enumerate((report.R, report.R_bias, report.R_volatility)):
            if e.low is None or e.high is None:
                continue
            given[k] += 1
            below[k] += truth[k] < e.low - 1e-9
            above[k] += truth[k] > e.high + 1e-9
            width[k] += e.high - e.low
    held = given - below - above
    n_eff = float(np.sum(w) ** 2 / np.sum(w**2))
    return {
        "repeats": repeats,
        "n_eff": round(n_eff, 1),
        "truth": [float(f"{value:.4g}") for value in truth],
        "coverage": ratio(held, given),
        "too_high": ratio(below, given),
        "too_low": ratio(above, given),
        "given": (given / repeats).round(3).tolist(),
        "width_in_standard_errors": ratio(width, given * standard_error(w)),
        **({"listed": round(listed / repeats, 4)} if null else {}),
    }


def run_few(setting: dict[str, Any], repeats: int, name: str) -> dict[str, Any]:
    """How often the interval of R holds it. R is the mean over contexts of the mean departure of
    the groups there: that of one group that departs as far, so repetitions are groups of one set.
    """
    w = weights(setting["weights"], setting["n"])
    mu = leans_of(setting, w)
    truth = truth_of(setting, mu)[0]
    rng = stream(name, 0)
    r = np.stack(
        [np.abs(2 * draw(rng, setting, mu)[..., 0] - 1).mean(0) for _ in range(repeats)]
    )
    first = (1 + r) / 2
    found = estimate_risks(
        np.stack([first, 1 - first], axis=-1), context_weights=w
    ).intervals.r
    best = 2 * 1.96 * np.std(r @ (w / w.sum()))
    return {
        "truth": float(f"{truth:.4g}"),
        "held": round(
            float(((found[:, 0] <= truth) & (truth <= found[:, 1])).mean()), 4
        ),
        "width": round(float(np.median(found[:, 1] - found[:, 0]) / best), 2),
    }


def best_widths(setting: dict[str, Any], repeats: int, name: str) -> np.ndarray:
    """What nobody can have: 95 % intervals that know the bias and the error of R, R^b, R^v.

    Normal ones, from the spread of the plug-in values over repetitions; in standard errors.
    """
    w = weights(setting["weights"], setting["n"])
    mu, share = leans_of(setting, w), w / w.sum()
    found = []
    for i in range(repeats):
        p, K = draw(stream(name, i), setting, mu), setting["K"]
        r = ((p.max(axis=2) * K - 1) / (K - 1)) @ share
        b = (np.einsum("xnk,n->xk", p, share).max(axis=1) * K - 1) / (K - 1)
        found.append([r.mean(), b.mean(), r.mean() - b.mean()])
    return 2 * 1.96 * np.std(found, axis=0, ddof=1) / standard_error(w)


def run_compare(setting: dict[str, Any], repeats: int, name: str) -> dict[str, Any]:
    """Share of p-values at most 0.05 for models of equal risk (more = 0), or of unequal ones."""
    setting = {"K": 2, "reference": "even", **setting}
    w, X = weights(setting["weights"], setting["n"]), setting["X"]
    reference = None if setting["reference"] == "even" else setting["reference"]
    hits, single, any_group = np.zeros(3), np.zeros(3), 0
    started = time.monotonic()
    for i in range(repeats):
        if i and time.monotonic() - started > setting["limit"]:
            repeats = i
            break
        rng = stream(name, i)
        spread = rng.normal(0, 0.4, X)
        lean = {
            "spread": spread,
            "far": np.where(spread > 0, 0.5, -0.5),
            "near": np.full(X, 1.5 * standard_error(w)),
            "close": np.where(np.arange(X) % 2, 1.5, -1.5) * standard_error(w),
            "mirrored": spread,
            "parity": np.zeros(X),
        }[setting["leanings"]]
        common = noise(rng, cells_of(setting), 0.2)
        p = []
        for more in (setting["more"], 0.0):
            own = noise(rng, cells_of(setting), 0.2)
            z = (
                np.sqrt(setting["shared"]) * common
                + np.sqrt(1 - setting["shared"]) * own
            )
            side = -1 if setting["leanings"] == "mirrored" and p else 1
            p.append(shares_of(setting, z, side * lean + np.sign(lean) * more))
        found = compare(*p, context_weights=w, reference=reference, seed=i)
        hits += [d.p is not None and d.p <= 0.05 for d in found.overall[:3]]
        by_group = np.array([1.0 if d.p is None else d.p for d in found.by_group])
        single += (by_group.reshape(3, X) <= 0.05).mean(axis=1)
        any_group += any(
            d.p_corrected is not None and d.p_corrected <= 0.05 for d in found.by_group
        )
    return {
        "repeats": repeats,
        "overall": (hits / repeats).round(4).tolist(),
        "single_groups": (single / repeats).round(4).tolist(),
        "any_group_after_holm": round(any_group / repeats, 4),
    }


def run_unpaired(setting: dict[str, Any], repeats: int, name: str) -> dict[str, Any]:
    """The same for one model in two sets of contexts (`common`: the share that both have)."""
    from clinometer.measure import Preferences
    from clinometer.measure.unpaired import compare_unpaired

    X, sizes = setting["X"], (setting["n"], setting["m"])
    w = [
        weights(k, n) for k, n in zip(setting["weights"].split(","), sizes, strict=True)
    ]
    hits, given, held, single, any_group = (
        np.zeros(3),
        np.zeros(3),
        np.zeros(3),
        np.zeros(3),
        0,
    )
    for i in range(repeats):
        rng = stream(name, i)
        spread = rng.normal(0, 0.4, X)
        lean = {
            "spread": spread,
            "far": np.where(spread > 0, 0.5, -0.5),
            "near": np.full(X, 1.5 * standard_error(w[0])),
            "parity": np.zeros(X),
        }[setting["leanings"]]
        both = noise(rng, (min(sizes), X), 0.2)
        same = rng.permutation(min(sizes)) < setting["common"] * min(sizes)
        models, truth = [], []
        for k, (n, more) in enumerate(zip(sizes, (setting["more"], 0.0), strict=True)):
            z = noise(rng, (n, X), 0.2)
            z[: len(both)][same] = both[same]
            at = lean + np.sign(lean) * more
            first = (1 + np.tanh(at + SWING * z)).T / 2
            models.append(
                Preferences(
                    values=np.stack([first, 1 - first], axis=-1),
                    groups=tuple(map(str, range(X))),
                    contexts=tuple(
                        f"{'' if same[c : c + 1].any() else k} {c}" for c in range(n)
                    ),
                    categories=("a", "b"),
                    context_weights=w[k],
                    group_weights=np.ones(X),
                )
            )
            truth.append(truth_of({"K": 2}, at) if setting["more"] else np.zeros(3))
        found = compare_unpaired(models, names="01", seed=i)
        hits += [d.p is not None and d.p <= 0.05 for d in found.overall]
        given += [d.low is not None for d in found.overall]
        held += [
            d.low is not None
            and d.high is not None
            and d.low - 1e-9 <= t <= d.high + 1e-9
            for d, t in zip(found.overall, truth[0] - truth[1], strict=True)
        ]
        by_group = np.array([1.0 if d.p is None else d.p for d in found.by_group])
        single += (by_group.reshape(3, X) <= 0.05).mean(axis=1)
        any_group += any(
            d.p_corrected is not None and d.p_corrected <= 0.05 for d in found.by_group
        )
    return {
        "overall": (hits / repeats).round(4).tolist(),
        "difference_held": ratio(held, given),
        "single_groups": (single / repeats).round(4).tolist(),
        "any_group_after_holm": round(any_group / repeats, 4),
    }


def run_margin(setting: dict[str, Any], repeats: int, name: str) -> dict[str, Any]:
    """Share of verdicts "not worse" for a model worse in R by exactly the margin, nominal 5 %.

    Both models answer alike but for a lean that makes the first one's R larger by the margin.
    """
    w, X = weights(setting["weights"], setting["n"]), setting["X"]
    base = np.full(X, 0.5)
    x = np.linspace(-8, 8, 4_001)
    mass = np.exp(-(x**2) / 2) / np.exp(-(x**2) / 2).sum()

    def risk(lean: float) -> np.ndarray:
        s = np.tanh(lean + SWING * x)
        r, b = float(np.abs(s) @ mass), abs(float(s @ mass))
        return np.array([r, b, r - b])

    leans = np.linspace(0.5, 0.8, 3_001)
    gaps = np.array([risk(lean)[0] for lean in leans]) - risk(0.5)[0]
    more = float(np.interp(setting["margin"], gaps, leans)) - 0.5
    passed = 0
    for i in range(repeats):
        rng = stream(name, i)
        common = noise(rng, (setting["n"], X), 0.2)
        p = []
        for lean in (base + more, base):
            own = noise(rng, (setting["n"], X), 0.2)
            z = (
                np.sqrt(setting["shared"]) * common
                + np.sqrt(1 - setting["shared"]) * own
            )
            first = (1 + np.tanh(lean + SWING * z)).T / 2
            p.append(np.stack([first, 1 - first], axis=-1))
        found = compare(*p, context_weights=w, seed=i, level=0.9)
        high = found.overall[0].high
        passed += high is not None and high < setting["margin"]
    return {"not_worse": round(passed / repeats, 4)}


WORLDS: dict[str, dict[str, Any]] = {
    "20 groups, 30 contexts": {"lean": 0.15},
    "10 contexts": {"lean": 0.15, "n": 10},
    "5 contexts": {"lean": 0.15, "n": 5},
    "groups swing together, 10": {"lean": 0.15, "n": 10, "rho": 0.8},
    "the paper's ten weights, 120 groups": {
        "lean": 0.1,
        "w": "paper",
        "n": 10,
        "X": 120,
    },
    "1,400 contexts, Zipf weights": {"lean": 0.1, "w": "zipf", "n": 1400, "rho": 0.3},
    "exact parity, swing together": {"lean": 0.0, "rho": 0.8},
    "exact parity, each for itself": {"lean": 0.0},
    "half a standard error of lean": {"lean": 0.03, "rho": 0.5},
    "one group with a strong lean": {"lean": 0.45, "X": 1},
    "five categories, skewed": {"logits": (0.5, 0.0, 0.0, -0.3, -0.6), "sd": 0.6},
    "heavy tails": {"lean": 0.1, "swing": 0.25, "tail": 2},
    "5 % of contexts flip, 30": {"flip": 0.05, "X": 1},
    "5 % of contexts flip, 100": {"flip": 0.05, "X": 1, "n": 100},
    "clusters of three": {"lean": 0.15, "cluster": 3, "n": 45, "rho": 0.3},
    "rates, rare third answer": {"logits": (0.5, 0.0, -4.0), "spread": 0.4, "X": 8},
    "the same, all groups equal": {"logits": (0.5, 0.0, -4.0), "spread": 0.0, "X": 8},
    "ratings of 1 to 5": {
        "logits": (-1, 0, 1, 0.5, -0.5),
        "spread": 0.3,
        "X": 8,
        "points": 1,
    },
    "ratings of 1 to 10": {
        "logits": tuple(np.sin(np.arange(10))),
        "spread": 0.3,
        "X": 8,
        "points": 1,
    },
}
"""A lean and a swing on the scale of tanh, or logits of categories with the spread of their groups'
leans, against the mean of the groups."""


def of_world(world: dict[str, Any], rng: np.random.Generator, n: int) -> np.ndarray:
    """p [X,n,K] of a world."""
    X, rho = world.get("X", 20), world.get("rho", 0.0)
    if "logits" in world:
        logits = np.asarray(world["logits"], dtype=float)
        z = world.get("sd", 0.4) * noise(rng, (n, X, len(logits)), rho) + logits
        lean = np.linspace(-1, 1, X) * world.get("spread", 0.0)
        z += lean[:, None] * np.linspace(-1, 1, len(logits))
        p = np.exp(z)
        return np.moveaxis(p / p.sum(axis=-1, keepdims=True), 0, 1)
    z = noise(rng, (n, X), rho)
    if "tail" in world:
        z = rng.standard_t(world["tail"], (n, X))
    if "cluster" in world:
        own = noise(rng, (n // world["cluster"], X), rho)
        z = (z + np.repeat(own, world["cluster"], axis=0)) / np.sqrt(2)
    if "flip" in world:
        u = np.where(rng.random((n, X)) < world["flip"], -0.8, 0.3 + 0.1 * np.tanh(z))
    else:
        u = np.tanh(world["lean"] + world.get("swing", SWING) * z)
    first = (1 + u.T) / 2
    return np.stack([first, 1 - first], axis=-1)


def departures_of(world: dict[str, Any], p: np.ndarray) -> tuple[np.ndarray, Any]:
    """s [X,n,K] and J of a world, made here from the definitions."""
    if "spread" not in world:
        return (p * p.shape[-1] - 1) / (p.shape[-1] - 1), lambda s: np.maximum(
            s.max(axis=-1), 0
        )
    s = p - p.mean(axis=0)
    if "points" in world:
        return s, lambda s: np.abs(np.cumsum(s, axis=-1)[..., :-1]).mean(axis=-1)
    return s, lambda s: np.abs(s).sum(axis=-1) / 2


def run_bracket(setting: dict[str, Any], repeats: int, name: str) -> dict[str, Any]:
    """Coverage of R, R^b, R^v, and of r, r^b, r^v on average over the groups; median widths over
    that of a normal interval around the plug-in value that knows its standard error."""
    world = WORLDS[setting["world"]]
    n = world.get("n", 30)
    w = weights(world.get("w", "even"), n)
    share = w / w.sum()
    r, mean = 0.0, 0.0
    for i in range(40):
        s, J = departures_of(
            world, of_world(world, np.random.default_rng([7, i]), 3000)
        )
        r, mean = r + J(s).mean(axis=1) / 40, mean + s.mean(axis=1) / 40
    bias = J(mean)
    if world.get("lean") == 0.0 or world.get("spread") == 0.0:
        bias = 0 * bias  # exactly at parity
    groups = np.stack([r, bias, r - bias])
    truth = groups.mean(axis=1)
    held, each, widths, plain = np.zeros(3), np.zeros(3), [], []
    labels = None if "cluster" not in world else list(np.arange(n) // world["cluster"])
    for i in range(repeats):
        p = of_world(world, stream(name, i), n)
        s, _ = departures_of(world, p)
        more = {
            "criterion": "points" if "points" in world else "share",
            "reference": "group-mean",
        }
        if "points" in world:
            more["categories"] = [str(k) for k in range(p.shape[-1])]
        report = estimate_risks(
            p, context_weights=w, clusters=labels, **(more if "spread" in world else {})
        )
        ends = [(e.low, e.high) for e in (report.R, report.R_bias, report.R_volatility)]
        widths.append([b - a for a, b in ends])
        held += [
            a - 1e-9 <= t <= b + 1e-9 for (a, b), t in zip(ends, truth, strict=True)
        ]
        own = report.intervals
        for k, part in enumerate((own.r, own.r_bias, own.r_volatility)):
            each[k] += (
                (part[:, 0] <= groups[k] + 1e-9) & (groups[k] <= part[:, 1] + 1e-9)
            ).mean()
        now = J(s) @ share, J(np.einsum("xck,c->xk", s, share))
        plain.append([now[0].mean(), now[1].mean(), (now[0] - now[1]).mean()])
    best = 2 * 1.96 * np.std(plain, axis=0)
    return {
        "truth": [float(f"{value:.4g}") for value in truth],
        "coverage": (held / repeats).round(4).tolist(),
        "groups": (each / repeats).round(4).tolist(),
        "width": (np.median(widths, axis=0) / best).round(2).tolist(),
    }


def run_replies(setting: dict[str, Any], repeats: int, name: str) -> dict[str, Any]:
    """R held, 0 excluded, and what is found of lean, from m replies a cell in 30 contexts, against
    the mean of the groups. On a scale of two points the mean answer is a rate."""
    K, m, X, n = setting["scale"], setting["m"], setting["X"], 30
    top = K - 1
    # Points out of 100; half of the replies of two points are yes.
    dice, swing = 15 * top / 100, 10 * top / 100
    lower = np.zeros(X)
    lower[0] = 15 * top / 100 if setting["shape"] == "one lower" else 0.0
    moves = swing if setting["shape"] == "swinging" else 0.0

    def cells(rng: np.random.Generator, n: int) -> np.ndarray:
        """Shares [X,n,K] of the scale that each cell gives with endless replies."""
        context = 0.55 * top + 0.08 * top * rng.standard_normal(n)
        middle = context - lower[:, None] + moves * rng.standard_normal((X, n))
        if K == 2:
            p = np.clip(middle, 0.02, 0.98)
            return np.stack([1 - p, p], axis=-1)
        from scipy.special import ndtr

        edges = np.concatenate([[-np.inf], np.arange(K - 1) + 0.5, [np.inf]])
        return np.diff(ndtr((edges - middle[..., None]) / max(dice, 0.7)), axis=-1)

    total = 0.0
    for i in range(10):
        p = cells(np.random.default_rng([11, i]), 2000 if K < 101 else 300)
        total += (
            float(np.abs(np.cumsum(p - p.mean(axis=0), axis=-1)[..., :-1]).mean()) / 10
        )
    held, above, width, said, right, false = 0, 0, 0.0, 0, 0, 0
    for i in range(repeats):
        rng = stream(name, i)
        found = Preferences(
            values=rng.multinomial(m, cells(rng, n)) / m,
            groups=tuple(f"group {x}" for x in range(X)),
            contexts=tuple(f"context {c}" for c in range(n)),
            categories=tuple(map(str, range(K))),
            context_weights=np.ones(n),
            group_weights=np.ones(X),
            reference="group-mean",
            criterion="points",
            answers=np.full((X, n), float(m)),
        )
        R = found.estimate().R
        held += R.low <= total <= R.high
        above += R.low > 0
        width += (R.high - R.low) / repeats
        split = found.components()
        clear = {part.group for part in split.clear_groups()}
        said += split.p is not None and split.p <= 0.05
        right += "group 0" in clear
        false += bool(clear)
    figures = {"held": held, "zero_excluded": above, "lean_found": said}
    figures |= {"right_group": right} if lower[0] else {"any_group": false}
    return {"truth": round(total, 4), "width": round(width, 4)} | {
        key: round(value / repeats, 4) for key, value in figures.items()
    }


def run_leaning(setting: dict[str, Any], repeats: int, name: str) -> dict[str, Any]:
    """What share of the list of leaning groups is wrong, and what share of them it finds.

    A third of the groups lean by `lean` standard errors; the others are at parity.
    """
    from clinometer.measure.leaning import leaning_groups

    w, X = weights(setting["weights"], setting["n"]), setting["X"]
    mu = np.where(np.arange(X) % 3 == 0, setting["lean"] * standard_error(w), 0.0)
    wrong, found = 0.0, 0.0
    for i in range(repeats):
        p = draw(stream(name, i), {**setting, "K": 2}, mu)
        rows = leaning_groups(
            read_preferences(p, context_weights=w, categories=["a", "b"])
        )
        named = np.array([row.category for row in rows])
        listed = named != None  # noqa: E711
        wrong += float((listed & ((mu == 0) | (named == "b"))).sum()) / max(
            1, int(listed.sum())
        )
        found += float((named[mu > 0] == "a").mean()) if (mu > 0).any() else 0.0
    return {
        "wrong_share": round(wrong / repeats, 4),
        "found": round(found / repeats, 4),
    }


PARTS = {
    "intervals": run_intervals,
    "few": run_few,
    "compare": run_compare,
    "unpaired": run_unpaired,
    "margin": run_margin,
    "bracket": run_bracket,
    "replies": run_replies,
    "leaning": run_leaning,
    "criteria": run_intervals,
    "equal": run_compare,
}


def ratio(part: np.ndarray, whole: np.ndarray) -> list[float | None]:
    """Shares, None where there is nothing to share."""
    return [
        round(float(a / b), 4) if b > 0 else None
        for a, b in zip(part, whole, strict=True)
    ]


def stream(name: str, i: int) -> np.random.Generator:
    """Random numbers of one repetition of one setting."""
    return np.random.default_rng([zlib.crc32(name.encode()), i])


def half_of(name: str) -> str:
    """Which half of the settings this one is in."""
    return "choose" if zlib.crc32(("half " + name).encode()) % 2 else "report"


def named(part: str, setting: dict[str, Any]) -> str:
    """The name of a setting, by which it is found again."""
    return part + " " + " ".join(f"{key}={value}" for key, value in setting.items())


def one(
    part: str, setting: dict[str, Any], repeats: int, limit: float
) -> dict[str, Any]:
    """A finished line, with the repetitions asked for and those done within `limit` seconds."""
    name = named(part, setting)
    found = PARTS[part]({**setting, "limit": limit}, repeats, name)
    known = {"name": name, "half": half_of(name), "asked": repeats, "repeats": repeats}
    return {**known, **setting, **found}


def cost(setting: dict[str, Any]) -> float:
    """About how long a setting takes, next to others: the longest begin first."""
    size = (
        setting.get("K", setting.get("scale", 2))
        * setting.get("X", 20)
        * setting.get("n", 30)
    )
    return float(size + (1e6 * setting["K"] if setting.get("answers") else 0))


def flat(line: dict[str, Any]) -> dict[str, Any]:
    """A line as a row of a table: what is there for each risk has a column for each."""
    row: dict[str, Any] = {}
    for key, value in line.items():
        if isinstance(value, list):
            row |= {
                f"{key}_{risk}": one for risk, one in zip(RISKS, value, strict=True)
            }
        else:
            row[key] = value
    return row


def write_table(lines: list[dict[str, Any]], path: Path) -> None:
    """One row a setting, as CSV."""
    rows = [flat(line) for line in lines]
    columns = list(dict.fromkeys(key for row in rows for key in row))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows(rows)


def shown(line: dict[str, Any]) -> str:
    """The figures of a line that are percentages or errors, behind its name."""
    figures = (
        "coverage",
        "groups",
        "width",
        "held",
        "zero_excluded",
        "lean_found",
        "right_group",
        "any_group",
        "listed",
        "overall",
        "any_group_after_holm",
    )
    parts = [f"{key} {line[key]}" for key in figures if key in line]
    return " | ".join([line["name"], f"repeats {line['repeats']}", *parts])


def summary(lines: list[dict[str, Any]], jobs: int) -> None:
    """Coverage by half: range, share within 93 to 97.5 and below 92; widths; the other parts."""
    intervals = [line for line in lines if line["name"].startswith("intervals ")]
    with ProcessPoolExecutor(jobs) as pool:
        tasks = [pool.submit(best_widths, row, 100, row["name"]) for row in intervals]
        best = {
            row["name"]: task.result()
            for row, task in zip(intervals, tasks, strict=True)
        }
    for half in ("choose", "report"):
        rows = [line for line in intervals if line["half"] == half]
        for k, risk in enumerate(("R", "R^b", "R^v")):
            shares = np.array(
                [r["coverage"][k] for r in rows if r["coverage"][k] is not None]
            )
            if shares.size:
                print(
                    f"{half} {risk}: {shares.size} settings, mean {shares.mean():.3f}, lowest "
                    f"{shares.min():.3f}, below 0.92: {(shares < 0.92).mean():.3f}, 0.93 to 0.975: "
                    f"{((shares >= 0.93) & (shares <= 0.975)).mean():.3f}, above 0.975: "
                    f"{(shares > 0.975).mean():.3f}; no interval in "
                    f"{np.mean([1 - r['given'][k] for r in rows]):.3f}"
                )
                ratios = [
                    r["width_in_standard_errors"][k] / best[r["name"]][k]
                    for r in rows
                    if r["width_in_standard_errors"][k] is not None
                ]
                low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
                print(
                    f"  width over the best achievable: median {middle:.2f}, "
                    f"80 % of the settings within {low:.2f} to {high:.2f}"
                )
    for line in lines:
        if not line["name"].startswith("intervals "):
            print({key: value for key, value in line.items() if key != "name"})


def main() -> None:
    """Compute what is missing in OUT, or print its summary."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--processes", "--jobs", dest="jobs", type=int, default=os.cpu_count() or 1
    )
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--part", choices=[*PARTS], action="append")
    parser.add_argument("--half", choices=["choose", "report"])
    parser.add_argument("--only", default="", help="settings whose name contains this")
    parser.add_argument("--csv", type=Path, help="write all of OUT as a table, too")
    parser.add_argument(
        "--limit",
        type=float,
        default=np.inf,
        help="seconds after which a setting of intervals, compare, criteria or equal stops",
    )
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    lines = []
    if options.out.exists():
        lines = [
            json.loads(line) for line in options.out.read_text("utf-8").splitlines()
        ]
    if options.summary:
        summary(lines, options.jobs)
        return
    done = {(line["name"], line.get("asked", line["repeats"])) for line in lines}
    todo = [
        (part, setting)
        for part in options.part or PARTS
        for setting in settings_of(part)
        if (named(part, setting), options.repeats) not in done
        and options.half in (None, half_of(named(part, setting)))
        and options.only in named(part, setting)
    ]
    todo.sort(key=lambda job: -cost(job[1]))
    with (
        ProcessPoolExecutor(options.jobs) as pool,
        options.out.open("a", encoding="utf-8") as out,
    ):
        jobs = [
            pool.submit(one, part, setting, options.repeats, options.limit)
            for part, setting in todo
        ]
        for i, job in enumerate(as_completed(jobs), 1):
            lines.append(job.result())
            out.write(json.dumps(lines[-1]) + "\n")
            out.flush()
            print(f"{i} of {len(jobs)}: {shown(lines[-1])}", flush=True)
    if options.csv:
        write_table(lines, options.csv)


if __name__ == "__main__":
    main()
