"""Which kind of answer a run holds: asked here, and nowhere else."""

from __future__ import annotations

from clinometer.measure import Preferences
from clinometer.outcomes.decision import DecisionOutcome
from clinometer.outcomes.outcome import Outcome
from clinometer.outcomes.reference import reference_of
from clinometer.outcomes.score import ScoreOutcome
from clinometer.outcomes.words import WordOutcome


def outcome_of(
    preferences: Preferences, *, asks_questions: bool = False, favourable: str = ""
) -> Outcome:
    """Return the kind of answer that preferences hold.

    Args:
        preferences: with their criterion, which is "points" for scores.
        asks_questions: whether the contexts are questions or cases.
        favourable: the category whose rate is compared, if one is named.

    >>> import numpy as np
    >>> p = Preferences(values=np.full((1, 1, 2), 0.5), groups=("nurse",), contexts=("c",),
    ...                 categories=("no", "yes"), context_weights=np.ones(1),
    ...                 group_weights=np.ones(1))
    >>> type(outcome_of(p)).__name__
    'WordOutcome'
    >>> decision = outcome_of(p, asks_questions=True, favourable="yes")
    >>> type(decision).__name__, decision.favourable
    ('DecisionOutcome', 1)
    """
    criterion = preferences.grid.criterion
    kind: type[Outcome] = DecisionOutcome if asks_questions else WordOutcome
    if criterion.points:
        kind = ScoreOutcome
    categories = preferences.categories
    return kind(
        criterion=criterion,
        categories=categories,
        reference=reference_of(preferences.reference),
        asks_questions=asks_questions,
        favourable=categories.index(favourable) if favourable in categories else None,
    )
