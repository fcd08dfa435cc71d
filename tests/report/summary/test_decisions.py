"""What a page says of decisions: rates beside each other, and never more than is clear."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.report.made import made_run

from clinometer.contexts.load import question_contexts
from clinometer.display.numbers import percent
from clinometer.measure import Preferences
from clinometer.models import ModelInfo
from clinometer.report.derived import Reading
from clinometer.report.summary.decisions import find_rates, question_label
from clinometer.report.summary.leans import find_leans
from clinometer.report.summary.pictures import groups_picture
from clinometer.report.summary.screen import RunSummary, first_screen
from clinometer.runs import AuditSettings, Run
from clinometer.runs.folder.record import new_record
from clinometer.runs.folder.recover import LoadedRun
from clinometer.topics import load_topic

TOPIC = load_topic("hiring")


def hiring_run(covered: float = 0.8, **lifted: float) -> Run:
    """A run whose share of yes is higher for some groups, by name with _ for a space."""
    contexts = question_contexts(TOPIC)
    rng = np.random.default_rng(0)
    shape = (len(TOPIC), len(contexts))
    lift = np.array([lifted.get(name.replace(" ", "_"), 0.0) for name in TOPIC.group_names])
    yes = 0.7 + lift[:, None] + rng.normal(0, 0.12, shape).clip(-0.19, 0.19)
    settings = AuditSettings(replicates=100, clusters="wording")
    preferences = Preferences(
        values=np.stack([yes, 1 - yes], axis=-1),
        groups=TOPIC.group_names,
        contexts=contexts.ids,
        categories=TOPIC.categories,
        context_weights=contexts.weights,
        group_weights=TOPIC.group_weights,
        coverage=np.full(shape, covered),
        coverage_threshold=settings.coverage_threshold,
        templates=tuple(contexts.templates),
        labels=contexts.extra,
        reference="group-mean",
    )
    info = ModelInfo(name="made", kind="causal", revision="none")
    record = new_record(info, TOPIC, contexts, settings)
    return Run.measured(record, preferences, settings, folder=None)


def title(run: Run) -> str:
    opened = LoadedRun(Path(), run.model, "finished", run=run)
    return RunSummary.of(opened, run).title


def test_rates_are_compared_and_a_rare_no_is_not_what_the_model_writes() -> None:
    run = hiring_run(Black_man=-0.15, Ashley_Chen=0.1)
    rates = find_rates(find_leans(Reading(run)))
    assert rates is not None
    assert rates.above is not None
    assert rates.below is not None
    assert rates.above[0] == "Ashley Chen"
    assert rates.below[0] == "a Black man"
    assert rates.below[1] > 0.5  # “no” is above the mean of the groups, and still the rarer answer
    assert title(run) == (
        f"made answers “Yes” more often for Ashley Chen ({rates.above[1]:.0%}) than for a Black "
        f"man ({rates.below[1]:.0%}): 2 of 24 applicants clearly differ from the mean "
        f"({rates.mean:.0%}), 1 below it."
    ).replace("%", " %")


@pytest.mark.parametrize(
    ("lifted", "said"),
    [
        (
            {"Black_man": -0.15},
            r"less often for a Black man \(5. %\) than on average \(69 %\): 1 of",
        ),
        (
            {"Ashley_Chen": 0.1},
            r"more often for Ashley Chen \(8. %\) than on average \(70 %\): 1 of",
        ),
        ({}, r"in 6. % to 7. % of cases: none of 24 applicants clearly differs from the mean \(R"),
    ],
)
def test_one_side_or_none(lifted: dict[str, float], said: str) -> None:
    assert re.search(said, title(hiring_run(**lifted)))


def test_a_model_that_hardly_answers_is_said_to() -> None:
    assert title(hiring_run(covered=0.1)).startswith("made, where it answers at all (10 %), ans")


def test_the_first_screen_speaks_of_questions() -> None:
    run = hiring_run(Black_man=-0.15)
    opened = LoadedRun(Path(), run.model, "finished", run=run)
    screen = first_screen([RunSummary.of(opened, run)])
    contexts = run.preferences.contexts
    assert screen.contexts == "questions"
    assert "20 % of the probability is other" in " ".join(screen.lede)
    assert "80 questions" in screen.chips[-1].interval
    strongest = screen.examples[0]
    assert strongest.group in strongest.why
    x, c = run.preferences.groups.index(strongest.group), contexts.index(strongest.context)
    mean = float(run.preferences.values[:, c, strongest.favoured].mean())  # all weigh the same
    share = run.preferences.values[x, c, strongest.favoured]
    assert f" {percent(float(share))}, mean {percent(mean)} · strongest" in strongest.why
    assert "[options" not in strongest.before
    assert "Answer" not in strongest.before
    assert " ".join(screen.lede).count("impact ratio") == 1
    assert "Mean share of" not in " ".join(screen.lede)  # the headline has it
    picture = groups_picture(find_leans(Reading(run)))
    assert picture.title == "What the model answers, by applicant"
    # The favourable answer is on the right, so the group that gets it least comes first.
    assert "Share of yes: Black man 5" in picture.alt


def test_topics_of_words_have_no_rates() -> None:
    run = made_run(None, groups=4, contexts=20)
    assert find_rates(find_leans(Reading(run))) is None


def test_a_label_tells_questions_apart() -> None:
    labels = {question_label(template) for template in question_contexts(TOPIC).templates}
    assert len(labels) == 80
    assert max(map(len, labels)) < 200
