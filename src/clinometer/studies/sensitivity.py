"""The sensitivity sheet: the risks of one run under every defensible choice.

Everything comes from the stored scores; no model is loaded. A number that is stable under all of
these choices is about the model; one that is not is about the choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from clinometer.errors import ModelError
from clinometer.measure import Preferences, RiskReport
from clinometer.measure.criterion import Criterion
from clinometer.measure.risks import MEASURES, SYMBOLS
from clinometer.measure.stereotype import scale
from clinometer.report import Table
from clinometer.runs import Run
from clinometer.runs.scores import word_counts
from clinometer.runs.shuffled_words import mean_probabilities
from clinometer.runs.stored_scores import has_scores, recounted
from clinometer.statistics.arrays import FloatArray
from clinometer.studies.factors import SOURCES, WEIGHT, builtin_factors
from clinometer.studies.framework import Findings

THRESHOLDS = (1e-3, 1e-2, 1e-1)
NORMS = (1.0, 2.0, 4.0, math.inf)
HALVES = 20
#: The words of each category, from the most to the least probable.
Ranked = dict[str, list[str]]


#: A line of the sheet: the choice, the option, R, R_bias and R_volatility, and a note. None where
#: the choice does not apply, and the note says why. Only lines that are `comparable`, on the scale
#: of the first one, enter the range.
Line = dict[str, Any]


def sensitivity(run: Run, *, seed: int = 0) -> Findings:
    """R, R^b, R^v of a run under each choice, one changed at a time; the first row is the run as it
    was measured. The sentence gives the range over the choices on the scale of the run."""
    p, sampled = run.preferences, run.record.contexts.drawn is not None
    rows = [
        _line(
            "as measured",
            f"contexts {'sampled by weight' if sampled else 'by count'}",
            p,
        ),
        *_weights(p, sampled=sampled),
        *_words(run, seed=seed),
        *_criteria(p),
        *_coverage(p),
        _line("estimator", "middle of the bracket, as shown", p.estimate()),
    ]
    table = pd.DataFrame(rows).astype(dict.fromkeys(MEASURES, float))
    on_scale = table[table["comparable"]]
    ends = [
        f"{SYMBOLS[m]} {on_scale[m].min():.3f} to {on_scale[m].max():.3f}"
        for m in MEASURES
    ]
    title = f"{run.model}: the same answers under other choices"
    tables = [Table("sensitivity", title, table, hidden=("comparable",))]
    said = [f"Range on this scale: {', '.join(ends)}."]
    return Findings("sensitivity", tables, runs=[run], measured=said)


def _line(
    choice: str,
    option: str,
    risks: Preferences | RiskReport | Sequence[float | None] | None,
    *,
    note: str = "",
    comparable: bool = True,
) -> Line:
    if isinstance(risks, Preferences):
        risks = risks.decompose()
    if isinstance(risks, RiskReport):
        risks = [getattr(risks, measure).value for measure in MEASURES]
    values = dict(zip(MEASURES, risks or (None, None, None), strict=True))
    return {
        "choice": choice,
        "option": option,
        **values,
        "note": note,
        "comparable": comparable,
    }


def _weights(p: Preferences, *, sampled: bool) -> Iterator[Line]:
    if sampled:
        note = "contexts were sampled by weight: frequent ones are over-represented"
        yield _line("context weights", "uniform", None, note=note)
    else:
        even = replace(p, context_weights=np.ones(len(p.contexts)))
        yield _line("context weights", "uniform", even)
    if not np.allclose(p.group_weights, p.group_weights[0]):
        even = replace(p, group_weights=np.ones(len(p.groups)))
        yield _line("group weights", "uniform", even)
    employed = builtin_factors()[WEIGHT].reindex(list(p.groups)).to_numpy(dtype=float)
    has_figure = np.isfinite(employed)
    weights = np.where(has_figure, employed, 0.0)
    if has_figure.sum() > 1 and not np.allclose(
        weights / weights.sum(), p.group_weights
    ):
        weighted = replace(p, group_weights=weights)
        lacking = f"; {(~has_figure).sum()} of {len(p.groups)} groups have no figure"
        note = SOURCES[WEIGHT] + ("" if has_figure.all() else lacking)
        yield _line("group weights", "employment", weighted, note=note)


def _words(run: Run, *, seed: int) -> Iterator[Line]:
    """Other word lists, each counted separately over the same scores."""
    if not has_scores(run):
        yield _line("words", "other lists", None, note="no scores of words are stored")
        return
    names, counts = [], []
    ranked = by_probability(run)
    for name, keep in word_lists(run, ranked).items():
        try:
            counts.append(word_counts(run.record, **keep))
            names.append(name)
        except ModelError as error:
            yield _line("words", name, None, note=str(error).split(": ", 1)[-1])
    halves = [
        word_counts(run.record, keep=keep)
        for keep in random_halves(ranked, HALVES, seed)
    ]
    measured = recounted(run, [*counts, *halves])
    for name, p in zip(names, measured, strict=False):
        yield _line("words", name, p)
    ordered = [_line("words", "", p) for p in measured[len(names) :]]
    ordered.sort(key=lambda line: float(line["R_volatility"]))
    for line, which in zip(
        (ordered[:1] + ordered[-1:]), ("lowest", "highest"), strict=False
    ):
        yield {**line, "option": f"random half, {which} Rᵛ of {HALVES}"}


def by_probability(run: Run) -> Ranked:
    """The words of each category that count, from the most to the least probable."""
    words = run.record.scored_words.words
    counted = np.asarray(word_counts(run.record).any(axis=1))
    order = [
        words[i]
        for i in np.argsort(-mean_probabilities(run), kind="stable")
        if counted[i]
    ]
    return {
        category: [w for w in order if w in members]
        for category, members in run.record.topic.attributes.items()
    }


def word_lists(run: Run, ranked: Ranked) -> dict[str, dict[str, Any]]:
    """Defensible word lists, as arguments of `word_counts`."""
    tokens = run.record.scored_words.tokens
    shared = run.record.topic.shared
    lists: dict[str, dict[str, Any]] = {
        "single-token words": {"keep": [w for w, t in tokens.items() if len(t) == 1]}
    }
    if run.record.scored_words.shared:
        other = "drop" if shared == "split" else "split"
        lists[f"shared words: {other}"] = {"shared": other}
    parts = {
        "without the most probable of each category": [w[1:] for w in ranked.values()],
        "more probable half": [w[: (len(w) + 1) // 2] for w in ranked.values()],
        "less probable half": [w[(len(w) + 1) // 2 :] for w in ranked.values()],
    }
    for name, kept in parts.items():
        lists[name] = {"keep": [word for words in kept for word in words]}
    return lists


def random_halves(ranked: Ranked, n: int, seed: int) -> list[list[str]]:
    """n lists of half the words: the same ranks in each category, so they stay comparable.

    None for lists of fewer than four words.
    """
    longest = max(len(words) for words in ranked.values())
    if min(len(words) for words in ranked.values()) < 4:
        return []
    rng = np.random.default_rng(seed)
    halves = []
    for _ in range(n):
        # Keep one of every two neighbouring ranks: each category keeps half of its words.
        ranks = {
            2 * i + int(second) for i, second in enumerate(rng.random(longest) < 0.5)
        }
        halves.append(
            [w for words in ranked.values() for i, w in enumerate(words) if i in ranks]
        )
    return halves


def _criteria(p: Preferences) -> Iterator[Line]:
    """Other criteria; only those on the scale of the run's own are comparable with it."""
    mine = p.grid.criterion
    ratio = mine.name == "ratio"
    paper = replace(mine, normalize=True) if ratio else Criterion()

    def row(
        choice: str, option: str, by: Criterion | Sequence[float], *, same: bool
    ) -> Line:
        risks = replace(p, criterion=by) if isinstance(by, Criterion) else by
        note = "" if same else "another scale"
        return _line(choice, option, risks, note=note, comparable=same)

    if ratio:
        raw = replace(mine, normalize=not mine.normalize)
        option = "raw equations" if mine.normalize else "from 0 to 1"
        yield row(
            "scale", option, raw, same=bool(np.allclose(scale(p.grid.reference), 1.0))
        )
    for norm in NORMS:
        if (other := replace(paper, norm=norm, normalize=mine.normalize)) != mine:
            yield row("criterion", f"k = {norm:g}", other, same=ratio)
    if mine.name != "share":
        yield row("criterion", "share of answers", Criterion("share"), same=False)
    paper = replace(paper, normalize=mine.normalize)
    s = paper.stereotypes(p.values, replace(p, criterion=paper).grid.reference)
    yield row("criterion", "largest |s| (released code)", _largest(p, s), same=ratio)
    if mine.name != "released" and ratio:
        yield row(
            "criterion",
            "sum of s⁺ / 5 (released code)",
            Criterion("released"),
            same=False,
        )


def _largest(p: Preferences, s: FloatArray) -> tuple[float, float, float]:
    """Eq. 3 to 7 with the largest |s| as criterion; it is convex, so R^v is at least 0."""
    w, groups = p.grid.shares()
    s = np.where(p.observed[..., None], s, 0.0)
    r = (w * np.abs(s).max(axis=-1)).sum(axis=1)
    bias = np.abs((w[..., None] * s).sum(axis=1)).max(axis=-1)
    R, R_bias = float(groups @ r), float(groups @ bias)
    return R, R_bias, R - R_bias


def _coverage(p: Preferences) -> Iterator[Line]:
    """Leave out cells below a threshold instead of flagging them."""
    if p.coverage is None:
        return
    for threshold in THRESHOLDS:
        low = p.observed & (p.coverage < threshold)
        option, note = (
            f"from {threshold:g}",
            f"{low.sum()} of {p.observed.sum()} cells left out",
        )
        if low.sum() == p.observed.sum():
            yield _line("coverage", option, None, note="no cell is left")
            continue
        kept = replace(p, values=np.where(low[..., None], np.nan, p.values))
        lost = int((~kept.observed.any(axis=1)).sum())
        note += f", {lost} groups have none" if lost else ""
        yield _line("coverage", option, kept, note=note)
