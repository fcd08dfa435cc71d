"""Planted factors: how often the intervals of the shares hold the true ones. One JSON line each.

    python benchmarks/factors.py [OUT.jsonl] [--jobs 16] [--repeats 400] [--seed 0]
                                 [--half choose|report] [--only TEXT]

s = sum of effects, each with a part that all groups share and one of their own. The levels of
order and framing have the same effects in all repetitions; wordings and what is left are sampled
anew, so the true shares are known: what is left belongs to the wording by 1/(orders × framings),
the mean over them. In "contexts" there is no wording: every context has levels of its own, and
contexts are the sample. The construction was chosen on the settings of "choose"; the figures in
docs/measure.md are of "report". Needs numpy, scipy, pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from repetitions import generator, main

from clinometer.measure import read_preferences
from clinometer.measure.factors import factor_shares

SWING = 0.13
"""Standard deviation of s between contexts, of one group and category; far enough from 1."""


@dataclass(frozen=True)
class Setting:
    """A planted model; `shares` are of wording, order, framing, and what is left."""

    name: str
    shares: tuple[float, float, float, float]
    units: int = 40
    orders: int = 3
    framings: int = 2
    groups: int = 12
    categories: int = 2
    rho: float = 0.5
    weights: str = "even"
    tails: str = "normal"
    answers: int = 0
    missing: float = 0.0
    crossed: bool = True


CHOOSE = [
    Setting("many", (0.5, 0.25, 0.05, 0.2), orders=6),
    Setting("few", (0.3, 0.2, 0.1, 0.4), units=12, groups=4),
    Setting(
        "small",
        (0.2, 0.02, 0.0, 0.78),
        units=80,
        orders=2,
        framings=3,
        groups=24,
        rho=0.2,
    ),
    Setting("uneven", (0.5, 0.25, 0.05, 0.2), units=60, weights="1/rank"),
    Setting("heavy", (0.52, 0.26, 0.01, 0.21), orders=6, rho=0.9, tails="gamma"),
]
REPORT = [
    Setting("plain", (0.6, 0.24, 0.06, 0.1), units=50, orders=6, framings=3, groups=16),
    Setting(
        "twenty",
        (0.35, 0.3, 0.15, 0.2),
        units=20,
        orders=2,
        framings=4,
        groups=8,
        rho=0.3,
    ),
    Setting("alike", (0.4, 0.1, 0.2, 0.3), units=45, orders=4, groups=20, rho=0.95),
    Setting("five", (0.45, 0.2, 0.1, 0.25), units=30, groups=6, categories=5, rho=0.2),
    Setting("answers", (0.5, 0.2, 0.1, 0.2), units=48, groups=10, answers=20),
    Setting("holes", (0.4, 0.25, 0.1, 0.25), units=35, groups=10, missing=0.1),
    Setting("slope", (0.5, 0.2, 0.1, 0.2), units=90, groups=10, weights="1/root"),
    Setting(
        "contexts", (0.0, 0.3, 0.1, 0.6), units=150, orders=3, framings=4, crossed=False
    ),
    Setting(
        "skewed", (0.5, 0.2, 0.1, 0.2), units=60, groups=10, rho=0.3, tails="gamma"
    ),
    Setting(
        "skewed, alike",
        (0.5, 0.2, 0.1, 0.2),
        units=36,
        groups=10,
        rho=0.9,
        tails="gamma",
    ),
    Setting("no framing", (0.6, 0.2, 0.0, 0.2), units=40, orders=6, groups=10),
]


class Planted:
    """Draws of a setting."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting = setting
        self.rng = generator(seed, setting.name)
        given = setting
        self.order = self._fixed(given.orders, given.shares[1])
        self.framing = self._fixed(given.framings, given.shares[2])

    def truth(self) -> dict[str, float]:
        """The true shares."""
        given = self.setting
        wording, order, framing, rest = given.shares
        if not given.crossed:
            return {"order": order, "framing": framing, "rest": rest}
        own = rest / (given.orders * given.framings)
        return {
            "wording": wording + own,
            "order": order,
            "framing": framing,
            "rest": rest - own,
        }

    def draw(self) -> tuple[Any, dict[str, Any], Any]:
        """A grid, its factors, and the answers behind its cells."""
        given, rng = self.setting, self.rng
        shape = (given.units, given.orders, given.framings)
        if given.crossed:
            u, o, f = (
                a.ravel() for a in np.meshgrid(*map(np.arange, shape), indexing="ij")
            )
        else:
            u = np.arange(given.units)
            o, f = (rng.integers(0, levels, given.units) for levels in shape[1:])
        wording, rest = (
            self._effects(given.units, given.shares[0]),
            self._effects(u.size, given.shares[3]),
        )
        s = wording[:, u] + self.order[:, o] + self.framing[:, f] + rest
        p = (1 + np.clip(SWING * s, -1, 1)) / given.categories
        p = np.clip(p, 0, None)
        p /= p.sum(axis=-1, keepdims=True)
        w = {"even": 1.0 + 0 * u, "1/rank": 1 / (1.0 + u), "1/root": (1.0 + u) ** -0.5}
        samples = None
        if given.answers:
            p = rng.multinomial(given.answers, p) / given.answers
            samples = np.full(p.shape[:2], float(given.answers))
        mask = rng.random(p.shape[:2]) >= given.missing
        grid = read_preferences(p, context_weights=w[given.weights], mask=mask)
        factors = {"order": o, "framing": f}
        return grid, {"wording": u, **factors} if given.crossed else factors, samples

    def _fixed(self, n: int, share: float) -> Any:
        e = self._effects(n, 1.0)
        e = e - e.mean(axis=1, keepdims=True)
        return e * np.sqrt(share / (e**2).mean())

    def _effects(self, n: int, share: float) -> Any:
        """[X, n, K] with variance `share`, sums over the categories 0."""
        given, shape = self.setting, (self.setting.groups, n, self.setting.categories)
        e = np.sqrt(given.rho) * self._numbers((1, *shape[1:]))
        e = e + np.sqrt(1 - given.rho) * self._numbers(shape)
        if given.categories == 2:
            e = e[..., :1] * np.array([1.0, -1.0])
        else:
            e = (e - e.mean(axis=-1, keepdims=True)) / np.sqrt(1 - 1 / given.categories)
        return e * np.sqrt(share)

    def _numbers(self, shape: tuple[int, ...]) -> Any:
        if self.setting.tails == "normal":
            return self.rng.standard_normal(shape)
        return (self.rng.gamma(2.0, 1.0, shape) - 2.0) / np.sqrt(2.0)


def some(setting: Setting, seed: int, repetitions: range) -> list[dict[str, Any]]:
    """Value, low and high of each share, in each repetition."""
    model = Planted(setting, seed)
    results = []
    for number in repetitions:
        model.rng = generator(seed, setting.name, number)
        grid, factors, samples = model.draw()
        found = factor_shares(grid, factors, samples=samples)
        if found is None:
            raise RuntimeError(f"{setting.name}: nothing varies")
        shares = {f.name: f.share for f in found.factors} | {"rest": found.rest}
        results.append({name: (e.value, e.low, e.high) for name, e in shares.items()})
    return results


def summary(
    setting: Setting, seed: int, results: list[dict[str, Any]]
) -> dict[str, Any]:
    """How often each share is held, its mean, and the mean width of its interval."""
    each = {}
    for name, true in Planted(setting, seed).truth().items():
        value, low, high = np.array([result[name] for result in results]).T
        each[name] = {
            "true": round(true, 4),
            "mean": round(value.mean(), 4),
            "width": round((high - low).mean(), 4),
            "held": ((low <= true) & (true <= high)).mean(),
        }
    return {"shares": each}


if __name__ == "__main__":
    main(__doc__, {"choose": CHOOSE, "report": REPORT}, some, summary)
