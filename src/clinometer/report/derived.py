"""Values derived from a run for its pages: stereotypes, contexts and cells that matter, curves.

Numbers in, plain tables out; nothing is drawn here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.display.numbers import MEASURES
from clinometer.errors import ClinometerError
from clinometer.measure import criterion
from clinometer.measure.distribution import StereotypeDistribution
from clinometer.runs import Run
from clinometer.runs.folder.recover import cell_prompt
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.weights import effective_size

_PARTS = 20  # random subsets of the contexts for each point of the convergence curve


@dataclass(frozen=True, eq=False)
class Reading:
    """A run with the arrays that several tables and charts need, each computed once."""

    run: Run

    @cached_property
    def s(self) -> FloatArray:
        """[X, C, Y]: the stereotype of each cell on the scale of the risks; NaN where missing."""
        return self._distribution.s

    @cached_property
    def cell_weights(self) -> FloatArray:
        """[X, C]: w_c within a group; 0 where missing."""
        return self._distribution.weights

    @cached_property
    def strength(self) -> FloatArray:
        """[X, C]: J(s) of each cell; NaN where missing."""
        missing = np.isnan(self.s).any(axis=2)
        j = criterion(np.nan_to_num(self.s), self.run.risks.norm)
        return np.where(missing, np.nan, j)

    @cached_property
    def favoured(self) -> NDArray[np.int64]:
        """[X, C]: index of the category with the largest s."""
        return np.asarray(np.nan_to_num(self.s, nan=-np.inf).argmax(axis=2))

    @cached_property
    def context_mean(self) -> FloatArray:
        """[C, Y]: mean of s over the groups of each context, by group weight; NaN if none."""
        there = ~np.isnan(self.s).any(axis=2)
        w = there * self.run.risks.group_weights[:, None]
        total = w.sum(axis=0)
        summed = (w[..., None] * np.nan_to_num(self.s)).sum(axis=0)
        empty = np.full(summed.shape, np.nan)
        return np.asarray(np.divide(summed, total[:, None], out=empty, where=total[:, None] > 0))

    @cached_property
    def _distribution(self) -> StereotypeDistribution:
        return self.run.preferences.distribution(normalize=self.run.risks.normalized)

    # --- tables -------------------------------------------------------------------------------

    def sample(self, category: str, group: str | None = None) -> tuple[FloatArray, FloatArray]:
        """Values of s towards a category and their weights, of one group or of all."""
        values, weights = self._distribution.sample(category, group)
        return values, weights

    def leanings(self) -> pd.DataFrame:
        """model, category, group, s: the mean stereotype of every group."""
        report = self.run.risks
        return pd.DataFrame(
            [
                (self.run.model, category, group, report.mean_stereotype[x, y])
                for y, category in enumerate(report.categories)
                for x, group in enumerate(report.groups)
            ],
            columns=["model", "category", "group", "s"],
        )

    def telling_contexts(self, n: int = 10) -> list[tuple[str, pd.DataFrame]]:
        """The contexts that pull most in each direction, as (direction, table).

        With two categories the directions are the categories; with more they are the contexts in
        which answers are furthest from the reference, and nearest to it.
        """
        p = self.run.preferences
        mean = self.context_mean
        if len(p.categories) == 2:
            ways = [(f"that pull most to {c}", mean[:, y]) for y, c in enumerate(p.categories)]
        else:
            j = np.nanmean(np.where(np.isnan(self.strength), 0.0, self.strength), axis=0)
            ways = [("furthest from the reference", j), ("nearest to the reference", -j)]
        weights = context_weights(self.run)
        out = []
        for name, score in ways:
            order = np.argsort(-np.nan_to_num(score, nan=-np.inf), kind="stable")[:n]
            frame = pd.DataFrame(
                {
                    "context_id": [p.contexts[c] for c in order],
                    "template": [_template(self.run, c) for c in order],
                    "weight": weights[order],
                    "pull": np.abs(score[order]) if name.startswith("nearest") else score[order],
                    "group": [p.groups[self._extreme(c, name)] for c in order],
                }
            )
            # With few contexts the tenth may pull the other way: it does not belong here.
            this_way = np.isfinite(score[order]) & ((score[order] > 0) | (len(p.categories) > 2))
            out.append((name, frame[this_way]))
        return out

    def _extreme(self, context: int, way: str) -> int:
        """The group that goes furthest in this direction in a context."""
        p = self.run.preferences
        for y, category in enumerate(p.categories):
            if way == f"that pull most to {category}":
                return int(np.nan_to_num(self.s[:, context, y], nan=-np.inf).argmax())
        j = np.nan_to_num(self.strength[:, context], nan=-np.inf)
        return int(j.argmin() if way.startswith("nearest") else j.argmax())

    def weighty_cells(self, n: int = 10) -> pd.DataFrame:
        """The cells that make up most of R: group, context, p of each category, share of R."""
        p, report = self.run.preferences, self.run.risks
        part = self.cell_weights * report.group_weights[:, None] * np.nan_to_num(self.strength)
        total = part.sum()
        order = np.argsort(-part, axis=None, kind="stable")[:n]
        x, c = np.unravel_index(order, part.shape)
        frame = pd.DataFrame(
            {
                "group": [p.groups[i] for i in x],
                "context_id": [p.contexts[i] for i in c],
                "template": [_template(self.run, int(i)) for i in c],
                "sentence": [
                    _sentence(self.run, p.groups[i], _template(self.run, int(k)))
                    for i, k in zip(x, c, strict=True)
                ],
                "share": part[x, c] / total if total > 0 else np.zeros(len(x)),
            }
        )
        for y, category in enumerate(p.categories):
            frame[f"p({category})"] = p.values[x, c, y]
        return frame[part[x, c] > 0]

    def convergence(self, *, seed: int = 0) -> pd.DataFrame:
        """measure, n, value, low, high: the risks of random subsets of the contexts.

        For each n, _PARTS subsets of n contexts are sampled without replacement; the value is their
        mean, low and high are their 5 % and 95 % points.
        """
        C = self.s.shape[1]
        sizes = sorted({round(float(n)) for n in np.geomspace(min(2, C), C, 9)})
        rng = np.random.default_rng(seed)
        out = []
        for n in sizes:
            picks = 1 if n == C else _PARTS
            risks = np.array([self._risks(rng.permutation(C)[:n]) for _ in range(picks)])
            risks = risks[~np.isnan(risks).any(axis=1)]
            if not len(risks):
                continue
            for i, measure in enumerate(MEASURES):
                low, high = np.quantile(risks[:, i], [0.05, 0.95])
                out.append((measure, n, float(risks[:, i].mean()), float(low), float(high)))
        return pd.DataFrame(out, columns=["measure", "n", "value", "low", "high"])

    def _risks(self, contexts: NDArray[np.int64]) -> tuple[float, float, float]:
        w = self.cell_weights[:, contexts]
        total = w.sum(axis=1)
        there = total > 0
        if not there.any():
            return (np.nan, np.nan, np.nan)
        w = w[there] / total[there, None]
        r = (w * np.nan_to_num(self.strength[there][:, contexts])).sum(axis=1)
        s = np.nan_to_num(self.s[there][:, contexts])
        mean = np.einsum("xc,xcy->xy", w, s)
        bias = criterion(mean, self.run.risks.norm)
        g = self.run.risks.group_weights[there]
        g = g / g.sum()
        return float(g @ r), float(g @ bias), float(g @ (r - bias))

    def coverage_bins(self) -> pd.DataFrame | None:
        """left, right, count of cells by coverage, four bins per power of ten; None if unknown."""
        coverage = self.run.preferences.coverage
        if coverage is None:
            return None
        known = coverage[self.run.preferences.observed]
        known = np.clip(known[known > 0], 1e-12, 1.0)
        if known.size == 0:
            return None
        first = np.floor(np.log10(known.min()) * 4 - 1e-9) / 4
        edges = np.arange(min(first, -0.25), 0.01, 0.25)
        count, _ = np.histogram(np.log10(known), bins=np.append(edges[:-1], 1e-9))
        return pd.DataFrame({"left": 10 ** edges[:-1], "right": 10 ** edges[1:], "count": count})


def context_weights(run: Run) -> FloatArray:
    """[C], summing to one; the mean over groups where they were seen in different contexts."""
    w = run.preferences.context_weights
    shared = w if w.ndim == 1 else w.mean(axis=0)
    return np.asarray(shared / shared.sum())


def context_n_eff(run: Run) -> float:
    return float(effective_size(context_weights(run)))


def _sentence(run: Run, group: str, template: str) -> str:
    """The prompt, with a line where the word goes."""
    try:
        prompt, _ = cell_prompt(run, group, template)
    except ClinometerError:  # contexts of a preferences table need not be templates
        return template
    return prompt.fill("___")


def _template(run: Run, c: int) -> str:
    templates = run.preferences.templates
    return templates[c] if templates else run.preferences.contexts[c]
