"""What the miner says of a sentence: kept with its template, or dropped with the rule's name."""

from __future__ import annotations

from dataclasses import dataclass


class Dropped(Exception):
    """A rule that drops a sentence; its name is counted and shown."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Decision:
    """One word of Y in one sentence, or one predicate: the template it gave, or why none.

    template  the context, or None
    rule      the rule that dropped it; "" when it was kept
    evidence  what the parse said, for a person to read
    """

    sentence: str
    template: str | None
    rule: str
    evidence: str
