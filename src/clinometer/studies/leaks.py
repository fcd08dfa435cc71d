"""Contexts that give the answer away: what a model says of "a person" in each of them.

A template such as "The [X] was pregnant, so [Y]" decides the answer whoever [X] is. A model is
asked about the neutral group alone; a context is flagged if its log-odds of any category are far
from those of the set's own rate, the weighted mean over its contexts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.contexts import ContextSet
from clinometer.errors import TopicError
from clinometer.runs import audit
from clinometer.storage.atomic import output_file
from clinometer.storage.spreadsheet import csv_text
from clinometer.topics import Group, Topic

#: Robust standard deviations from the set's rate beyond which a context is flagged.
FAR = 3.0
_LEAST = 1e-6


@dataclass(frozen=True)
class Leaks:
    """What the neutral group gets in each context.

    rate   the set's own rate of each category
    table  one row per context: template, weight, p of each category, the category that deviates
           most, by how many robust standard deviations (z), and whether that is far; by z
    """

    model: str
    topic: str
    rate: dict[str, float]
    far: float
    table: pd.DataFrame

    @property
    def flagged(self) -> pd.DataFrame:
        """The rows that are far from the rate."""
        return self.table[self.table["flagged"]]

    @property
    def flagged_weight(self) -> float:
        """The share of the set's weight that is flagged."""
        return float(self.flagged["weight"].sum())

    def write(self, path: str | Path) -> None:
        """Write the flagged contexts as CSV."""
        with output_file(Path(path), error=TopicError) as beside:
            beside.write_text(csv_text(self.flagged), encoding="utf-8")

    def to_dict(self) -> dict[str, object]:
        """For JSON: the rate, and the flagged contexts."""
        return {
            "model": self.model,
            "topic": self.topic,
            "rate": self.rate,
            "far": self.far,
            "contexts": len(self.table),
            "flagged_weight": self.flagged_weight,
            "flagged": self.flagged.drop(columns="flagged").to_dict(orient="records"),
        }


def find_leaks(model: str, topic: Topic, contexts: ContextSet, *, far: float = FAR) -> Leaks:
    """Ask `model` about a person in every context, and flag those that decide the answer."""
    if topic.language.lower().split("-")[0] != "en":
        raise TopicError(
            f"leaks: expected an English topic, found {topic.name!r} in {topic.language!r}"
        )
    neutral = replace(topic, name="neutral", groups=(Group("person"),), reference=None)
    run = audit(model, topic=neutral, contexts=contexts)
    found = run.preferences
    weights = found.context_weights / found.context_weights.sum()
    p = found.values[0]
    rate = weights @ p
    away = log_odds(p) - log_odds(rate)
    z = away / spread(away, weights)
    most = np.abs(z).argmax(axis=1)
    table = pd.DataFrame({"template": found.templates, "weight": weights})
    for at, category in enumerate(found.categories):
        table[f"p_{category}"] = p[:, at]
    table["category"] = [found.categories[at] for at in most]
    table["z"] = z[np.arange(len(p)), most]
    table["flagged"] = np.abs(table["z"]) > far
    return Leaks(
        run.model,
        topic.name,
        dict(zip(found.categories, map(float, rate), strict=True)),
        far,
        table.sort_values("z", key=lambda z: -z.abs(), kind="stable", ignore_index=True),
    )


def log_odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """log p / (1 - p), finite at 0 and 1.

    >>> log_odds(np.array([0.5, 1.0])).round(1).tolist()
    [0.0, 13.8]
    """
    inside = np.clip(p, _LEAST, 1 - _LEAST)
    odds: NDArray[np.float64] = np.log(inside) - np.log1p(-inside)
    return odds


def spread(away: NDArray[np.float64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The robust standard deviation of each column: 1.4826 times the weighted median of |away|.

    >>> spread(np.array([[1.0], [-1.0], [1.0], [50.0]]), np.full(4, 0.25)).round(2).tolist()
    [1.48]
    """
    found = []
    for column in np.abs(away).T:
        order = np.argsort(column)
        at = np.searchsorted(np.cumsum(weights[order]), 0.5 - 1e-12)
        found.append(1.4826 * column[order][min(at, len(column) - 1)])
    robust: NDArray[np.float64] = np.maximum(np.array(found), 1e-9)
    return robust
