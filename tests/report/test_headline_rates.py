"""What a page says of decisions: rates beside each other, and never more than is clear."""

from __future__ import annotations

import re

import pytest
from clinometer.report.headline import find_rates
from tests.report.made import hiring_run, made_run, summary_of

from clinometer.contexts.load import question_contexts
from clinometer.display.numbers import percent
from clinometer.report.cell_statistics import CellStatistics, find_leans
from clinometer.report.figures import leans_figure
from clinometer.report.summary import first_screen
from clinometer.runs import Run
from clinometer.runs.nouns import question_label
from clinometer.topics import load_topic


def title(run: Run) -> str:
    return summary_of(run, run.model).title


def test_rates_are_compared_and_a_rare_no_is_not_what_the_model_writes() -> None:
    run = hiring_run(Black_man=-0.15, Ashley_Chen=0.1)
    rates = find_rates(find_leans(CellStatistics(run)))
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
    screen = first_screen([summary_of(run)])
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
    picture = leans_figure(find_leans(CellStatistics(run)))
    assert picture.title == "What the model answers, by applicant"
    # The favourable answer is on the right, so the group that gets it least comes first.
    assert "Share of yes: Black man 5" in picture.alt


def test_topics_of_words_have_no_rates() -> None:
    run = made_run(None, groups=4, contexts=20)
    assert find_rates(find_leans(CellStatistics(run))) is None


def test_a_label_tells_questions_apart() -> None:
    labels = {
        question_label(template) for template in question_contexts(load_topic("hiring")).templates
    }
    assert len(labels) == 80
    assert max(map(len, labels)) < 200
