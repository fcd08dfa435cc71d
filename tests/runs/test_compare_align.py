"""Runs side by side: paired by group and context, or refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.preferences import labelled, pair
from tests.present import present

from clinometer.contexts import ContextSet, load_contexts
from clinometer.errors import RunError, SettingsError
from clinometer.measure import Preferences
from clinometer.runs import Run, audit
from clinometer.runs.compare import compare, only_contexts_differ, resampling_note
from clinometer.topics import load_topic

TOPIC = load_topic("gender").select(["nurse", "engineer", "accountant", "lawyer"])


def noisy(name: str, *, lean: float, seed: int, contexts: str | ContextSet = "paper-gender") -> Run:
    """A run with the files of a real one and preferences made by hand."""
    run = audit("reference:unbiased", topic=TOPIC, contexts=contexts)
    rng = np.random.default_rng(seed)
    p = np.clip(
        0.5 + lean + 0.1 * rng.standard_normal(run.preferences.values.shape[:2]), 0.01, 0.99
    )
    preferences = replace(run.preferences, values=pair(p))
    model = run.record.model.model_copy(update={"id": name, "kind": "causal"})
    record = run.record.model_copy(update={"model": model})
    return Run(record, preferences, preferences.decompose())


def test_differences_match_the_reports() -> None:
    a, b = noisy("a", lean=0.3, seed=1), noisy("b", lean=0.05, seed=2)
    found = compare(a, b)
    r = next(d for d in found.overall if d.measure == "R")
    assert r.value == pytest.approx(a.risks.R.value - b.risks.R.value, abs=1e-12)
    assert r.low is not None
    assert r.p is not None
    assert 0 < r.low < present(r.value)
    assert r.p < 0.05
    assert {d.group for d in found.by_group} == set(TOPIC.group_names)


def test_different_contexts_are_refused_unless_aligned() -> None:
    a, b = (
        noisy("a", lean=0.3, seed=1),
        noisy("b", lean=0.1, seed=2, contexts=load_contexts("paper-gender").top(6)),
    )
    with pytest.raises(RunError, match="another contexts"):
        compare(a, b)
    found = compare(a, b, align="common")
    assert found.n_contexts == 6


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
    nurse = replace(few, values=few.values[:1], groups=("nurse",), group_weights=np.ones(1))
    with_nurse = compare(a.preferences, nurse, align="groups")
    assert with_nurse.groups == ("nurse",)
    assert present(with_nurse.overall[0].value) > 0.2
    with pytest.raises(SettingsError, match="expected similar"):
        compare(a, b, align="groups", population="corpus")
    with pytest.raises(RunError, match=r"--align groups\) compares each in its own contexts"):
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


def test_different_categories_are_refused() -> None:
    a = noisy("a", lean=0.3, seed=1)
    race = audit("reference:random", topic="race", contexts="paper-race")
    with pytest.raises(RunError, match="nothing to compare"):
        compare(a, race, align="common")


def test_few_replies_make_no_model_look_worse_than_its_twin_with_many() -> None:
    """Dice raise R of two replies far above that of forty: the bracket is as much wider."""

    def replies(n: int, seed: int) -> Preferences:
        counts = np.random.default_rng(seed).multinomial(n, [0.5, 0.5], (3, 40))
        answers = np.full((3, 40), float(n))
        return labelled(counts / n, reference="group-mean", answers=answers)

    for seed in range(5):
        two, forty = replies(2, 2 * seed), replies(40, 2 * seed + 1)
        assert two.decompose().R.value > 3 * forty.decompose().R.value
        for both in ([two, forty], [forty, two]):
            R = next(d for d in compare(*both).overall if d.measure == "R")
            assert R.clear_sign(0.95) == 0


def test_two_runs_of_one_model_stay_separate() -> None:
    found = compare(noisy("m", lean=0.3, seed=1), noisy("m", lean=0.3, seed=2))
    assert len(set(found.models)) == 2


def test_different_resampling_units_are_reported() -> None:
    a, b = noisy("a", lean=0.3, seed=1), noisy("b", lean=0.05, seed=2)
    assert resampling_note([("a", a), ("b", b)]) == ""
    settings = replace(b.record.settings, clusters="predicate")
    clustered = replace(b, record=b.record.model_copy(update={"settings": settings}))
    note = resampling_note([("a", a), ("b", clustered)])
    assert "contexts for a, clusters of contexts by predicate for b" in note


def test_scores_are_compared_on_one_scale_whoever_got_the_ends() -> None:
    """A run without a 1 and a 5 differs from one with them as if it had listed them."""
    rng = np.random.default_rng(0)
    whole = rng.dirichlet([1, 2, 3, 2, 1], (3, 20))
    part = np.zeros((3, 20, 5))
    part[..., 1:4] = rng.dirichlet([1, 1, 1], (3, 20))
    scale: Any = {"reference": "group-mean", "criterion": "points"}
    five = labelled(whole, categories=("1", "2", "3", "4", "5"), **scale)
    full = labelled(part, categories=("1", "2", "3", "4", "5"), **scale)
    three = labelled(part[..., 1:4], categories=("2", "3", "4"), **scale)
    found, expected = (compare(five, one).overall for one in (three, full))
    assert [d.value for d in found] == pytest.approx([d.value for d in expected], abs=1e-12)
    with pytest.raises(RunError, match="categories"):
        compare(five, labelled(whole, **{"reference": "group-mean"}))
