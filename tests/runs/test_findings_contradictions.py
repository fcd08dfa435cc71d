"""Random situations through the real estimators: no finding contradicts its numbers.

Each situation has a seed, and a failure names it: `situation(seed)` and `models(seed)` make the
same one again. Findings are checked as data (kind, certainty, numbers), not as sentences.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.preferences import labelled

from clinometer.measure import Comparison, RiskReport, compare
from clinometer.measure.comparison import Difference
from clinometer.measure.correction import Sampling
from clinometer.runs.findings import (
    Facts,
    Finding,
    comparison_findings,
    facts_of_table,
    statements,
)
from clinometer.statistics.arrays import FloatArray

SITUATIONS = int(os.environ.get("CLINOMETER_SITUATIONS", "2500"))
"""Runs and comparisons in all; the search for a release has 5,000."""

RUNS, MORE_RUNS = 60, round(0.88 * SITUATIONS)
"""Situations of one run, in every test and in the long one."""

COMPARISONS, MORE_COMPARISONS = 10, round(0.12 * SITUATIONS)
"""Comparisons, likewise."""

MEASURES = ("R", "R_bias", "R_volatility", "R_between")


@pytest.fixture(autouse=True)
def rougher_integrals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real estimators with fewer nodes: rougher numbers by the same rules, ten times as fast
    with several categories."""
    monkeypatch.setattr("clinometer.measure.counting_noise.LIKE", 2000)
    monkeypatch.setattr("clinometer.measure.intervals.TURNS", 2)
    monkeypatch.setattr("clinometer.measure.intervals.STEPS", 11)


SUM = 1e-6
"""By how much R may differ from the sum of its parts."""

SAME = 1e-9
"""Numbers that are closer are equal but for rounding."""

ALONE = ("nothing", "improbable", "alike")
"""Headlines with nothing after them."""


def test_runs() -> None:
    _check(_in_runs(range(RUNS)))


def test_comparisons() -> None:
    _check(_in_comparisons(range(COMPARISONS)))


def test_many_runs() -> None:
    _check(_in_runs(range(RUNS, MORE_RUNS)))


def test_many_comparisons() -> None:
    _check(_in_comparisons(range(COMPARISONS, MORE_COMPARISONS)))


@pytest.mark.parametrize(
    ("number", "change", "rule"),
    [
        (0, {"numbers": {"clear": 2.0, "seen": 9.0}}, "groups that are clear"),
        (0, {"sure": "cannot tell"}, "cannot tell"),
        (0, {"sure": "exact"}, "exact"),
        (0, {"value": 7.0}, "how far apart"),
        (1, {"low": 0.0}, "size"),
        (1, {"sure": "unclear"}, "size"),
        (2, {"value": 7.0}, "share of R"),
    ],
)
def test_planted_contradictions_are_found(number: int, change: dict[str, Any], rule: str) -> None:
    """Findings that were changed after they were made."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2.0, 2.0, 2.0], (3, 40))
    p[0] = rng.dirichlet([9.0, 2.0, 1.0], 40)
    scale: Any = {"categories": ("1", "2", "3"), "criterion": "points"}
    table = labelled(p, reference="group-mean", **scale)
    f = facts_of_table("M", table, table.estimate(), table.leans())
    found = [one for one in statements(f) if one.kind in ("ratings", "size", "steadiness")]
    assert not list(run_faults(f, found))
    found[number] = replace(found[number], **change)
    assert rule in set(run_faults(f, found))


def _check(faults: list[tuple[int, str]]) -> None:
    assert not faults, "\n".join(f"seed {seed}: {rule}" for seed, rule in faults[:40])


def _in_runs(seeds: range) -> list[tuple[int, str]]:
    faults = []
    for seed in seeds:
        f, level = situation(seed)
        faults += [(seed, rule) for rule in run_faults(f, statements(f), level=level)]
    return faults


def _in_comparisons(seeds: range) -> list[tuple[int, str]]:
    faults = []
    for seed in seeds:
        compared = models(seed)
        for measure in MEASURES:
            if any(d.measure == measure for d in compared.overall):
                said = comparison_findings(compared, measure=measure)
                faults += [(seed, rule) for rule in comparison_faults(compared, said, measure)]
    return faults


# --- What must not be ------------------------------------------------------------------------


def run_faults(f: Facts, found: Sequence[Finding], *, level: float = 0.95) -> Iterator[str]:
    """The rules that the findings of a run break, given its numbers."""
    yield from _interval_faults(f.report)
    first, R = found[0], f.report.R
    seen = [x for x, lean in enumerate(f.leans) if lean.favoured is not None]
    clear = [x for x, lean in enumerate(f.leans) if lean.category is not None]
    if any(one.kind in ALONE for one in found):
        if len(found) > 1:
            yield "one finding"
        if first.kind == "alike" and (clear or max(R.value, R.high or 0.0) > SAME):
            yield "alike, and a lean"
        return
    if f.improbable > 0.5 and seen:
        yield "improbable words say nothing"
    if (first.numbers.get("clear"), first.numbers.get("seen")) != (len(clear), len(seen)):
        yield "groups that are clear"
    if first.sure == "cannot tell" and clear:
        yield "cannot tell"
    if (first.sure == "exact") != f.exact or any(one.sure == "exact" for one in found) > f.exact:
        yield "exact"
    if first.sure == "unclear" and clear:
        yield "unclear, and on the list"
    if first.sure == "clear" and not clear and not (f.report.R_bias.low or 0.0) > 0:
        yield "clear, and neither a group nor all together"
    little = 2.0 ** (1 - f.units) > 1 - level and not f.exact
    if any(one.sure == "clear" and (little or first.sure == "cannot tell") for one in found):
        yield "clear from too little"
    values = (
        f.shares[seen] @ np.array(f.report.criterion.points)
        if first.kind == "ratings"
        else (100 * f.shares[seen, f.favourable] if first.kind == "rates" else None)
    )
    if values is not None and abs((first.value or 0.0) - np.ptp(values)) > SAME:
        yield "how far apart"
    for one in found:
        if one.kind == "size":
            known = "exact" if f.exact else "clear" if (R.low or 0.0) > 0 or clear else "unclear"
            sure = (known, "cannot tell") if R.low is None or not clear else (known,)
            if (one.value, one.low, one.high) != (R.value, R.low, R.high) or one.sure not in sure:
                yield "size"
        steady = 0.0 if R.value <= 0 else f.report.R_volatility.value / R.value
        if one.kind == "steadiness" and abs((one.value or 0.0) - steady) > SUM:
            yield "share of R"


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


def comparison_faults(found: Comparison, said: Sequence[Finding], measure: str) -> Iterator[str]:
    """The rules that the findings of a comparison break, given its differences."""
    pairs = [d for d in found.overall if d.measure == measure]
    ways = {(d.a, d.b): _way(d, found.level) for d in pairs}
    for d, one in zip(pairs, [s for s in said if s.kind == "difference"], strict=True):
        value = d.value if d.corrected is None else d.corrected
        if one.value != value or (one.sure == "clear") != bool(ways[d.a, d.b]):
            yield "a difference"
        if one.low is not None and (one.low, one.high) != (d.low, d.high):
            yield "the interval of a difference"
    of_one = measure.replace("R", "r", 1)
    rows = [
        [d for d in found.by_group if (d.a, d.b, d.measure) == (pair.a, pair.b, of_one)]
        for pair in pairs
    ]
    of_groups = [one for one in said if one.kind == "groups"]
    for some, one in zip([some for some in rows if some], of_groups, strict=True):
        clear = sum(d.p_corrected is not None and d.p_corrected <= 1 - found.level for d in some)
        if one.numbers != {"clear": clear, "groups": len(some)}:
            yield "groups that differ"
        if (one.sure == "clear") != bool(clear):
            yield "groups that differ"
    for one in said:
        if one.kind == "models" and (one.sure == "clear") != any(ways.values()):
            yield "clear pairs"
    ways |= {(b, a): -way for (a, b), way in ways.items()}
    for a, b, c in itertools.permutations(found.models, 3):
        if ways[a, b] > 0 and ways[b, c] > 0 and ways[c, a] > 0:
            yield "a circle"


def _way(d: Difference, level: float) -> int:
    """+1 where a is clearly higher, -1 where b is, else 0: by the interval, or by p without one."""
    if d.low is not None and d.high is not None:
        return int(d.low > 0) - int(d.high < 0)
    known = d.p_corrected is not None and d.p_corrected <= 1 - level
    return int(np.sign(d.corrected or 0.0)) if known else 0


# --- Random situations -----------------------------------------------------------------------


def preferences(rng: np.random.Generator, X: int, C: int, K: int, base: FloatArray) -> FloatArray:
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


def situation(seed: int) -> tuple[Facts, float]:
    """The facts of a random run, and the level of its intervals."""
    rng = np.random.default_rng([seed, 1])
    X, C, K = sizes(rng)
    given = settings(rng, X, C, K)
    reference = given.get("reference")
    base = np.log(reference) if isinstance(reference, np.ndarray) else np.zeros(K)
    p = preferences(rng, X, C, K, base)
    names = [str(y + 1) if given.get("criterion") else f"word{y}" for y in range(K)]
    population, what = "similar", rng.random()
    if what < 0.12:
        population = "set"
    elif what < 0.18:
        population, given["sampling"] = "set", Sampling(set_noise=1 / C)
    elif what < 0.24:
        population, given["sampling"] = "corpus", Sampling(corpus_noise=1 / (4 * C))
    if rng.random() < 0.12:
        m = int(rng.choice([8, 12, 20]))
        p, given["answers"] = rng.multinomial(m, p) / m, np.full((X, C), float(m))
    if rng.random() < 0.15:
        p[rng.random((X, C)) < 0.2] = np.nan
        p[0, 0] = np.nan if C > 2 else p[0, 0]
    if rng.random() < 0.08:
        p[1:, :] = np.where(rng.random(X - 1)[:, None, None] < 0.5, np.nan, p[1:, :])
    clusters = "source" if population == "similar" and rng.random() < 0.25 else None
    sources = [f"s{c % max(2, C // 3)}" for c in range(C)]
    if np.isnan(p).any(axis=2).all():
        p = np.full((X, C, K), 1 / K)
    table = labelled(p, categories=tuple(names), labels={"source": sources}, **given)
    level = float(rng.choice([0.95, 0.95, 0.95, 0.9, 0.99]))
    report = table.estimate(level=level, clusters=clusters, population=population)
    leans = table.leans(level=level, clusters=clusters, known=table.exact(population))
    f = facts_of_table("M", table, report, leans, clusters=clusters, population=population)
    if not given.get("criterion") and rng.random() < 0.3:
        f = replace(f, favourable=int(rng.integers(K)))
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
