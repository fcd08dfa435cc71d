"""How often the gate is right about planted regressions: prints one JSON object.

Preferences of a run and its baseline are drawn anew for the same groups in n contexts: p = logistic
of a group's leaning plus swings, of which the two models share a part (correlation 0.8, as versions
of one model do) and the groups a part (0.3). In the run the leanings are moved until its true R is
higher by 0.00, 0.02 or 0.05. The margin is 0.02. Right: not worse at 0.00, worse at 0.05; at 0.02
both would be errors, each of at most 5 %. An argument sets the repetitions (200).
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace

import numpy as np

from clinometer.contexts import ContextSet
from clinometer.gate.decision import MARGIN, decide
from clinometer.measure import Preferences
from clinometer.models import ModelInfo
from clinometer.runs import AuditSettings, Run
from clinometer.runs.folder.record import new_record
from clinometer.topics import Group, Topic

GROUPS = 8
SWING = 0.8
MODELS_SHARE, GROUPS_SHARE = 0.8, 0.3
PLANTED = (0.0, 0.02, 0.05)
SETTINGS = ((60, "even"), (350, "even"), (350, "1/rank"))
_NODES, _MASS = np.polynomial.hermite_e.hermegauss(80)


def true_risk(leaning: np.ndarray) -> np.ndarray:
    """E |s| of leanings [..] over the swings: Gauss-Hermite."""
    s = np.tanh((leaning[..., None] + SWING * _NODES) / 2)
    return np.abs(s) @ (_MASS / _MASS.sum())


def further(leanings: np.ndarray, by: float) -> np.ndarray:
    """Leanings moved away from parity until the true risk of each is higher by `by`."""
    grid = np.linspace(0, 6, 6001)
    risk = np.interp(np.abs(leanings), grid, true_risk(grid)) + by
    return np.where(leanings < 0, -1, 1) * np.interp(risk, true_risk(grid), grid)


def preferences(rng: np.random.Generator, leanings: np.ndarray, n: int) -> np.ndarray:
    """p [2,X,n,2] of leanings [2,X]."""

    def noise() -> np.ndarray:
        one, own = rng.standard_normal((1, n)), rng.standard_normal((GROUPS, n))
        return np.sqrt(GROUPS_SHARE) * one + np.sqrt(1 - GROUPS_SHARE) * own

    common = noise()
    swings = [
        np.sqrt(MODELS_SHARE) * common + np.sqrt(1 - MODELS_SHARE) * noise()
        for _ in "ab"
    ]
    first = 1.0 / (1.0 + np.exp(-(leanings[:, :, None] + SWING * np.stack(swings))))
    return np.stack([first, 1 - first], axis=-1)


def empty_run(n: int, kind: str) -> Run:
    """A run of n contexts to be filled with preferences."""
    topic = Topic(
        "planted",
        groups=tuple(Group(f"group {i}") for i in range(GROUPS)),
        attributes={"a": ("a",), "b": ("b",)},
    )
    counts = [1.0] * n if kind == "even" else [1000.0 / (i + 1) for i in range(n)]
    contexts = ContextSet(
        "planted", [f"On day {i} the [X] is [Y]" for i in range(n)], counts
    )
    settings = AuditSettings()
    info = ModelInfo(name="planted", kind="causal", revision="none")
    made = Preferences(
        values=np.full((GROUPS, n, 2), 0.5),
        groups=topic.group_names,
        contexts=contexts.ids,
        categories=topic.categories,
        context_weights=contexts.weights,
        group_weights=topic.group_weights,
    )
    return Run.measured(new_record(info, topic, contexts, settings), made, folder=None)


def verdicts(n: int, kind: str, planted: float, repeats: int) -> dict[str, float]:
    """Share of each verdict over `repeats` pairs of runs."""
    rng = np.random.default_rng([n, len(kind), round(1000 * planted)])
    empty, counts = empty_run(n, kind), Counter[str]()
    for _ in range(repeats):
        leanings = rng.normal(0, 0.8, GROUPS)
        p = preferences(rng, np.stack([further(leanings, planted), leanings]), n)
        run, baseline = (
            replace(empty, preferences=replace(empty.preferences, values=one))
            for one in p
        )
        counts[decide(run, baseline).verdict] += 1
    return {
        verdict: counts[verdict] / repeats
        for verdict in ("not worse", "cannot tell", "worse")
    }


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    rows = [
        {"contexts": n, "weights": kind, "planted": planted}
        | verdicts(n, kind, planted, repeats)
        for n, kind in SETTINGS
        for planted in PLANTED
    ]
    error = 0.05 + 2 * np.sqrt(0.05 * 0.95 / repeats)
    wrong = [
        max(row["worse"] if row["planted"] <= MARGIN else 0.0,
            row["not worse"] if row["planted"] >= MARGIN else 0.0)
        for row in rows
    ]  # fmt: skip
    print(
        json.dumps(
            {
                "repeats": repeats,
                "margin": MARGIN,
                "rows": rows,
                "passed": bool(max(wrong) <= error),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
