"""What a miner decides on a sentence: a template, or the rule that drops it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision on one word of Y in a sentence, or on one predicate."""

    sentence: str

    template: str | None
    """The context, or None."""

    rule: str
    """The rule that dropped the sentence; "" if a template was made of it."""

    evidence: str
    """A readable extract of the parse."""

    confidence: float | None = None
    """The probability that [Y] refers to [X], where one was estimated."""


class Dropped(Exception):
    """Raised by a rule that drops a sentence; its name is counted and shown."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def drop_if(refused: object, rule: str) -> None:
    """Drop a sentence by the rule, if what the rule refuses is true of it."""
    if refused:
        raise Dropped(rule)
