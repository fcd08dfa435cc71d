"""The miner's decision on a sentence: kept with its template, or dropped by a named rule."""

from __future__ import annotations

from dataclasses import dataclass


class Dropped(Exception):
    """Raised by a rule that drops a sentence; its name is counted and shown."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one word of Y in a sentence, or on one predicate.

    template    the context, or None
    rule        the rule that dropped it; "" if it was kept
    evidence    a readable extract of the parse
    confidence  the probability that [Y] refers to [X], where one was estimated
    """

    sentence: str
    template: str | None
    rule: str
    evidence: str
    confidence: float | None = None
