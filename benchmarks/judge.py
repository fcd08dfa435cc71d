"""A planted judge: how far off its risks are with and without the correction, and how often the
intervals hold the truth. One JSON line for each setting.

    python benchmarks/judge.py [--repeats 400] [--half choose|report] [--only TEXT]

People's shares are p = softmax of a lean of each group, what the groups share in a context, and
what is their own. Replies are sampled from p and named by a judge with a known matrix of errors;
some replies, sampled from all, have people's labels. The truth is the risk over contexts of this
kind, from 100,000 of them. The construction was chosen on the settings of "choose"; the figures
in docs/ are of "report". Needs numpy, scipy, pydantic.
"""

from __future__ import annotations

import argparse
import json
import os
import zlib
from dataclasses import dataclass
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from clinometer.measure import decompose, read_preferences
from clinometer.measure.inference.bootstrap import estimate
from clinometer.measure.judge.calibrated import calibrated_risks
from clinometer.measure.judge.confusion import Confusion

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
    Setting("three", ((0.85, 0.1, 0.05), (0.15, 0.8, 0.05), (0.1, 0.2, 0.7)), 0.4, labels=500),
]
REPORT = [
    Setting("harsh", ((0.72, 0.28), (0.06, 0.94)), 0.7, groups=12, contexts=50, replies=24),
    Setting("even", ((0.85, 0.15), (0.12, 0.88)), 0.3, contexts=80, replies=16, labels=400),
    Setting("parity", ((0.9, 0.1), (0.25, 0.75)), 0.0, groups=8, contexts=70, replies=30),
    Setting("few labels", ((0.9, 0.1), (0.2, 0.8)), 0.6, contexts=100, labels=100),
    Setting("sharp", ((0.98, 0.02), (0.04, 0.96)), 0.5, replies=12, labels=200, swing=1.2),
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

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.rng = np.random.default_rng(zlib.crc32(setting.name.encode()))
        self.matrix = np.array(setting.matrix)
        K = len(self.matrix)
        self.leans = setting.lean * self.rng.normal(1.0, 0.5, (setting.groups, 1, 1))
        self.leans = self.leans * (np.arange(K) == 0)
        p = self.people(100_000 // setting.groups)
        found = decompose(p)
        self.truth = [float(getattr(found, name).value) for name in MEASURES]

    def people(self, contexts: int) -> Any:
        """People's shares [X, C, K]."""
        given, K = self.setting, len(self.matrix)
        shared = self.rng.standard_normal((1, contexts, K)) * np.sqrt(given.rho)
        own = self.rng.standard_normal((given.groups, contexts, K)) * np.sqrt(1 - given.rho)
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


def coverage(setting: Setting, repeats: int) -> dict[str, Any]:
    """Mean error and coverage of both ways."""
    model = Planted(setting)
    ways = ("corrected", "uncorrected")
    error = {way: np.zeros(3) for way in ways}
    held = {way: np.zeros(3) for way in ways}
    for _ in range(repeats):
        q, samples, confusion = model.draw()
        grid = read_preferences(q)
        found = {
            "corrected": calibrated_risks(grid, confusion, samples=samples),
            "uncorrected": estimate(grid, samples=samples, correct=False)[0],
        }
        for way, report in found.items():
            for i, name in enumerate(MEASURES):
                e = getattr(report, name)
                error[way][i] += (e.value - model.truth[i]) / repeats
                held[way][i] += (e.low <= model.truth[i] <= e.high) / repeats
    return {
        "setting": setting.name,
        "repeats": repeats,
        "truth": dict(zip(MEASURES, np.round(model.truth, 4).tolist(), strict=True)),
        **{
            way: {
                "error": dict(zip(MEASURES, np.round(error[way], 4).tolist(), strict=True)),
                "held": dict(zip(MEASURES, np.round(held[way], 4).tolist(), strict=True)),
            }
            for way in ways
        },
    }


def main() -> None:
    """Print one line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--half", choices=["choose", "report"], default="report")
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    for setting in CHOOSE if given.half == "choose" else REPORT:
        if given.only in setting.name:
            print(json.dumps(coverage(setting, given.repeats)), flush=True)


if __name__ == "__main__":
    main()
