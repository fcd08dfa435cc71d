"""Runs side by side: paired by group and context or refused by name, and what is planted is said
alike by compare, gate, report and JSON."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.planted import KINDS, planted_run
from tests.preferences import labelled, pair
from tests.present import present
from tests.runs.test_findings_contradictions import check, comparison_faults

from clinometer.contexts import ContextSet, load_contexts
from clinometer.errors import RunError
from clinometer.gate.decision import GateDecision, decide
from clinometer.runs import Run, audit
from clinometer.runs.compare import compare
from clinometer.runs.compared import Compared, compared, runs_findings
from clinometer.runs.departures import is_clear, kind_leans
from clinometer.runs.several_runs import only_contexts_differ, resampling_note
from clinometer.runs.shifts import shifts
from clinometer.topics import load_topic

TOPIC = load_topic("gender").select(["nurse", "engineer", "accountant", "lawyer"])


def noisy(
    name: str, *, lean: float, seed: int, contexts: str | ContextSet = "paper-gender"
) -> Run:
    """A run with the files of a real one and preferences made by hand."""
    run = audit("reference:unbiased", topic=TOPIC, contexts=contexts)
    rng = np.random.default_rng(seed)
    p = np.clip(
        0.5 + lean + 0.1 * rng.standard_normal(run.preferences.values.shape[:2]),
        0.01,
        0.99,
    )
    preferences = replace(run.preferences, values=pair(p))
    model = run.record.model.model_copy(update={"id": name, "kind": "causal"})
    record = run.record.model_copy(update={"model": model})
    return Run(record, preferences, preferences.decompose())


def test_different_contexts_are_refused_unless_aligned() -> None:
    """Two runs of one model in sets of one name: numbers tell them apart."""
    few = load_contexts("paper-gender").top(6)
    a, b = noisy("m", lean=0.3, seed=1), noisy("m", lean=0.1, seed=2, contexts=few)
    with pytest.raises(RunError, match="in other contexts"):
        compare(a, b)
    found = compare(a, b, align="common")
    assert found.n_contexts == 6
    assert len(set(found.models)) == 2


def test_runs_in_different_contexts_are_compared_by_group() -> None:
    """One model in two sets: the folders have one name, so the sets tell the runs apart."""
    a, b = (
        noisy("m", lean=0.3, seed=1, contexts=load_contexts(name).top(40))
        for name in ("wikipedia-gender", "book-gender")
    )
    assert only_contexts_differ([a, b])
    found = compare(a, b, align="groups")
    assert found.models == ("m (wikipedia-gender)", "m (book-gender)")
    assert [one.contexts for one in found.own_contexts] == [40, 40]
    assert found.overall[0].value == pytest.approx(a.risks.R.value - b.risks.R.value)
    few = noisy("m", lean=0.0, seed=3).preferences
    nurse = replace(
        few, values=few.values[:1], groups=("nurse",), group_weights=np.ones(1)
    )
    with_nurse = compare(a.preferences, nurse, align="groups")
    assert with_nurse.groups == ("nurse",)
    assert present(with_nurse.overall[0].value) > 0.2
    with pytest.raises(
        RunError, match=r"--align groups\) compares each in its own contexts"
    ):
        compare(a, b)


def test_preferences_are_cut_to_groups_and_contexts() -> None:
    """In the order given; a mean of the groups is that of the groups left."""
    rng = np.random.default_rng(0)
    p = labelled(
        pair(rng.random((4, 6))),
        reference="group-mean",
        context_weights=rng.random((4, 6)),
        group_weights=np.arange(1.0, 5.0),
        labels={"order": [f"o{c % 2}" for c in range(6)]},
    )
    x, c = [3, 1], [0, 2, 4]
    part = p.only(x, c)
    np.testing.assert_array_equal(part.values, p.values[np.ix_(x, c)])
    assert part.groups == (p.groups[3], p.groups[1])
    assert part.label("order") == ("o0",) * 3
    weights = p.context_weights[np.ix_(x, c)]
    mean = np.average(part.values, axis=0, weights=[4, 2])
    apart = np.abs(part.values - mean)[..., 0]
    r = (apart * weights).sum(axis=1) / weights.sum(axis=1)
    assert part.decompose().R.value == pytest.approx(np.average(r, weights=[4, 2]))
    assert p.only().equals(p)


def test_different_resampling_units_are_reported() -> None:
    a, b = noisy("a", lean=0.3, seed=1), noisy("b", lean=0.05, seed=2)
    assert resampling_note([("a", a), ("b", b)]) == ""
    settings = replace(b.record.settings, clusters="predicate")
    clustered = replace(b, record=b.record.model_copy(update={"settings": settings}))
    note = resampling_note([("a", a), ("b", clustered)])
    assert "contexts for a, clusters of contexts by predicate for b" in note


def test_scores_without_ends_are_compared_on_the_whole_scale() -> None:
    """A run without a 1 and a 5 differs from one with them as if it had listed them."""
    rng = np.random.default_rng(0)
    scale: Any = {"reference": "group-mean", "criterion": "points"}
    points = ("1", "2", "3", "4", "5")
    whole = rng.dirichlet([1, 2, 3, 2, 1], (3, 20))
    middle = rng.dirichlet([1, 1, 1], (3, 20))
    middle_of_whole = np.zeros((3, 20, 5))
    middle_of_whole[..., 1:4] = middle
    with_ends = labelled(whole, categories=points, **scale)
    ends_listed = labelled(middle_of_whole, categories=points, **scale)
    ends_unlisted = labelled(middle, categories=("2", "3", "4"), **scale)
    unlisted = [d.value for d in compare(with_ends, ends_unlisted).overall]
    listed = [d.value for d in compare(with_ends, ends_listed).overall]
    assert unlisted == pytest.approx(listed, abs=1e-12)
    with pytest.raises(RunError, match=r"categories .*: nothing to compare"):
        compare(with_ends, labelled(whole, reference="group-mean"))


# --- Random and planted pairs ------------------------------------------------------------------

PAIRS, MORE_PAIRS = 12, int(os.environ.get("CLINOMETER_PAIRS", "400"))
"""Pairs in every test and in the long one."""

MODELS = ["the run", "the baseline"]


def random_pair(seed: int) -> tuple[Run, Run, float]:
    """Two random runs about the same, and a margin."""
    rng = np.random.default_rng([seed, 3])
    kind = list(KINDS)[int(rng.integers(3))]
    X, C = int(rng.integers(2, 9)), int(rng.choice([4, 8, 12, 30, 60]))
    replies = (
        0 if kind == "words" or rng.random() < 0.4 else int(rng.choice([1, 3, 5, 20]))
    )
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
    if decision.findings != both.findings:
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
        if (
            row.verdict in ("not worse", "equivalent", "better")
            and not high < row.margin
        ):
            yield "passes, and may be above the margin"
        if d is None and row.verdict == "worse" and not moved[row.what].clear:
            yield "worse for somebody for whom compare sees no change"
    yield from comparison_faults(both.comparison, both.findings)
    for one in (one for one in both.findings if one.kind == "shifts"):
        clear = [s for s in both.shifts if s.clear]
        if one.clear != len(clear) or (one.sure == "clear") != bool(clear):
            yield "who shifts"
        for name, number in one.groups.items():
            if number != moved[name].change or not is_clear(number):
                yield "a shift"


def faults_of(seed: int) -> Iterator[str]:
    run, baseline, margin = random_pair(seed)
    both = compared([run, baseline], MODELS)
    yield from faults(both, decide(run, baseline, margin=margin), margin)
    if runs_findings([run, baseline], MODELS)[0] != both.findings[0] and not (
        run.record.components and run.risks.criterion.points
    ):
        yield "the report says something else"


def test_pairs_are_said_to_differ_alike() -> None:
    check(faults_of, range(PAIRS))


def test_many_pairs_are_said_to_differ_alike() -> None:
    check(faults_of, range(PAIRS, MORE_PAIRS))


@pytest.mark.parametrize("kind", ["rates", "ratings"])
def test_a_planted_drop_of_women_leads_and_fails_the_gate(kind: str) -> None:
    rng = np.random.default_rng(4)
    even = np.zeros(8)
    genders = planted_run(kind, even, rng).record.topic.people["gender"]
    drop = np.where(np.array(genders) == "female", -0.1, 0.0)
    run = planted_run(kind, drop, rng, replies=20, contexts=80)
    baseline = planted_run(kind, even, rng, replies=20, contexts=80)

    headline = run.findings[0]
    assert headline.kind == "kinds", headline.text
    assert headline.sure == "clear", headline.text
    # The mean of all falls too, by the women's share: below it they are by the men's share.
    unit = 100 if kind == "rates" else run.risks.criterion.length
    share_of_men = genders.count("male") / len(genders)
    women = headline.groups["women"]
    assert present(women.low) < -0.1 * unit * share_of_men < present(women.high) < 0

    decision = decide(run, baseline)
    assert decision.verdict == "worse"
    assert {"women", "men"} & {row.what for row in decision.rows}
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
    whole = planted_run("words", np.full(4, 0.2), np.random.default_rng(7), swing=0.01)
    p, weights = whole.preferences, whole.preferences.context_weights
    part = Run.measured(whole.record, p.only(contexts=range(30)), folder=None)
    found = decide(part, whole, align="common")
    assert found.share == pytest.approx(weights[:30].sum() / weights.sum())
    assert found.verdict == "cannot tell"
    assert "50 %" in found.reason
