"""Contexts and replies of an audit that are most precise for a budget."""

from __future__ import annotations

from typing import Any

from clinometer.contexts import ContextSet
from clinometer.display.numbers import money
from clinometer.errors import SettingsError
from clinometer.measure.planning import SPREAD
from clinometer.models import ModelSpec
from clinometer.runs.cost import estimate_cost
from clinometer.runs.placebo import EditedQuestions
from clinometer.runs.settings import AuditSettings
from clinometer.settings import with_settings
from clinometer.topics import Topic

PLANNED_SHARE = 0.9
"""The share of a budget that is planned with: an estimate may be off."""

FEWEST_REPLIES = 10
"""Replies per cell that a budget chooses at least: below, intervals are too narrow
(docs/inference.md)."""

MOST_REPLIES = 40
"""Replies per cell that a budget chooses at most: above, contexts are what limits the precision."""

UNLIMITED = 1 << 40
"""Replies per group that a model without a price can be asked for."""


def within_budget(
    settings: AuditSettings,
    model: str | ModelSpec,
    topic: Topic,
    source: ContextSet,
    edited: EditedQuestions | None,
) -> AuditSettings:
    """Return settings with the contexts and replies that are most precise for the budget.

    Replies that were given are kept.
    """
    budget = settings.load.server.budget
    sampled = settings.load.sampled
    cost = estimate_cost(model, topic, source, settings.load)
    if budget is None or sampled is None or cost is None:
        raise SettingsError(
            "--budget: expected a model that is asked for replies, such as openai/NAME or "
            "openai:URL#MODEL; leave it out"
        )
    if cost.money is None:
        raise SettingsError(
            "--budget: the price of this model is not known; add --price"
        )
    cells_per_context = len(topic)
    if edited is not None:
        cells_per_context += len(edited.topic) * len(edited.edits)
    price_per_reply = cost.money / cost.replies
    affordable = UNLIMITED
    if price_per_reply:
        affordable = int(budget * PLANNED_SHARE / price_per_reply / cells_per_context)

    fewest, most = sampled.replies, sampled.replies
    if sampled.automatic:
        fewest, most = FEWEST_REPLIES, MOST_REPLIES
    n_contexts = len(source)
    if settings.max_contexts is not None:
        n_contexts = min(settings.max_contexts, n_contexts)
    choice = _contexts_and_replies(affordable, n_contexts, replies=(fewest, most))
    if choice is None:
        price_of_two = 2 * cells_per_context * price_per_reply * fewest
        raise SettingsError(
            f"--budget: expected at least {money(price_of_two / PLANNED_SHARE)} for {len(topic)} "
            f"groups in two contexts, found {budget:g}; ask fewer groups (--groups)"
        )
    contexts, replies = choice
    decided: dict[str, Any] = {"replies": replies}
    if contexts < len(source):
        decided["max_contexts"] = contexts
    return with_settings(settings, decided)


def _contexts_and_replies(
    affordable: int, contexts: int, *, replies: tuple[int, int]
) -> tuple[int, int] | None:
    """Return contexts, and replies in each, that give the narrowest interval for the replies that
    can be paid per group.

    The variance of a mean is (S^2 + 1/(4 r)) / n with n contexts of r replies each: S between
    contexts (SPREAD), and at most 1/4 of a reply that is yes or no. Contexts come first; replies
    are added where all of them are asked. None if not even two contexts can be paid.

    >>> [_contexts_and_replies(n, 80, replies=(10, 40)) for n in (500, 5000)]
    [(50, 10), (80, 40)]
    """
    fewest, most = replies
    choices = []
    for r in range(fewest, most + 1):
        n = min(contexts, affordable // r)
        if n >= min(2, contexts):
            choices.append((n, r))

    def variance(choice: tuple[int, int]) -> float:
        n, r = choice
        return (SPREAD**2 + 1 / (4 * r)) / n

    return min(choices, key=variance) if choices else None
