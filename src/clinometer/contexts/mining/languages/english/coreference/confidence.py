"""How sure it is that a word of Y refers to the subject: from facts of the parse.

For a name or noun as the subject, a logistic model; for a pronoun (he … he), shares counted in
annotated text. confidence.toml has the constants and says how they were obtained.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True, slots=True)
class Reference:
    """What a resolver found: the kind of subject, and the probability that [Y] refers to it."""

    kind: str
    confidence: float


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """What the confidence rests on.

    kind      of the subject: pronoun, person noun, name
    full      the subject is a name of several words
    persons   other names and pronouns between subject and [Y] that may be meant
    nouns     other nouns for persons there
    hidden    names there that may be persons', though they are labelled otherwise
    earlier   another person acts or owns something before the subject
    leading   one of these is a subject, or hears or gets something
    depth     steps of the parse between the governing verb and [Y]'s clause or phrase
    word      [Y] is an object or a possessive, not the subject of a clause
    """

    kind: str
    full: bool = False
    persons: int = 0
    nouns: int = 0
    hidden: int = 0
    earlier: bool = False
    leading: bool = False
    depth: int = 0
    word: bool = False

    def features(self) -> dict[str, float]:
        """The features of the logistic model, by their names in confidence.toml."""
        return {
            "constant": 1.0,
            "persons": float(min(self.persons, 2)),
            "nouns": float(min(self.nouns, 2)),
            "hidden": float(min(self.hidden, 2)),
            "depth of a word": float(min(self.depth, 3) if self.word else 0),
            "earlier, word": float(self.word and self.earlier),
            "full": float(self.full),
        }


def confidence(facts: LinkFacts) -> float:
    """The probability that [Y] refers to the subject.

    >>> confidence(LinkFacts("name")) > 0.85 > 0.8 > confidence(LinkFacts("name", persons=1))
    True
    """
    constants = _constants()
    if facts.kind == "pronoun":
        shares: Mapping[str, float] = constants["pronoun"]["word" if facts.word else "clause"]
        rivals = facts.persons + facts.nouns
        return shares["leading" if facts.leading else "rival" if rivals else "alone"]
    weights: Mapping[str, float] = constants["logistic"]
    score = sum(weights[name] * value for name, value in facts.features().items())
    return 1 / (1 + math.exp(-score))


@cache
def _constants() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("confidence.toml").read_text(encoding="utf-8"))
