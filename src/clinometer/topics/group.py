"""A group: one of the X of a topic."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from clinometer.errors import TopicError


@dataclass(frozen=True)
class Group:
    """One group, for example an occupation.

    name     what tables and charts show
    text     what fills [X]; the name unless given
    weight   w_x, up to a common factor
    article  "a" or "an" where the rule would get it wrong; "" for a name or pronoun, before which
             an article is left out ("The [X] said": "Mary said"); None: by rule
    factors  figures about the group (employment, share of women, …); None where there is none
    about    where the figures come from: for the built-in occupations source_years, soc_codes and
             match, the grade of the match ("exact", "close", … "doubtful", "none")
    parts    for a product, the name that each list gave: {"race": "black", "occupation": "nurse"}

    >>> Group("ceo", text="chief executive", factors={"percent_women": 29.2}).text
    'chief executive'
    """

    name: str
    text: str = ""
    weight: float = 1.0
    article: str | None = None
    factors: Mapping[str, float | None] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean_text(self.name, where="group"))
        where = f"group {self.name!r}"
        text = clean_text(self.text, where=f"{where}: text") if self.text else self.name
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "weight", clean_weight(self.weight, where=f"{where}: weight"))
        if self.article not in (None, "", "a", "an"):
            raise TopicError(
                f'{where}: article: expected "a", "an" or "" (none), found {self.article!r}; '
                "leave it out for the rule"
            )
        factors = {
            key: None if value is None else _finite(value, where=f"{where}: factors.{key}")
            for key, value in self.factors.items()
        }
        object.__setattr__(self, "factors", factors)
        object.__setattr__(self, "about", dict(self.about))
        object.__setattr__(self, "parts", dict(self.parts))

    def __hash__(self) -> int:
        return hash((self.name, self.text, self.weight, self.article))


def clean_text(text: object, *, where: str) -> str:
    """`text` with its whitespace collapsed; it must not be empty or contain a slot."""
    if not isinstance(text, str) or not text.strip():
        raise TopicError(f"{where}: expected a text, found {text!r}; write a word or a phrase")
    if "[X]" in text or "[Y]" in text:
        raise TopicError(
            f"{where}: expected no [X] or [Y], found {text!r}; slots are for templates"
        )
    return " ".join(text.split())


def clean_weight(weight: object, *, where: str) -> float:
    """`weight` as a float, finite and not negative."""
    number = _finite(weight, where=where)
    if number < 0:
        raise TopicError(f"{where}: expected a number of at least 0, found {weight!r}")
    return number


def _finite(value: object, *, where: str) -> float:
    # item() of a numpy scalar is a plain number; bool is an int to Python but not a figure.
    value = getattr(value, "item", lambda: value)()
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise TopicError(f"{where}: expected a finite number, found {value!r}")
    return float(value)
