"""Random situations through the real estimators: no two statements of one output contradict.

Each situation has a seed, and a failure names it: `situation(seed)` and `models(seed)` make the
same one again.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.preferences import labelled
from tests.runs.findings_checker import (
    Contradiction,
    comparison_contradictions,
    run_contradictions,
)

from clinometer.measure import Comparison, compare
from clinometer.measure.correction import Sampling
from clinometer.runs.findings import (
    Facts,
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


def test_runs() -> None:
    _report(_in_runs(range(RUNS)))


def test_comparisons() -> None:
    _report(_in_comparisons(range(COMPARISONS)))


def test_many_runs() -> None:
    _report(_in_runs(range(RUNS, MORE_RUNS)))


def test_many_comparisons() -> None:
    _report(_in_comparisons(range(COMPARISONS, MORE_COMPARISONS)))


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        (
            r"\d+ of \d+ groups clearly differ",
            "9 of 99 groups clearly differ",
            "how many are clear",
        ),
        (r"; \d+ of .*", "; no difference between the groups is clear.", "none is clear"),
        (r"; \d+ of .*", "; 8 contexts cannot tell what is clear.", "cannot tell what is clear"),
        (r"highest \(\d", "highest (9", "a number in the headline"),
        (r"[\d.]+ points apart", "0.01 points apart", "how far apart"),
        (
            r"rates (\w+) highest (.*) and (\w+) low",
            r"rates \3 highest \2 and \1 low",
            "highest and",
        ),
        (r"R is 0.", "R is 7.", "R in its sentence"),
        (r" to 0\.\d+;", " to 0.999;", "an interval in words"),
    ],
)
def test_planted_contradictions_are_found(old: str, new: str, rule: str) -> None:
    """Sentences that were changed after they were made."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet([2.0, 2.0, 2.0], (3, 40))
    p[0] = rng.dirichlet([9.0, 2.0, 1.0], 40)
    scale: Any = {"categories": ("1", "2", "3"), "criterion": "points"}
    table = labelled(p, reference="group-mean", **scale)
    f = facts_of_table("M", table, table.estimate(), table.leans())
    found = statements(f)
    assert not run_contradictions(f, found)
    changed = [replace(one, text=re.sub(old, new, one.text)) for one in found]
    faults = run_contradictions(f, changed)
    assert any(one.rule.startswith(rule) for one in faults), [str(one) for one in changed]


def _report(found: list[tuple[int, Contradiction]]) -> None:
    assert not found, "\n".join(f"seed {seed}: {one}" for seed, one in found[:40])


def _in_runs(seeds: range) -> list[tuple[int, Contradiction]]:
    found = []
    for seed in seeds:
        f, level = situation(seed)
        faults = run_contradictions(f, statements(f), level=level)
        found += [(seed, one) for one in faults]
    return found


def _in_comparisons(seeds: range) -> list[tuple[int, Contradiction]]:
    found = []
    for seed in seeds:
        compared = models(seed)
        for measure in MEASURES:
            if not any(d.measure == measure for d in compared.overall):
                continue
            said = comparison_findings(compared, measure=measure)
            faults = comparison_contradictions(compared, said, measure=measure)
            found += [(seed, one) for one in faults]
    return found


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
