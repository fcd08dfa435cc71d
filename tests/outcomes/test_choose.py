"""Which kind of answer preferences hold, and what each kind says of itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.preferences import labelled
from tests.present import present

from clinometer.measure import Preferences
from clinometer.outcomes.choose import outcome_of
from clinometer.outcomes.decision import DecisionOutcome
from clinometer.outcomes.outcome import Outcome
from clinometer.outcomes.reference import EVEN, GIVEN, MEAN
from clinometer.outcomes.score import ScoreOutcome
from clinometer.outcomes.words import WordOutcome

SHARES = np.array([[[0.2, 0.8], [0.5, 0.5]], [[0.9, 0.1], [np.nan, np.nan]]])


def held(**how: Any) -> Preferences:
    """Two groups in two contexts; one cell is missing."""
    return labelled(SHARES, **{"categories": ("no", "yes"), **how})


def scores(**how: Any) -> Preferences:
    return held(categories=("0", "10"), criterion="points", **how)


@pytest.mark.parametrize(
    ("preferences", "asked", "kind"),
    [
        (held(), {}, WordOutcome),
        (held(), {"asks_questions": True}, DecisionOutcome),
        (scores(), {}, ScoreOutcome),
        (scores(), {"asks_questions": True, "favourable": "10"}, ScoreOutcome),
    ],
)
def test_the_criterion_and_the_contexts_say_what_an_answer_is(
    preferences: Preferences, asked: dict[str, Any], kind: type[Outcome]
) -> None:
    assert type(outcome_of(preferences, **asked)) is kind


def test_a_reference_is_even_given_or_the_mean_of_the_groups() -> None:
    given = np.array([0.3, 0.7])
    references = [None, given, "group-mean"]
    kinds = [outcome_of(held(reference=one)).reference for one in references]
    assert kinds == [EVEN, GIVEN, MEAN]


def test_a_favourable_answer_that_nobody_may_give_is_none() -> None:
    assert (
        outcome_of(held(), asks_questions=True, favourable="maybe").favourable is None
    )


def test_the_value_of_a_decision_is_its_rate_in_per_cent() -> None:
    decision = outcome_of(held(), asks_questions=True, favourable="yes")
    value = present(decision.value(held()))
    expected = np.array([[80, 50], [10, np.nan]])
    assert np.allclose(value, expected, equal_nan=True)


def test_the_value_of_a_score_is_its_mean_in_points() -> None:
    value = present(outcome_of(scores()).value(scores()))
    expected = np.array([[8, 5], [1, np.nan]])
    assert np.allclose(value, expected, equal_nan=True)


@pytest.mark.parametrize("asked", [{}, {"asks_questions": True}])
def test_no_word_or_unnamed_answer_is_better_than_another(
    asked: dict[str, Any],
) -> None:
    outcome = outcome_of(held(reference="group-mean"), **asked)
    assert outcome.value(held()) is None
    assert outcome.compared_value(held()) is None


@pytest.mark.parametrize(
    ("reference", "compares"), [(None, False), ("group-mean", True)]
)
def test_people_get_more_or_less_only_beside_their_mean(
    reference: str | None, compares: bool
) -> None:
    preferences = scores(reference=reference)
    value = outcome_of(preferences).compared_value(preferences)
    assert (value is not None) == compares


def test_every_share_is_a_channel_and_of_scores_their_mean() -> None:
    words = outcome_of(held()).channels(held())
    assert list(words) == ["no", "yes"]
    assert np.allclose(words["yes"], SHARES[..., 1], equal_nan=True)
    points = outcome_of(scores()).channels(scores())
    assert list(points) == ["mean"]
    assert np.allclose(points["mean"], 10 * SHARES[..., 1], equal_nan=True)


def test_the_margin_of_a_lean_is_in_its_unit() -> None:
    margins = {"points": 0.5, "rate": 0.02}
    decision = outcome_of(held(), asks_questions=True, favourable="yes")
    assert decision.lean_margin(0.1, **margins) == pytest.approx(2.0)
    assert decision.lean_margin(0.1, points=0.5, rate=None) == pytest.approx(10.0)
    assert outcome_of(scores()).lean_margin(0.1, **margins) == 0.5
    assert outcome_of(scores()).lean_margin(
        0.1, points=None, rate=0.02
    ) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("preferences", "chart"),
    [
        (held(), "dots"),
        (held(reference="group-mean"), "distances"),
        (held(reference="group-mean", criterion="ratio"), "dots"),
        (scores(), "dots"),
        (scores(reference="group-mean"), "distances"),
        (labelled(np.full((2, 2, 3), 1 / 3), categories=("a", "b", "c")), "stacks"),
    ],
)
def test_the_reference_and_the_categories_say_which_chart_is_drawn(
    preferences: Preferences, chart: str
) -> None:
    assert outcome_of(preferences).chart == chart


def test_a_decision_is_coloured_and_its_axis_ends_with_the_favourable_answer() -> None:
    decision = outcome_of(held(), asks_questions=True, favourable="no")
    assert (decision.far_end, decision.coloured) == (0, 0)
    assert decision.ends == ("more yes", "more no")
    assert outcome_of(held(), asks_questions=True).coloured is None
    assert outcome_of(scores()).ends == ("lower", "higher")
