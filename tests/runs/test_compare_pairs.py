"""Runs side by side: paired by group and context or refused by name, and what is planted is said
alike by compare, gate, report and JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import numpy as np
import pytest
from tests.planted import KINDS, planted_run

from clinometer.gate.decision import GateDecision, decide
from clinometer.runs import Run
from clinometer.runs.compare import Compared, compared, runs_findings
from clinometer.runs.people import is_clear, kind_leans, shifts

PAIRS, MORE_PAIRS = 12, int(os.environ.get("CLINOMETER_PAIRS", "400"))
"""Pairs in every test and in the long one."""

MODELS = ["the run", "the baseline"]


def pair(seed: int) -> tuple[Run, Run, float]:
    """Two random runs about the same, and a margin."""
    rng = np.random.default_rng([seed, 3])
    kind = list(KINDS)[int(rng.integers(3))]
    X, C = int(rng.integers(2, 9)), int(rng.choice([4, 8, 12, 30, 60]))
    replies = 0 if kind == "words" or rng.random() < 0.4 else int(rng.choice([1, 3, 5, 20]))
    lean = rng.choice([0.0, 0.03, 0.2]) * rng.standard_normal(X)
    moved = lean + rng.choice([0.0, 0.0, 0.02, 0.1]) * rng.standard_normal(X)
    common, swing = rng.normal(0, 0.1, C), float(rng.choice([0.01, 0.1]))
    how = {"contexts": C, "swing": swing, "replies": replies, "common": common}
    lost = float(rng.choice([0.0, 0.0, 0.0, 0.02]))
    runs = [
        planted_run(kind, each, rng, model=name, missing=lost, **how)  # type: ignore[arg-type]
        for name, each in (("b", moved), ("a", lean))
    ]
    return runs[0], runs[1], float(rng.choice([0.01, 0.02, 0.1]))


def faults(both: Compared, decision: GateDecision, margin: float) -> Iterator[str]:
    """What the data of a comparison and of a gate contradict each other in."""
    if json.loads(json.dumps([one.to_dict() for one in decision.findings])) != json.loads(
        json.dumps([one.to_dict() for one in both.findings])
    ):
        yield "other findings"
    differences = {d.measure: d for d in both.comparison.overall}
    moved = {s.name: s for s in both.shifts}
    said = {row.verdict for row in decision.rows}
    if (decision.verdict == "worse") != ("worse" in said):
        yield "a verdict without a row"
    for row in decision.rows:
        if row.because:
            continue
        d = differences.get(row.what)
        low = d.low if d else row.rise.low if row.rise else None
        high = d.high if d else row.rise.high if row.rise else None
        if low is None or high is None:
            if row.verdict not in ("cannot tell", "equivalent"):
                yield "a verdict without an interval"
            continue
        if row.verdict == "worse" and not low > row.margin:
            yield "worse, and not above the margin"
        if row.verdict in ("not worse", "equivalent", "better") and not high < row.margin:
            yield "passes, and may be above the margin"
        if d is None and row.verdict == "worse" and not moved[row.what].clear:
            yield "worse for somebody for whom compare sees no change"
    for one in both.findings:
        if one.kind == "difference" and one.sure == "clear":
            way = differences[one.words["measure"]].clear_sign(0.95)
            if (one.numbers["difference"].value > 0) != (way > 0):
                yield "the sign of a difference"
        if one.kind == "shifts":
            clear = [s for s in both.shifts if s.clear]
            if one.clear != len(clear) or (one.sure == "clear") != bool(clear):
                yield "who shifts"
            for name, number in one.groups.items():
                if number != moved[name].change or not is_clear(number):
                    yield "a shift"


def faults_of(seed: int) -> list[tuple[int, str]]:
    run, baseline, margin = pair(seed)
    both = compared([run, baseline], MODELS)
    decision = decide(run, baseline, margin=margin)
    wrong = list(faults(both, decision, margin))
    if runs_findings([run, baseline], MODELS)[0] != both.findings[0] and not (
        run.record.components and run.risks.criterion.points
    ):
        wrong.append("the report says something else")
    return [(seed, fault) for fault in wrong]


def test_pairs_are_said_to_differ_alike() -> None:
    assert [fault for seed in range(PAIRS) for fault in faults_of(seed)] == []


def test_many_pairs_are_said_to_differ_alike() -> None:
    assert [fault for seed in range(PAIRS, MORE_PAIRS) for fault in faults_of(seed)] == []


@pytest.mark.parametrize("kind", ["rates", "ratings"])
def test_a_planted_drop_of_one_kind_of_people_leads_and_fails_the_gate(kind: str) -> None:
    rng = np.random.default_rng(4)
    groups = planted_run(kind, np.zeros(8), rng).record.topic.people["gender"]
    drop = np.where(np.array(groups) == "female", -0.1, 0.0)
    run, baseline = (
        planted_run(kind, lean, rng, replies=20, contexts=80) for lean in (drop, np.zeros(8))
    )
    first = run.findings[0]
    assert (first.kind, first.sure) == ("kinds", "clear"), first.text
    unit = 100 if kind == "rates" else run.risks.criterion.length
    low, high = first.groups["women"].low, first.groups["women"].high
    share = groups.count("male") / len(groups)
    assert low is not None
    assert high is not None
    assert low < -0.1 * unit * share < high < 0
    found = decide(run, baseline)
    assert found.verdict == "worse"
    assert {"women", "men"} & {row.what for row in found.rows}
    assert decide(baseline, run, margin=0.2).verdict == "not worse"


def test_the_lean_of_a_kind_is_the_mean_over_its_members() -> None:
    rng = np.random.default_rng(5)
    run = planted_run("ratings", rng.normal(0, 0.1, 8), rng, missing=0.1)
    p = run.preferences
    scores = np.where(p.observed, np.nan_to_num(p.values) @ np.arange(1, 6), np.nan)
    for name, entry in (("women", "female"), ("men", "male")):
        total = weight = 0.0
        for c in range(scores.shape[1]):
            mean = np.nanmean(scores[:, c])
            for x, who in enumerate(run.record.topic.people["gender"]):
                if who == entry and np.isfinite(scores[x, c]):
                    total, weight = total + scores[x, c] - mean, weight + 1
        assert kind_leans(run)[name].value == pytest.approx(total / weight, abs=1e-9)


@pytest.mark.parametrize(
    ("now", "was", "rise"),
    [(0.1, 0.0, 0.1), (0.1, 0.3, -0.1), (-0.1, 0.1, 0.1), (0.05, 0.05, 0.0)],
)
def test_a_rise_is_counted_from_the_mean(now: float, was: float, rise: float) -> None:
    """Closer to the mean is no rise; across the mean counts from there."""
    rng = np.random.default_rng(6)
    runs = [
        planted_run("rates", np.array([lean, -lean]), rng, swing=0.0, contexts=12)
        for lean in (now, was)
    ]
    for one in shifts(*runs):
        if not one.column:
            assert one.rise.value == pytest.approx(100 * rise, abs=1e-9)


def test_a_run_that_shares_half_of_the_baseline_does_not_pass() -> None:
    rng = np.random.default_rng(7)
    whole = planted_run("words", np.full(4, 0.2), rng, swing=0.01)
    p = whole.preferences
    half = planted_run("words", np.full(4, 0.2), np.random.default_rng(7), swing=0.01)
    q = half.preferences
    cut = type(q)(
        values=q.values[:, :30], groups=q.groups, contexts=q.contexts[:30],
        categories=q.categories, context_weights=q.context_weights[:30],
        group_weights=q.group_weights, templates=q.templates[:30],
    )  # fmt: skip
    part = Run.measured(half.record, cut, half.record.settings, folder=None)
    found = decide(part, whole, align="common")
    assert found.share == pytest.approx(p.context_weights[30:].sum() / p.context_weights.sum())
    assert found.verdict == "cannot tell"
    assert "50 %" in found.reason
