"""Random situations through the real estimators: no finding contradicts its numbers.

Each situation has a seed, and a failure names it: `situation(seed)` and `models(seed)` make the
same one again. Findings are checked as data (kind, certainty, numbers), not as sentences.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.preferences import labelled

from clinometer.findings.finding import Finding
from clinometer.measure import Comparison, Estimate, RiskReport, compare
from clinometer.measure.differences import Difference
from clinometer.outcomes.choose import outcome_of
from clinometer.runs.findings.facts import RunFacts, facts_of_table
from clinometer.runs.findings.of_comparison import comparison_findings
from clinometer.runs.findings.of_run import ALONE, statements
from clinometer.statistics.arrays import FloatArray

SITUATIONS = int(os.environ.get("CLINOMETER_SITUATIONS", "2500"))
"""Runs and comparisons in all; the search for a release has 5,000."""

RUNS, MORE_RUNS = 60, round(0.88 * SITUATIONS)
"""Situations of one run, in every test and in the long one."""

COMPARISONS, MORE_COMPARISONS = 10, round(0.12 * SITUATIONS)
"""Comparisons, likewise."""


SUM = 1e-6
"""By how much R may differ from the sum of its parts."""

SAME = 1e-9
"""Numbers that are closer are equal but for rounding."""


def faults_of_run(seed: int) -> Iterator[str]:
    f, level = situation(seed)
    return run_faults(f, statements(f), level=level)


def faults_of_comparison(seed: int) -> Iterator[str]:
    compared = models(seed)
    return comparison_faults(compared, comparison_findings(compared))


def check(faults_of: Callable[[int], Iterator[str]], seeds: range) -> None:
    faults = [f"seed {seed}: {rule}" for seed in seeds for rule in faults_of(seed)]
    assert not faults, "\n".join(faults[:40])


def test_findings() -> None:
    check(faults_of_run, range(RUNS))
    check(faults_of_comparison, range(COMPARISONS))


def test_many_runs() -> None:
    check(faults_of_run, range(RUNS, MORE_RUNS))


def test_many_comparisons() -> None:
    check(faults_of_comparison, range(COMPARISONS, MORE_COMPARISONS))


@pytest.mark.parametrize(
    ("kind", "change", "rule"),
    [
        ("scores", {"tally": {"above": 2, "undecided": 7}}, "counts add up"),
        ("scores", {"sure": "cannot tell"}, "cannot tell"),
        ("scores", {"sure": "exact"}, "exact"),
        ("scores", {"groups": {"g0": Estimate(7.0)}}, "a group on its side"),
        ("size", {"numbers": {"R": Estimate(0.1)}}, "size"),
        ("size", {"sure": "unclear"}, "size"),
        ("steady", {"numbers": {"swing share": Estimate(0.7)}}, "share of R"),
    ],
)
def test_planted_contradictions_are_found(
    kind: str, change: dict[str, Any], rule: str
) -> None:
    """Findings that were changed after they were made."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2.0, 2.0, 2.0], (3, 40))
    p[0] = rng.dirichlet([9.0, 2.0, 1.0], 40)
    scale: Any = {"categories": ("1", "2", "3"), "criterion": "points"}
    table = labelled(p, reference="group-mean", **scale)
    f = facts_of_table("M", table, table.estimate(), table.leans())
    said = list(statements(f))
    assert not list(run_faults(f, said))
    number = [one.kind for one in said].index(kind)
    said[number] = replace(said[number], **change)
    assert rule in set(run_faults(f, said))


# --- What must not be ------------------------------------------------------------------------


def run_faults(
    f: RunFacts, said: Sequence[Finding], *, level: float = 0.95
) -> Iterator[str]:
    """The rules that the findings of a run break, given its numbers."""
    yield from _interval_faults(f.report)
    first, R = said[0], f.report.R
    seen = [x for x, lean in enumerate(f.leans) if lean.favoured is not None]
    clear = [x for x, lean in enumerate(f.leans) if lean.category is not None]
    for lean in f.leans:
        apart = (lean.low or 0.0) > 0 or (lean.high or 0.0) < 0
        if lean.low is not None and apart != (lean.category is not None):
            yield "an interval that decides"
    if any(one.kind in ALONE for one in said):
        if len(said) > 1:
            yield "one finding"
        if first.kind == "alike" and (clear or max(R.value, R.high or 0.0) > SAME):
            yield "alike, and a lean"
        return
    if f.improbable > 0.5 and seen:
        yield "improbable words say nothing"
    if (first.clear, first.counted) != (len(clear), len(seen)):
        yield "counts add up"
    if first.sure == "cannot tell" and clear:
        yield "cannot tell"
    if (first.sure == "exact") != f.exact or any(
        one.sure == "exact" for one in said
    ) > f.exact:
        yield "exact"
    if first.sure == "unclear" and clear:
        yield "unclear, and on the list"
    if first.sure == "clear" and not clear and not (f.report.R_bias.low or 0.0) > 0:
        yield "clear, and neither a group nor all together"
    little = 2.0 ** (1 - f.units) > 1 - level and not f.exact
    if any(
        one.sure == "clear" and (little or first.sure == "cannot tell") for one in said
    ):
        yield "clear from too little"
    yield from _named_faults(f, first, set(clear))
    for one in said:
        if one.kind == "size":
            known = (
                "exact"
                if f.exact
                else "clear"
                if (R.low or 0.0) > 0 or clear
                else "unclear"
            )
            sure = (known, "cannot tell") if R.low is None or not clear else (known,)
            if one.numbers["R"] != R or one.sure not in sure:
                yield "size"
        steady = 0.0 if R.value <= 0 else f.report.R_volatility.value / R.value
        if (
            one.kind == "steady"
            and abs(one.numbers["swing share"].value - steady) > SUM
        ):
            yield "share of R"


def _named_faults(f: RunFacts, first: Finding, clear: set[int]) -> Iterator[str]:
    """The groups that a headline names have the numbers of the run, on the side it says."""
    place = {f.called(x): x for x in range(len(f.groups))}
    points = np.array(f.report.criterion.points)
    for name, number in first.groups.items():
        x = place[name]
        beside_mean = first.kind == "rates" and f.relative and f.shares.shape[1] == 2
        if beside_mean and first.sure == "clear" and clear and x not in clear:
            yield "a group that may be at the mean"
        if first.kind == "scores" and "highest" not in first.numbers:
            top = f.leans[x].favoured == f.report.categories[-1]
            if x not in clear or (number.value > 0) != top:
                yield "a group on its side"
        elif first.kind == "scores":
            if abs(number.value - f.shares[x] @ points) > SAME:
                yield "a mean"
        elif np.abs(f.shares[x] - number.value).min() > SAME:
            yield "a share"


def _interval_faults(report: RiskReport) -> Iterator[str]:
    """R and its two parts, each in its interval, and no part beyond R."""
    R, bias, swing = report.R, report.R_bias, report.R_volatility
    if abs(R.value - bias.value - swing.value) > SUM:
        yield "R is the sum of its parts"
    for one in report.summary.values():
        ends = (
            one.value if one.low is None else one.low,
            one.value if one.high is None else one.high,
        )
        if not ends[0] - SAME <= one.value <= ends[1] + SAME:
            yield "a value is in its interval"
    for part, end in itertools.product((bias, swing), ("low", "high")):
        whole, own = getattr(R, end), getattr(part, end)
        if whole is not None and own is not None and own > whole + SAME:
            yield "no part exceeds R"


def comparison_faults(compared: Comparison, said: Sequence[Finding]) -> Iterator[str]:
    """The rules that the findings of a comparison break, given its differences."""
    ways = {(d.a, d.b, d.measure): _way(d, compared.level) for d in compared.overall}
    told = {
        (*one.who, one.words["measure"]): one
        for one in said
        if one.kind == "difference"
    }
    for d in compared.overall:
        if d.measure not in ("R", "R_bias"):
            continue
        one = told[d.a, d.b, d.measure]
        number = one.numbers["difference"]
        if number.value != d.value:
            yield "a difference"
        if (one.sure == "clear") != bool(ways[d.a, d.b, d.measure]):
            yield "a clear difference"
        if number.low is not None and (number.low, number.high) != (d.low, d.high):
            yield "the interval of a difference"
    for one in (one for one in said if one.kind == "groups"):
        rows = [
            d for d in compared.by_group if (d.a, d.b, d.measure) == (*one.who, "r")
        ]
        clear = sum(
            d.p_corrected is not None and d.p_corrected <= 1 - compared.level
            for d in rows
        )
        if (one.clear, one.counted, one.sure == "clear") != (
            clear,
            len(rows),
            bool(clear),
        ):
            yield "groups that differ"
    of_R = {(a, b): way for (a, b, measure), way in ways.items() if measure == "R"}
    for one in said:
        if one.kind == "models" and one.clear != sum(map(abs, of_R.values())):
            yield "clear pairs"
    of_R |= {(b, a): -way for (a, b), way in of_R.items()}
    for a, b, c in itertools.permutations(compared.models, 3):
        if of_R[a, b] > 0 and of_R[b, c] > 0 and of_R[c, a] > 0:
            yield "a circle"


def _way(d: Difference, level: float) -> int:
    """+1 where a is clearly higher, -1 where b is, else 0: by the interval, or by p without one."""
    if d.low is not None and d.high is not None:
        return int(d.low > 0) - int(d.high < 0)
    known = d.p_corrected is not None and d.p_corrected <= 1 - level
    return int(np.sign(d.value or 0.0)) if known else 0


# --- Random situations -----------------------------------------------------------------------


def preferences(
    rng: np.random.Generator, X: int, C: int, K: int, base: FloatArray
) -> FloatArray:
    """[X, C, K]: around a base [K] of logits, with leans that all share, leans of groups, swings of
    contexts and noise of cells, each of them planted or not."""
    shape = (X, C, K)
    size = {name: float(rng.choice([0.0, 0.05, 0.3, 1.0, 3.0])) for name in "sgcn"}
    logits = base + size["s"] * rng.standard_normal(K)
    logits = logits + size["g"] * rng.standard_normal((X, 1, K))
    logits = logits + size["c"] * rng.standard_normal((1, C, K))
    logits = logits + size["n"] * rng.standard_normal(shape)
    if rng.random() < 0.1:  # one word or the other, by turns
        logits[..., 0] += 2.0 * (-1.0) ** np.arange(C)
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def settings(rng: np.random.Generator, X: int, C: int, K: int) -> dict[str, Any]:
    """Weights, reference and criterion, as preferences take them."""
    given: dict[str, Any] = {"context_weights": np.ones(C), "group_weights": np.ones(X)}
    if rng.random() < 0.3:
        given["context_weights"] = rng.lognormal(0.0, float(rng.choice([0.5, 1.5])), C)
    if rng.random() < 0.2:
        given["group_weights"] = rng.lognormal(0.0, 1.0, X)
    kind = rng.random()
    if kind < 0.4:
        given["reference"] = "group-mean"
    elif kind < 0.55:
        given["reference"] = (rng.dirichlet(np.full(K, 3.0)) + 0.02) / (1 + 0.02 * K)
    if rng.random() < 0.25:
        given["criterion"] = "points"
    return given


def sizes(rng: np.random.Generator) -> tuple[int, int, int]:
    """Groups, contexts and categories; two categories and few contexts more often than chance."""
    X = int(rng.integers(2, 13))
    C = int(rng.integers(2, 12)) if rng.random() < 0.4 else int(rng.integers(2, 61))
    return X, C, 2 if rng.random() < 0.4 else int(rng.integers(2, 11))


def situation(seed: int) -> tuple[RunFacts, float]:
    """The facts of a random run, and the level of its intervals."""
    rng = np.random.default_rng([seed, 1])
    X, C, K = sizes(rng)
    given = settings(rng, X, C, K)
    reference = given.get("reference")
    base = np.log(reference) if isinstance(reference, np.ndarray) else np.zeros(K)
    p = preferences(rng, X, C, K, base)
    names = [str(y + 1) if given.get("criterion") else f"word{y}" for y in range(K)]
    known = bool(rng.random() < 0.12)
    if not known and rng.random() < 0.12:
        m = int(rng.choice([8, 12, 20]))
        p, given["answers"] = rng.multinomial(m, p) / m, np.full((X, C), float(m))
    if rng.random() < 0.15:
        p[rng.random((X, C)) < 0.2] = np.nan
        p[0, 0] = np.nan if C > 2 else p[0, 0]
    if rng.random() < 0.08:
        p[1:, :] = np.where(rng.random(X - 1)[:, None, None] < 0.5, np.nan, p[1:, :])
    clusters = "source" if not known and rng.random() < 0.25 else None
    sources = [f"s{c % max(2, C // 3)}" for c in range(C)]
    if np.isnan(p).any(axis=2).all():
        p = np.full((X, C, K), 1 / K)
    table = labelled(p, categories=tuple(names), labels={"source": sources}, **given)
    level = float(rng.choice([0.95, 0.95, 0.95, 0.9, 0.99]))
    how: dict[str, Any] = {"level": level, "clusters": clusters}
    report = table.decompose() if known else table.estimate(**how)
    leans = table.leans(**how, known=known)
    f = replace(
        facts_of_table("M", table, report, leans, clusters=clusters), exact=known
    )
    if not given.get("criterion") and rng.random() < 0.3:
        favourable = names[int(rng.integers(K))]
        outcome = outcome_of(table, asks_questions=True, favourable=favourable)
        f = replace(f, outcome=outcome)
    words = tuple(f"“{name}”" for name in names) if rng.random() < 0.5 else tuple(names)
    unlikely = float(rng.choice([0.0, 0.3, 0.9], p=[0.92, 0.05, 0.03]))
    other = float(rng.choice([0.0, 0.05, 0.6], p=[0.6, 0.2, 0.2]))
    return replace(f, words=words, improbable=unlikely, other=other), level


def models(seed: int) -> Comparison:
    """A random comparison of two to five models."""
    rng = np.random.default_rng([seed, 2])
    X, C, K = sizes(rng)
    X, M = min(X, 4), int(rng.choice([2, 3, 4, 5], p=[0.4, 0.35, 0.15, 0.1]))
    given = settings(rng, X, C, K)
    if given.get("criterion"):
        given["categories"] = [str(y + 1) for y in range(K)]
    common = preferences(rng, X, C, K, np.zeros(K))
    answers: list[FloatArray] = []
    for m in range(M):
        own = rng.random()
        if own < 0.15 and answers:  # the same answers again
            answers.append(answers[-1])
        elif own < 0.4:  # the same, mixed with one category everywhere
            mixed = float(rng.choice([0.02, 0.1, 0.3]))
            answers.append((1 - mixed) * common + mixed * np.eye(K)[m % K])
        else:
            answers.append((common + preferences(rng, X, C, K, np.zeros(K))) / 2)
    mask = rng.random((X, C)) > 0.1 if rng.random() < 0.15 else None
    clusters = [c % max(2, C // 3) for c in range(C)] if rng.random() < 0.2 else None
    if mask is not None:
        mask[:, 0] = True
    return compare(
        *answers,
        names=[f"model{m}" for m in range(M)],
        groups=[f"group{x}" for x in range(X)],
        level=float(rng.choice([0.95, 0.95, 0.9])),
        clusters=clusters,
        mask=mask,
        **given,
    )
