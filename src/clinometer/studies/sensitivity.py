"""The sensitivity sheet: the risks of one run under every defensible choice.

Everything comes from the stored scores; no model is loaded. A number that is stable under all of
these choices is about the model; one that is not is about the choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.numbers import MEASURES
from clinometer.display.text import to_plain
from clinometer.errors import ModelError
from clinometer.measure import Preferences
from clinometer.measure.stereotype import scale
from clinometer.runs import Run
from clinometer.runs.scores.accumulate import has_scores, recounted, word_counts
from clinometer.statistics.arrays import FloatArray
from clinometer.studies.factors import WEIGHT, builtin_factors
from clinometer.studies.word_lists import by_probability, random_halves, word_lists

THRESHOLDS = (1e-3, 1e-2, 1e-1)
NORMS = (1.0, 2.0, 4.0, math.inf)
HALVES = 20


@dataclass(frozen=True)
class Choice:
    """One line of the sheet.

    values      R, R^b, R^v; None if the choice does not apply, and `note` says why
    comparable  on the scale of the first line: only such lines enter the range
    """

    choice: str
    option: str
    R: float | None = None
    R_bias: float | None = None
    R_volatility: float | None = None
    note: str = ""
    comparable: bool = True


@dataclass(frozen=True)
class Sensitivity:
    """The sheet of one run; the first row is the run as it was measured."""

    model: str
    rows: tuple[Choice, ...]

    def span(self) -> dict[str, tuple[float, float]]:
        """Lowest and highest value of each risk over the comparable choices."""
        rows = pd.DataFrame([row for row in self.rows if row.comparable])[list(MEASURES)]
        return {name: (float(rows[name].min()), float(rows[name].max())) for name in MEASURES}

    def to_dict(self) -> dict[str, Any]:
        span = {name: {"low": low, "high": high} for name, (low, high) in self.span().items()}
        return to_plain(self) | {"span": span}


def sensitivity(run: Run, *, seed: int = 0) -> Sensitivity:
    """R, R^b, R^v of a run under each choice, one changed at a time."""
    risks = _Risks(run.preferences, run.risks.norm, run.risks.normalized)
    sampled = run.preferences.sampling.set_noise > 0
    rows = [
        risks.row("as measured", f"contexts {'sampled by weight' if sampled else 'by count'}"),
        *_weights(risks),
        *_words(run, risks, seed=seed),
        *_scale(risks),
        *_criteria(risks),
        *_coverage(risks),
        _corrected(risks),
    ]
    return Sensitivity(run.model, tuple(rows))


@dataclass(frozen=True, eq=False)
class _Risks:
    """Preferences, and the scale on which their risks are measured."""

    preferences: Preferences
    norm: float
    normalize: bool

    def row(self, choice: str, option: str, note: str = "", *, comparable: bool = True) -> Choice:
        report = self.preferences.decompose(norm=self.norm, normalize=self.normalize)
        R, bias, volatility = (report.summary[name].value for name in MEASURES)
        return Choice(choice, option, R, bias, volatility, note, comparable)

    def of(self, preferences: Preferences) -> _Risks:
        """Other preferences on the same scale."""
        return replace(self, preferences=preferences)


def _weights(risks: _Risks) -> Iterator[Choice]:
    p = risks.preferences
    if p.sampling.set_noise:
        note = "contexts were sampled by weight: frequent ones are over-represented"
        yield Choice("context weights", "uniform", note=note)
    else:
        even = replace(p, context_weights=np.ones(len(p.contexts)))
        yield risks.of(even).row("context weights", "uniform")
    if not np.allclose(p.group_weights, p.group_weights[0]):
        even = replace(p, group_weights=np.ones(len(p.groups)))
        yield risks.of(even).row("group weights", "uniform")
    employed = builtin_factors()[WEIGHT].reindex(list(p.groups)).to_numpy(dtype=float)
    known = np.isfinite(employed)
    weights = np.where(known, employed, 0.0)
    if known.sum() > 1 and not np.allclose(weights / weights.sum(), p.group_weights):
        note = "" if known.all() else f"{(~known).sum()} of {len(p.groups)} groups have no figure"
        yield risks.of(replace(p, group_weights=weights)).row("group weights", "employment", note)


def _words(run: Run, risks: _Risks, *, seed: int) -> Iterator[Choice]:
    """Other word lists, each counted separately over the same scores."""
    if not has_scores(run):
        yield Choice("words", "other lists", note="no scores of words are stored")
        return
    names, counts = [], []
    ranked = by_probability(run)
    for name, keep in word_lists(run, ranked).items():
        try:
            counts.append(word_counts(run.record, **keep))
            names.append(name)
        except ModelError as error:
            yield Choice("words", name, note=str(error).split(": ", 1)[-1])
    halves = [word_counts(run.record, keep=keep) for keep in random_halves(ranked, HALVES, seed)]
    rows = [risks.of(p).row("words", "") for p in recounted(run, [*counts, *halves])]
    for name, row in zip(names, rows, strict=False):
        yield replace(row, option=name)
    ordered = sorted(rows[len(names) :], key=lambda row: row.R_volatility or 0.0)
    for row, which in zip((ordered[:1] + ordered[-1:]), ("lowest", "highest"), strict=False):
        yield replace(row, option=f"random half, {which} Rᵛ of {HALVES}")


def _scale(risks: _Risks) -> Iterator[Choice]:
    option = "raw equations" if risks.normalize else "from 0 to 1"
    same = bool(np.allclose(scale(risks.preferences.grid.reference), 1.0))
    other = replace(risks, normalize=not risks.normalize)
    yield other.row("scale", option, "" if same else "another scale", comparable=same)


def _criteria(risks: _Risks) -> Iterator[Choice]:
    for norm in NORMS:
        if norm != risks.norm:
            yield replace(risks, norm=norm).row("criterion", f"k = {norm:g}")
    yield _other(risks, "largest |s| (released code)", lambda s: np.abs(s).max(axis=-1))
    yield _other(
        risks,
        "mean of s⁺ (released code)",
        lambda s: np.maximum(s, 0.0).mean(axis=-1),
        note="another scale",
        comparable=False,
    )


def _other(
    risks: _Risks,
    option: str,
    j: Callable[[FloatArray], FloatArray],
    *,
    note: str = "",
    comparable: bool = True,
) -> Choice:
    """Eq. 3 to 7 with another criterion; both are convex, so R^v is at least 0."""
    p = risks.preferences
    s = p.values / p.grid.reference - 1.0
    if risks.normalize:
        s = s / scale(p.grid.reference)[..., None]
    w = np.where(p.observed, np.broadcast_to(p.context_weights, p.observed.shape), 0.0)
    seen = w.sum(axis=1) > 0
    w = w[seen] / w[seen].sum(axis=1, keepdims=True)
    s = np.where(p.observed[seen][..., None], s[seen], 0.0)
    r = (w * j(s)).sum(axis=1)
    bias = j((w[..., None] * s).sum(axis=1))
    share = p.group_weights[seen] / p.group_weights[seen].sum()
    R, R_bias = float(share @ r), float(share @ bias)
    return Choice("criterion", option, R, R_bias, R - R_bias, note, comparable)


def _coverage(risks: _Risks) -> Iterator[Choice]:
    """Leave out cells below a threshold instead of flagging them."""
    p = risks.preferences
    if p.coverage is None:
        return
    for threshold in THRESHOLDS:
        low = p.observed & (p.coverage < threshold)
        option, note = f"from {threshold:g}", f"{low.sum()} of {p.observed.sum()} cells left out"
        if low.sum() == p.observed.sum():
            yield Choice("coverage", option, note="no cell is left")
            continue
        kept = replace(p, values=np.where(low[..., None], np.nan, p.values))
        lost = int((~kept.observed.any(axis=1)).sum())
        note += f", {lost} groups have none" if lost else ""
        yield risks.of(kept).row("coverage", option, note)


def _corrected(risks: _Risks) -> Choice:
    report = risks.preferences.corrected(norm=risks.norm, normalize=risks.normalize)
    values = (getattr(report, name).value for name in MEASURES)
    return Choice("estimator", "corrected for few contexts", *values)
