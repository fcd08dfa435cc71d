"""Verdicts on planted fixes: how often they are right, and how often something is found in nothing.

    python benchmarks/fixes.py --processes 16 --repetitions 200 --csv fixes.csv

A base model leans by 10 points (root mean square over its groups), swings, and throws dice. Planted
fixes do one thing each: remove the lean, halve it, swap it for swing, refuse for one group, lower
everyone, move the lean to another topic, make it larger, or nothing. The control of each does
nothing, or what the fix does. A study has three fixes, and its levels are corrected for them. Only
numpy and scipy are needed: PYTHONPATH=src.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
from collections import Counter
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from clinometer.measure.components import CellMoments
from clinometer.measure.ledger import Responses, changes, ruling

#: The right verdicts; half of a lean may be seen as gone or not.
RIGHT = {
    "removes": {"removed the lean"},
    "halves": {"less lean"},
    "swaps for swing": {"less lean, more swing"},
    "refuses for one": {"silenced"},
    "lowers everyone": {"everyone worse"},
    "moves": {"moved"},
    "leans more": {"more lean"},
    "nothing": {"nothing clear"},
    "as its control": {"nothing clear"},
}
KINDS = ("20 replies", "5 replies", "probabilities", "ratings")
GROUPS = (2, 6, 12)
CONTEXTS = (20, 40, 80)
FIXES, ALSO = 3, 1
LEAN = 0.10


class World:
    """One base model: leans of its groups, and what contexts do to all and to each of them."""

    def __init__(self, kind: str, X: int, C: int, rng: np.random.Generator) -> None:
        self.kind, self.X, self.C, self.rng = kind, X, C, rng
        side = np.where(np.arange(X) % 2, 1.0, -1.0)
        side -= side.mean()
        self.lean = LEAN * side / np.sqrt((side**2).mean())
        self.level = 0.5 + 0.05 * rng.standard_normal(C)
        self.swing = 0.05 * rng.standard_normal((X, C))

    def asked(
        self,
        lean: float = 1.0,
        swing: float = 0.0,
        lower: float = 0.0,
        refused: float = 0.0,
    ) -> Responses:
        """Answers with so much of the lean; `swing` in place of it, by a coin a context."""
        rng, shape = self.rng, (self.X, self.C)
        coin = np.where(rng.random(self.C) < 0.5, 1.0, -1.0)
        own = self.swing + 0.02 * rng.standard_normal(shape)
        p = self.level + self.lean[:, None] * (lean + swing * coin) + own - lower
        p = np.clip(p, 0.02, 0.98)
        gone = np.zeros(shape)
        gone[0] = refused
        if self.kind == "probabilities":
            n, other = (
                np.full(shape, np.inf),
                100 * np.clip(gone + 0.01 * rng.random(shape), 0, 1),
            )
            return self._two(p, n, other)
        m = 20 if self.kind == "20 replies" else 5
        n = rng.binomial(m, 1 - np.clip(gone + 0.02, 0, 1)).astype(float)
        other = 100 * (1 - n / m)
        if self.kind == "ratings":
            return self._ratings(p, n, other)
        yes = rng.binomial(n.astype(int), p) / np.maximum(n, 1)
        return self._two(yes, n, other)

    def _two(self, p: np.ndarray, n: np.ndarray, other: np.ndarray) -> Responses:
        with np.errstate(invalid="ignore", divide="ignore"):
            within = np.where(np.isinf(n), 0.0, p * (1 - p) * n / (n - 1))
        mean = np.stack([p, 1 - p], axis=-1)
        cells = self._cells(mean, np.where(n > 1, within, np.nan), n, np.sqrt(0.5))
        return Responses(cells, 100.0, np.where(n > 0, 100 * p, np.nan), other)

    def _ratings(self, p: np.ndarray, n: np.ndarray, other: np.ndarray) -> Responses:
        """Replies from 0 to 100 in whole tens."""
        most = int(n.max())
        y = 100 * p[..., None] + 20 * self.rng.standard_normal((*p.shape, most))
        y = np.clip(np.round(y / 10) * 10, 0, 100)
        there = np.arange(most) < n[..., None]
        mean = np.where(there, y, 0).sum(axis=-1) / np.maximum(n, 1)
        square = np.where(there, (y - mean[..., None]) ** 2, 0).sum(axis=-1)
        within = np.where(n > 1, square / np.maximum(n - 1, 1), np.nan)
        cells = self._cells(mean[..., None], within, n, 1.0)
        return Responses(cells, 1.0, np.where(n > 0, mean, np.nan), other)

    def _cells(
        self, mean: np.ndarray, within: np.ndarray, n: np.ndarray, scale: float
    ) -> CellMoments:
        C, X = self.C, self.X
        weights, groups = np.full(C, 1 / C), np.full(X, 1 / X)
        return CellMoments(mean, within, n, weights, groups, None, np.arange(C), scale)


PLANTED = {
    "removes": {"lean": 0.0},
    "halves": {"lean": 0.5},
    "swaps for swing": {"lean": 0.0, "swing": 1.0},
    "lowers everyone": {"lower": 0.1},
    "moves": {"lean": 0.0},
    "leans more": {"lean": 2.0},
    "nothing": {},
    "as its control": {"lean": 0.0},
}


def once(kind: str, X: int, C: int, fix: str, seed: int) -> tuple[str, str]:
    """The verdicts on a fix and on its control."""
    rng = np.random.default_rng([seed, X, C, KINDS.index(kind), list(RIGHT).index(fix)])
    world, other = World(kind, X, C, rng), World(kind, X, C, rng)
    planted = PLANTED.get(fix, {"refused": min(0.1 * X, 0.9)})
    base, fixed = world.asked(), world.asked(**planted)
    control = world.asked(**(planted if fix == "as its control" else {}))
    level = 1 - 0.05 / (FIXES * base.tests(ALSO))
    else_base = other.asked(lean=0.0)
    also = [
        {"other": changes(else_base, other.asked(lean=lean), level=level)}
        for lean in (float(fix == "moves"), 0.0)
    ]
    beyond = changes(control, fixed, level=level)
    return (
        ruling(changes(base, fixed, level=level), control=beyond, also=also[0]).verdict,
        ruling(changes(base, control, level=level), also=also[1]).verdict,
    )


def work(
    task: tuple[str, int, int, str, int],
) -> tuple[tuple[str, int, int, str], str, str]:
    kind, X, C, fix, seed = task
    return (kind, X, C, fix), *once(kind, X, C, fix, seed)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument(
        "--quick", action="store_true", help="only 6 groups in 40 contexts"
    )
    parser.add_argument("--csv", type=Path)
    args = parser.parse_args()
    groups, contexts = ((6,), (40,)) if args.quick else (GROUPS, CONTEXTS)
    cases = list(itertools.product(KINDS, groups, contexts, RIGHT))
    tasks = [(*case, seed) for case in cases for seed in range(args.repetitions)]
    found: dict[tuple[str, int, int, str], Counter[str]] = {
        case: Counter() for case in cases
    }
    controls: dict[tuple[str, int, int, str], Counter[str]] = {
        case: Counter() for case in cases
    }
    with Pool(args.processes) as pool:
        for case, said, of_control in pool.imap_unordered(work, tasks, chunksize=50):
            found[case][said] += 1
            controls[case][of_control] += 1
    fields = (
        "kind",
        "groups",
        "contexts",
        "fix",
        "right_percent",
        "control_nothing_clear_percent",
        "verdicts",
    )
    rows = []
    for case in cases:
        right = 100 * sum(found[case][v] for v in RIGHT[case[3]]) / args.repetitions
        nothing = 100 * controls[case]["nothing clear"] / args.repetitions
        said = "; ".join(f"{v} {n}" for v, n in found[case].most_common())
        rows.append(
            dict(
                zip(
                    fields,
                    (
                        *case,
                        right,
                        "" if case[3] == "as its control" else nothing,
                        said,
                    ),
                    strict=True,
                )
            )
        )
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fields, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    print(text.getvalue(), end="")
    if args.csv:
        args.csv.write_text(text.getvalue(), encoding="utf-8")


if __name__ == "__main__":
    main()
