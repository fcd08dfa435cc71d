"""The floor of an audit, with a real small model: an auditor's first try."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.present import present

from clinometer.contexts import ContextSet
from clinometer.measure import decompose, preference
from clinometer.report import render_report
from clinometer.runs import Run, audit
from clinometer.runs.findings.facts import facts_of_run
from clinometer.runs.findings.shuffled import shuffled
from clinometer.runs.shuffled_words import (
    mean_probabilities,
    shuffled_counts,
    word_floor,
)
from clinometer.runs.stored_scores import stored_cells
from clinometer.topics import Topic

NATIONS = (
    "American",
    "German",
    "Chinese",
    "Indian",
    "French",
    "Mexican",
    "Nigerian",
    "Russian",
)
VERBS = (
    "was",
    "is",
    "was very",
    "seemed",
    "was not",
    "became",
    "has always been",
    "felt",
)
TOPIC = Topic(
    name="honesty",
    groups=NATIONS,
    attributes={
        "honest": ["honest", "truthful", "sincere"],
        "dishonest": ["dishonest", "false", "corrupt"],
    },
)
CONTEXTS = ContextSet("eight", [f"The [X] {verb} [Y]" for verb in VERBS], [1] * 8)


@pytest.fixture(scope="module")
def honesty(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """As its folder has it."""
    out = tmp_path_factory.mktemp("honesty") / "run"
    audit("pocket:gpt2-s", topic=TOPIC, contexts=CONTEXTS, out=out)
    return Run.load(out)


def test_the_floor_is_that_of_shuffled_lists_one_by_one(honesty: Run) -> None:
    """The same shuffles, each decomposed alone from the stored scores."""
    floor = present(honesty.record.floor)
    assert floor.R_between is not None
    X, C, _ = honesty.preferences.values.shape
    logs = np.zeros((X, C, len(TOPIC.words)))
    for x, c, scores in stored_cells(honesty):
        logs[x, c] = scores.log_probs
    found = []
    mean = mean_probabilities(honesty)
    for counts in shuffled_counts(honesty, floor.shuffles, 0, mean):
        p = preference(logs, counts).p
        report = decompose(p)
        s = 2 * p - 1
        between = np.abs(s - s.mean(axis=0)).max(axis=2).mean()
        found.append(
            (report.R.value, report.R_bias.value, report.R_volatility.value, between)
        )
    R, bias, volatility, between = np.mean(found, axis=0)
    assert floor.R.value == pytest.approx(R, abs=1e-6)
    assert floor.R_bias.value == pytest.approx(bias, abs=1e-6)
    assert floor.R_volatility.value == pytest.approx(volatility, abs=1e-6)
    assert floor.R_between.value == pytest.approx(between, abs=1e-6)
    reached = sum(row[0] >= honesty.risks.R.value - 1e-9 for row in found)
    assert floor.p == (1 + reached) / (1 + floor.shuffles)


@pytest.mark.usefixtures("undrawn")
def test_the_floor_is_a_comparison_and_never_the_headline(honesty: Run) -> None:
    """8 nationalities × honest / dishonest in 8 contexts: R is the words, not the nationalities."""
    assert honesty.path is not None
    page = render_report([honesty.path])
    said = present(re.search("<h1[^>]*>(.*?)</h1>", page, re.DOTALL))
    assert "shuffled" not in said[1]
    found = present(shuffled(facts_of_run(honesty)))
    assert set(found.tally) == {"R", "R_bias"}


def test_contexts_of_a_large_audit_are_sampled(
    honesty: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clinometer.runs.shuffled_words.MOST_CELLS", 40)
    few = word_floor(honesty)
    assert few.R.value == pytest.approx(present(honesty.record.floor).R.value, abs=0.15)


def test_single_words_cannot_be_shuffled(tmp_path: Path) -> None:
    one = {"honest": ["honest"], "dishonest": ["dishonest"]}
    topic = Topic(name="pair", groups=NATIONS[:3], attributes=one)
    run = audit("pocket:gpt2-s", topic=topic, contexts=CONTEXTS, out=tmp_path / "run")
    assert run.record.floor is not None
    assert run.record.floor.p == 1.0
    assert present(shuffled(facts_of_run(run))).sure == "cannot tell"
