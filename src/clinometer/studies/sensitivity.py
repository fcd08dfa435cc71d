"""The sensitivity sheet: the risks of one run under every defensible choice.

Everything comes from the stored scores; no model is loaded. A number that is stable under all of
these choices is about the model; one that is not is about the choice.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
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
"""Probabilities of its words below which a cell may be left out."""

NORMS = (1.0, 2.0, 4.0, math.inf)
"""The k of the norms J_k."""

HALVES = 20
"""Random halves of the word lists."""

Ranked = dict[str, list[str]]
"""The words of each category, from the most to the least probable."""

Line = dict[str, Any]
"""A line of the sheet: the choice, the option, R, R_bias and R_volatility, and a note.

The risks are None where the choice does not apply, and the note says why. Only lines that are
`comparable`, on the scale of the first one, enter the range.
"""


def sensitivity(run: Run, *, seed: int = 0) -> Findings:
    """Return R, R^b, R^v of a run under each choice, one changed at a time.

    The first row is the run as it was measured. The sentence gives the range over the choices on
    the scale of the run.
    """
    p = run.preferences
    is_sampled = run.record.contexts.drawn is not None
    weighting = "sampled by weight" if is_sampled else "by count"
    rows = [
        _line("as measured", f"contexts {weighting}", p),
        *_weights(p, is_sampled=is_sampled),
        *_words(run, seed=seed),
        *_criteria(p),
        *_coverage(p),
        _line("estimator", "middle of the bracket, as shown", p.estimate()),
    ]
    table = pd.DataFrame(rows).astype(dict.fromkeys(MEASURES, float))
    on_scale = table[table["comparable"]]
    ranges = [
        f"{SYMBOLS[name]} {on_scale[name].min():.3f} to {on_scale[name].max():.3f}"
        for name in MEASURES
    ]
    title = f"{run.model}: the same answers under other choices"
    return Findings(
        "sensitivity",
        [Table("sensitivity", title, table, hidden=("comparable",))],
        runs=[run],
        measured=[f"Range on this scale: {', '.join(ranges)}."],
    )


def _line(
    choice: str,
    option: str,
    risks: Preferences | RiskReport | Mapping[str, float] | None,
    *,
    note: str = "",
    comparable: bool = True,
) -> Line:
    """Return a line of the sheet: of preferences, of a report, or of risks by their names."""
    if isinstance(risks, Preferences):
        risks = risks.decompose()
    values: dict[str, float | None] = dict.fromkeys(MEASURES)
    if isinstance(risks, RiskReport):
        values = {name: risks.summary[name].value for name in MEASURES}
    elif risks is not None:
        values |= risks
    return {
        "choice": choice,
        "option": option,
        **values,
        "note": note,
        "comparable": comparable,
    }


def _weights(p: Preferences, *, is_sampled: bool) -> Iterator[Line]:
    """Give contexts and groups other weights."""
    if is_sampled:
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
    if has_figure.sum() < 2:
        return
    weights = np.where(has_figure, employed, 0.0)
    if np.allclose(weights / weights.sum(), p.group_weights):
        return
    note = SOURCES[WEIGHT]
    if not has_figure.all():
        note += f"; {(~has_figure).sum()} of {len(p.groups)} groups have no figure"
    weighted = replace(p, group_weights=weights)
    yield _line("group weights", "employment", weighted, note=note)


def _words(run: Run, *, seed: int) -> Iterator[Line]:
    """Count other word lists, each separately over the same scores."""
    if not has_scores(run):
        yield _line("words", "other lists", None, note="no scores of words are stored")
        return
    ranked = by_probability(run)
    counts: dict[str, FloatArray] = {}
    for name, choice in word_lists(run, ranked).items():
        try:
            counts[name] = word_counts(run.record, **choice)
        except ModelError as error:
            yield _line("words", name, None, note=str(error).split(": ", 1)[-1])
    halves = [
        word_counts(run.record, keep=words)
        for words in random_halves(ranked, HALVES, seed)
    ]
    measured = recounted(run, [*counts.values(), *halves])
    for name, p in zip(counts, measured, strict=False):
        yield _line("words", name, p)
    of_halves = [_line("words", "", p) for p in measured[len(counts) :]]
    if of_halves:
        of_halves.sort(key=lambda line: float(line["R_volatility"]))
        yield of_halves[0] | {"option": f"random half, lowest Rᵛ of {HALVES}"}
        yield of_halves[-1] | {"option": f"random half, highest Rᵛ of {HALVES}"}


def by_probability(run: Run) -> Ranked:
    """Return the words of each category that count, from the most to the least probable."""
    words = run.record.scored_words.words
    is_counted = np.asarray(word_counts(run.record).any(axis=1))
    by_mean = np.argsort(-mean_probabilities(run), kind="stable")
    ordered = [words[i] for i in by_mean if is_counted[i]]
    return {
        category: [word for word in ordered if word in members]
        for category, members in run.record.topic.attributes.items()
    }


def word_lists(run: Run, ranked: Ranked) -> dict[str, dict[str, Any]]:
    """Return defensible word lists, as arguments of `word_counts`."""
    scored = run.record.scored_words
    single = [word for word, tokens in scored.tokens.items() if len(tokens) == 1]
    lists: dict[str, dict[str, Any]] = {"single-token words": {"keep": single}}
    if scored.shared:
        other = "drop" if run.record.topic.shared == "split" else "split"
        lists[f"shared words: {other}"] = {"shared": other}
    all_but_first: list[str] = []
    more_probable: list[str] = []
    less_probable: list[str] = []
    for words in ranked.values():
        middle = (len(words) + 1) // 2
        all_but_first += words[1:]
        more_probable += words[:middle]
        less_probable += words[middle:]
    lists["without the most probable of each category"] = {"keep": all_but_first}
    lists["more probable half"] = {"keep": more_probable}
    lists["less probable half"] = {"keep": less_probable}
    return lists


def random_halves(ranked: Ranked, n: int, seed: int) -> list[list[str]]:
    """Return n lists of half the words: the same ranks in each category, so they stay comparable.

    None for lists of fewer than four words.
    """
    lengths = [len(words) for words in ranked.values()]
    if min(lengths) < 4:
        return []
    rng = np.random.default_rng(seed)
    halves = []
    for _ in range(n):
        # Keep one of every two neighbouring ranks: each category keeps half of its words.
        takes_second = rng.random(max(lengths)) < 0.5
        ranks = {2 * i + int(second) for i, second in enumerate(takes_second)}
        half: list[str] = []
        for words in ranked.values():
            half += [word for i, word in enumerate(words) if i in ranks]
        halves.append(half)
    return halves


def _criteria(p: Preferences) -> Iterator[Line]:
    """Measure by other criteria; only those on the scale of the run's are comparable with it."""
    measured = p.grid.criterion
    is_ratio = measured.name == "ratio"
    if is_ratio:
        raw = replace(measured, normalize=not measured.normalize)
        option = "raw equations" if measured.normalize else "from 0 to 1"
        same_scale = bool(np.allclose(scale(p.grid.reference), 1.0))
        yield _criterion_line(p, "scale", option, raw, same_scale=same_scale)
    paper = measured if is_ratio else Criterion(normalize=measured.normalize)
    for norm in NORMS:
        criterion = replace(paper, norm=norm)
        if criterion != measured:
            option = f"k = {norm:g}"
            yield _criterion_line(
                p, "criterion", option, criterion, same_scale=is_ratio
            )
    if measured.name != "share":
        share = Criterion("share")
        yield _criterion_line(
            p, "criterion", "share of answers", share, same_scale=False
        )
    s = paper.stereotypes(p.values, replace(p, criterion=paper).grid.reference)
    yield _line(
        "criterion",
        "largest |s| (released code)",
        _risks_of_largest(p, s),
        note="" if is_ratio else "another scale",
        comparable=is_ratio,
    )
    if is_ratio:
        option = "sum of s⁺ / 5 (released code)"
        released = Criterion("released")
        yield _criterion_line(p, "criterion", option, released, same_scale=False)


def _criterion_line(
    p: Preferences, choice: str, option: str, criterion: Criterion, *, same_scale: bool
) -> Line:
    """Return the line of another criterion."""
    note = "" if same_scale else "another scale"
    risks = replace(p, criterion=criterion)
    return _line(choice, option, risks, note=note, comparable=same_scale)


def _risks_of_largest(p: Preferences, s: FloatArray) -> dict[str, float]:
    """Return Eq. 3 to 7 with the largest |s| as criterion; it is convex, so R^v is at least 0."""
    weights, group_weights = p.grid.shares()
    s = np.where(p.observed[..., None], s, 0.0)
    r = (weights * np.abs(s).max(axis=-1)).sum(axis=1)
    r_bias = np.abs((weights[..., None] * s).sum(axis=1)).max(axis=-1)
    R = float(group_weights @ r)
    R_bias = float(group_weights @ r_bias)
    return {"R": R, "R_bias": R_bias, "R_volatility": R - R_bias}


def _coverage(p: Preferences) -> Iterator[Line]:
    """Leave out cells below a threshold instead of flagging them."""
    if p.coverage is None:
        return
    n_observed = p.observed.sum()
    for threshold in THRESHOLDS:
        is_low = p.observed & (p.coverage < threshold)
        option = f"from {threshold:g}"
        if is_low.sum() == n_observed:
            yield _line("coverage", option, None, note="no cell is left")
            continue
        covered = replace(p, values=np.where(is_low[..., None], np.nan, p.values))
        note = f"{is_low.sum()} of {n_observed} cells left out"
        groups_without = int((~covered.observed.any(axis=1)).sum())
        if groups_without:
            note += f", {groups_without} groups have none"
        yield _line("coverage", option, covered, note=note)
