"""A planted judge: how far off its risks are with and without the correction, and how often the
intervals hold the truth. One JSON line for each setting.

    python benchmarks/judge.py [OUT.jsonl] [--jobs 16] [--repeats 400] [--seed 0]
                               [--half choose|report] [--only TEXT]

People's shares are p = softmax of a lean of each group, what the groups share in a context, and
what is their own. Replies are sampled from p and named by a judge with a known matrix of errors;
some replies, sampled from all, have people's labels. The truth is the risk over contexts of this
kind, from 100,000 of them. The construction was chosen on the settings of "choose"; the figures
in docs/ are of "report". Needs numpy, scipy, pydantic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from repetitions import generator, main

from clinometer.measure import decompose, estimate_risks, read_preferences
from clinometer.measure.confusion import Confusion
from clinometer.measure.judge import calibrated_risks

MEASURES = ("R", "R_bias", "R_volatility")


@dataclass(frozen=True)
class Setting:
    """A planted judge: its matrix, and how many groups, contexts, replies and labels."""

    name: str
    matrix: tuple[tuple[float, ...], ...]
    lean: float
    groups: int = 10
    contexts: int = 60
    replies: int = 20
    labels: int = 300
    swing: float = 0.8
    rho: float = 0.3


CHOOSE = [
    Setting("lenient", ((0.95, 0.05), (0.3, 0.7)), 0.5),
    Setting("noisy", ((0.8, 0.2), (0.2, 0.8)), 0.0, replies=30),
    Setting(
        "three",
        ((0.85, 0.1, 0.05), (0.15, 0.8, 0.05), (0.1, 0.2, 0.7)),
        0.4,
        labels=500,
    ),
]
REPORT = [
    Setting(
        "harsh", ((0.72, 0.28), (0.06, 0.94)), 0.7, groups=12, contexts=50, replies=24
    ),
    Setting(
        "even", ((0.85, 0.15), (0.12, 0.88)), 0.3, contexts=80, replies=16, labels=400
    ),
    Setting(
        "parity", ((0.9, 0.1), (0.25, 0.75)), 0.0, groups=8, contexts=70, replies=30
    ),
    Setting("few labels", ((0.9, 0.1), (0.2, 0.8)), 0.6, contexts=100, labels=100),
    Setting(
        "sharp", ((0.98, 0.02), (0.04, 0.96)), 0.5, replies=12, labels=200, swing=1.2
    ),
    Setting(
        "rubric of three",
        ((0.9, 0.06, 0.04), (0.1, 0.75, 0.15), (0.05, 0.1, 0.85)),
        0.6,
        groups=8,
        contexts=50,
        replies=30,
        labels=600,
    ),
]


class Planted:
    """Draws of a setting."""

    def __init__(self, setting: Setting, seed: int) -> None:
        self.setting = setting
        self.rng = generator(seed, setting.name)
        self.matrix = np.array(setting.matrix)
        K = len(self.matrix)
        self.leans = setting.lean * self.rng.normal(1.0, 0.5, (setting.groups, 1, 1))
        self.leans = self.leans * (np.arange(K) == 0)

    def truth(self) -> list[float]:
        """The risks over 100,000 contexts."""
        found = decompose(self.people(100_000))
        return [float(getattr(found, name).value) for name in MEASURES]

    def people(self, contexts: int) -> Any:
        """People's shares [X, C, K]."""
        given, K = self.setting, len(self.matrix)
        shared = self.rng.standard_normal((1, contexts, K)) * np.sqrt(given.rho)
        own = self.rng.standard_normal((given.groups, contexts, K)) * np.sqrt(
            1 - given.rho
        )
        logits = self.leans + given.swing * (shared + own)
        p = np.exp(logits)
        return p / p.sum(axis=-1, keepdims=True)

    def draw(self) -> tuple[Any, Any, Confusion]:
        """The judge's shares, the replies behind them, and labels of some replies."""
        given, rng, K = self.setting, self.rng, len(self.matrix)
        p = self.people(given.contexts)
        said = rng.multinomial(given.replies, p)
        judged = sum(rng.multinomial(said[..., y], self.matrix[y]) for y in range(K))
        q = judged / given.replies
        mean = p.mean(axis=(0, 1))
        truth = rng.multinomial(given.labels, mean)
        counts = np.stack([rng.multinomial(truth[y], self.matrix[y]) for y in range(K)])
        names = tuple(map(str, range(K)))
        confusion = Confusion(names, counts.astype(float))
        return q, np.full(q.shape[:2], float(given.replies)), confusion


WAYS = ("corrected", "uncorrected")


def some(setting: Setting, seed: int, repetitions: range) -> list[Any]:
    """Value, low and high by way and measure, in each repetition."""
    model = Planted(setting, seed)
    results = []
    for number in repetitions:
        model.rng = generator(seed, setting.name, number)
        q, samples, confusion = model.draw()
        grid = read_preferences(q)
        reports = (
            calibrated_risks(grid, confusion, samples=samples),
            estimate_risks(grid.values, samples=samples),
        )
        measures = [[getattr(report, name) for name in MEASURES] for report in reports]
        results.append([[(e.value, e.low, e.high) for e in row] for row in measures])
    return results


def summary(setting: Setting, seed: int, results: list[Any]) -> dict[str, Any]:
    """Mean error, mean absolute error and coverage of both ways."""
    truth = np.array(Planted(setting, seed).truth())
    found = np.array(results, dtype=float)
    line: dict[str, Any] = {"truth": _by_measure(truth)}
    for way, each in zip(WAYS, np.moveaxis(found, 1, 0), strict=True):
        value, low, high = np.moveaxis(each, -1, 0)
        line[way] = {
            "error": _by_measure((value - truth).mean(axis=0)),
            "absolute_error": _by_measure(np.abs(value - truth).mean(axis=0)),
            "width": _by_measure((high - low).mean(axis=0)),
            "held": _by_measure(((low <= truth) & (truth <= high)).mean(axis=0)),
        }
    return line


def _by_measure(values: Any) -> dict[str, float]:
    return dict(zip(MEASURES, np.round(values, 4).tolist(), strict=True))


if __name__ == "__main__":
    main(__doc__, {"choose": CHOOSE, "report": REPORT}, some, summary)
