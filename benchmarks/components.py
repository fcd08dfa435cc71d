"""Lean, swing and dice on planted replies: bias, coverage and false findings of each part.

    python benchmarks/components.py --processes 16 --trials 400 --csv components.csv

Each case plants one part alone or all together, in 6 to 200 contexts, for 2 to 60 groups, with 2 to
20 replies (or unequal numbers of them), on a numeric scale and for K categories. Beside our
estimates stands the plain method: the mean absolute difference of two groups' cells, which counts
dice as bias. --limit stops after that many seconds; cases come in an order that spreads over the
grid, so that a part of them is a fair sample.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import sys
import time
from collections.abc import Iterator
from multiprocessing import Pool
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.measure.components import CellMoments, split_replies

PLANTED = {  # variances of lean, swing and dice
    "nothing but dice": (0.0, 0.0, 1.0),
    "lean alone": (0.2, 0.0, 0.0),
    "swing alone": (0.0, 0.2, 0.0),
    "lean and dice": (0.1, 0.0, 1.0),
    "swing and dice": (0.0, 0.3, 1.0),
    "all": (0.05, 0.2, 1.0),
    "little dice": (0.2, 0.3, 0.2),
}
REPETITIONS = ("2", "5", "20", "1-9")
CONTEXTS = (6, 17, 50, 200)
GROUPS = (2, 6, 20, 60)
KINDS = ("scale", "ratings", "2 categories", "4 categories")


def grid() -> list[tuple[str, str, int, int, str]]:
    """Every case, shuffled with a fixed seed."""
    every = list(itertools.product(PLANTED, REPETITIONS, CONTEXTS, GROUPS, KINDS))
    kept = [case for case in every if "alone" not in case[0] or case[4] == "scale"]
    np.random.default_rng(0).shuffle(kept)
    return [(str(a), str(b), int(c), int(d), str(e)) for a, b, c, d, e in kept]


def replies(
    rng: np.random.Generator, repetitions: str, shape: tuple[int, int]
) -> np.ndarray:
    """How many replies each cell has."""
    if "-" in repetitions:
        low, high = map(int, repetitions.split("-"))
        return rng.integers(low, high + 1, shape)
    return np.full(shape, int(repetitions))


class Case:
    """One planted model: its leans are fixed, contexts and replies are drawn in every trial."""

    def __init__(
        self, planted: str, repetitions: str, C: int, X: int, kind: str
    ) -> None:
        self.sizes, self.repetitions, self.kind = PLANTED[planted], repetitions, kind
        self.C, self.X = C, X
        self.K = int(kind[0]) if "categories" in kind else 1
        rng = np.random.default_rng(1)
        lean = rng.normal(size=(X, self.K))
        lean -= lean.mean(axis=0)
        if self.K == 2:  # alike in both categories it would be none
            lean[:, 1] = -lean[:, 0]
        if X > 1:
            lean /= np.sqrt((lean**2).mean(axis=0))
        self.lean = lean * np.sqrt(self.sizes[0])
        self.truth = self._truth()

    def _cells(self, rng: np.random.Generator, C: int) -> tuple[np.ndarray, np.ndarray]:
        """Expected reply of each cell [X,C,D], and the standard deviation of dice."""
        swing = rng.normal(size=(self.X, C, self.K)) * np.sqrt(self.sizes[1])
        level = rng.normal(size=(1, C, self.K))
        latent = self.lean[:, None] + swing + level
        if self.kind in ("scale", "ratings"):
            return 5.5 + latent, np.full((self.X, C), np.sqrt(self.sizes[2]))
        logits = 1.0 * latent
        p = np.exp(logits - logits.max(axis=-1, keepdims=True))
        return p / p.sum(axis=-1, keepdims=True), np.zeros((self.X, C))

    def _draw(self, rng: np.random.Generator, C: int) -> CellMoments:
        mean, dice = self._cells(rng, C)
        n = replies(rng, self.repetitions, (self.X, C))
        scale = 1.0
        if self.K > 1:
            counts = rng.multinomial(n, mean)
            p = counts / n[..., None]
            with np.errstate(divide="ignore", invalid="ignore"):
                within = (p * (1 - p)).sum(axis=-1) / 2 * n / (n - 1)
            seen, scale = p, np.sqrt(0.5)
        else:
            many = int(n.max())
            y = mean + dice[..., None] * rng.normal(size=(self.X, C, many))
            if self.kind == "ratings":
                y = np.clip(np.round(y), 1, 10)
            there = np.arange(many) < n[..., None]
            seen = ((y * there).sum(axis=-1) / n)[..., None]
            with np.errstate(divide="ignore", invalid="ignore"):
                within = (((y - seen) ** 2) * there).sum(axis=-1) / (n - 1)
        return CellMoments(
            seen,
            np.where(n > 1, within, np.nan),
            n.astype(float),
            np.full(C, 1 / C),
            np.full(self.X, 1 / self.X),
            None,
            np.arange(C),
            float(scale),
        )

    def _truth(self) -> tuple[float, float, float]:
        """The three parts of this model: known on a scale, else from many contexts."""
        if self.kind == "scale":
            lean = float((self.lean**2).mean())
            return lean, self.sizes[1] * (self.X - 1) / self.X, self.sizes[2]
        rng = np.random.default_rng(2)
        C = max(1_000_000 // self.X, 40_000)
        mean, dice = self._cells(rng, C)
        if self.kind == "ratings":
            from scipy.special import ndtr

            edges = np.arange(1.5, 10)
            sd = np.maximum(dice, 1e-12)[..., None]
            cdf = ndtr((edges - mean) / sd)
            p = np.diff(cdf, axis=-1, prepend=0.0, append=1.0)
            points = np.arange(1, 11)
            m = p @ points
            within = p @ points**2 - m**2
            mean, scale = m[..., None], 1.0
        else:
            within, scale = (mean * (1 - mean)).sum(axis=-1) / 2, np.sqrt(0.5)
        d = (mean - mean.mean(axis=0)) * scale
        L = d.mean(axis=1)
        swing = ((d - L[:, None]) ** 2).sum(axis=-1).mean()
        lean = float((L**2).sum(axis=-1).mean()) - float(swing) / C
        if self.sizes[0] == 0:
            lean = 0.0
        return lean, float(swing), float(within.mean())

    def run(self, trials: int, seed: int) -> dict[str, Any]:
        rng = np.random.default_rng(seed)
        names = [str(x) for x in range(self.X)]
        values, held, false, found, plain = [], [], 0, 0, []
        for _ in range(trials):
            cells = self._draw(rng, self.C)
            got = split_replies(cells, names)
            parts = [got.lean, got.swing, got.dice]
            values.append([p.value for p in parts if p is not None])
            held.append(
                [
                    p.low - 1e-9 <= t <= p.high + 1e-9
                    for p, t in zip(parts, self.truth, strict=True)
                    if p is not None
                ]
            )
            found += bool(got.clear_groups())
            false += bool(got.clear_groups()) and self.truth[0] == 0
            m = cells.mean[..., 0]
            plain.append(
                np.abs(m[:, None] - m[None, :]).sum() / (self.X * (self.X - 1) * self.C)
            )
        mean, total = np.mean(values, axis=0), sum(self.truth)
        bias, error = (
            (mean - self.truth) / total,
            np.std(values, axis=0) / total / np.sqrt(trials),
        )
        true = np.sqrt(
            4 / np.pi * (self.truth[0] + self.truth[1]) * self.X / (self.X - 1)
        )
        return {
            **{f"true {n}": t for n, t in zip(PARTS, self.truth, strict=True)},
            **{f"bias of {n}": b for n, b in zip(PARTS, bias.tolist(), strict=True)},
            **{f"error of {n}": b for n, b in zip(PARTS, error.tolist(), strict=True)},
            **{
                f"held {n}": h
                for n, h in zip(PARTS, np.mean(held, axis=0).tolist(), strict=True)
            },
            "groups found": found / trials,
            "false findings": false / trials if self.truth[0] == 0 else "",
            "plain": float(np.mean(plain)),
            "plain without dice": float(true),
        }


PARTS = ("lean", "swing", "dice")
NAMES = ("planted", "replies", "contexts", "groups", "kind")


def one(job: tuple[tuple[str, str, int, int, str], int, int]) -> dict[str, Any]:
    case, trials, seed = job
    return {**dict(zip(NAMES, case, strict=True)), **Case(*case).run(trials, seed)}


def results(jobs: list[Any], processes: int) -> Iterator[dict[str, Any]]:
    if processes == 1:
        yield from map(one, jobs)
        return
    with Pool(processes) as pool:
        yield from pool.imap_unordered(one, jobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--limit", type=float, default=0, help="seconds; 0: none")
    parser.add_argument(
        "--cases", type=int, default=0, help="only the first so many; 0: all"
    )
    parser.add_argument("--csv", default="")
    asked = parser.parse_args()
    cases = grid()[: asked.cases or None]
    jobs = [(case, asked.trials, seed) for seed, case in enumerate(cases)]
    start, rows = time.perf_counter(), []
    for row in results(jobs, asked.processes):
        rows.append(row)
        if asked.csv:
            with Path(asked.csv).open("w", newline="") as stream:
                writer = csv.DictWriter(stream, list(rows[0]))
                writer.writeheader()
                writer.writerows(rows)
        if asked.limit and time.perf_counter() - start > asked.limit:
            break
    print(f"{len(rows)} of {len(grid())} cases, {asked.trials} trials each")
    for part in PARTS:
        bias = np.array([abs(r[f"bias of {part}"]) for r in rows])
        error = np.array([r[f"error of {part}"] for r in rows])
        held = np.array([r[f"held {part}"] for r in rows])
        zero = np.array([r[f"true {part}"] == 0 for r in rows])
        print(
            f"{part}: largest bias {bias.max():.3f} of the total "
            f"({(bias > 0.02 + 2 * error).sum()} cases above 0.02 beyond error); "
            f"held {held.mean():.3f} on average, "
            f"{np.mean((held >= 0.93) & (held <= 0.975)):.0%} of cases in 93 to 97.5 %, "
            f"{(held < 0.93).sum()} below, {((held > 0.975) & ~zero).sum()} above where it is not 0"
        )
    false = [r["false findings"] for r in rows if r["false findings"] != ""]
    if false:
        print(
            f"false findings: {np.mean(false):.3f} on average, {max(false):.3f} at most"
        )
    worst = sorted(rows, key=lambda r: min(r[f"held {p}"] for p in PARTS))[:12]
    for r in worst:
        print(
            *(r[n] for n in NAMES),
            *(f"{p} {r[f'held {p}']:.3f}" for p in PARTS),
            sep="; ",
        )
    none = [r for r in rows if r["true lean"] == 0 and r["true swing"] == 0]
    if none:
        print(
            f"plain method with dice alone: {np.mean([r['plain'] for r in none]):.2f}, should be 0"
        )
    sys.stdout.flush()


if __name__ == "__main__":
    main()
