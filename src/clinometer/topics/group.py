"""A group X: its name, its text and article, its weight, its figures and forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clinometer.errors import TopicError

PRONOUNS = {
    "he": ("he", "she", "they"),
    "him": ("him", "her", "them"),
    "his": ("his", "her", "their"),
    "himself": ("himself", "herself", "themselves"),
}
"""A pronoun by its form with "he": of he, she and they."""

_PRONOUN_OF_GENDER = {"female": "she", "male": "he"}


@dataclass(frozen=True)
class Group:
    """One group, for example an occupation.

    >>> Group("ceo", text="chief executive", factors={"percent_women": 29.2}).text
    'chief executive'
    """

    name: str
    """What tables and charts show."""

    text: str = ""
    """What fills [X]; the name unless given."""

    weight: float = 1.0
    """w_x, up to a common factor."""

    article: str | None = None
    """"a" or "an" where the rule would get it wrong; None: by rule.

    "" for a name or pronoun, before which an article is left out ("The [X] said": "Mary said").
    """

    factors: Mapping[str, float | None] = field(default_factory=dict)
    """Figures about the group (employment, share of women, …); None where there is none."""

    about: Mapping[str, str] = field(default_factory=dict)
    """Where the figures come from.

    For the built-in occupations source_years, soc_codes and match, the grade of the match ("exact",
    "close", … "doubtful", "none").
    """

    parts: Mapping[str, str] = field(default_factory=dict)
    """For a product, the name that each list gave: {"race": "black", "occupation": "nurse"}."""

    forms: Mapping[str, str] = field(default_factory=dict)
    """What fills [X:KEY] in messages: {"he": "she", "title": "Dr"}.

    "he" decides him, his and himself too, and follows the gender in `parts` where it is not given.
    """

    def __post_init__(self) -> None:
        name = clean_text(self.name, place="group")
        place = f"group {name!r}"
        text = clean_text(self.text, place=f"{place}: text") if self.text else name
        weight = _finite(self.weight, place=f"{place}: weight")
        if weight < 0:
            raise TopicError(
                f"{place}: weight: expected a number of at least 0, found {self.weight!r}"
            )
        if self.article not in (None, "", "a", "an"):
            raise TopicError(
                f'{place}: article: expected "a", "an" or "" (none), found {self.article!r}; '
                "leave it out for the rule"
            )
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "factors", _checked_factors(self.factors, place))
        object.__setattr__(self, "about", dict(self.about))
        object.__setattr__(self, "parts", dict(self.parts))
        object.__setattr__(self, "forms", self._all_forms())

    def _all_forms(self) -> dict[str, str]:
        """Return the forms, with the pronoun that follows from the gender in `parts`."""
        pronoun = _PRONOUN_OF_GENDER.get(self.parts.get("gender", ""))
        if pronoun is None:
            return dict(self.forms)
        return {"he": pronoun, **self.forms}

    def form(self, key: str) -> str:
        """Return what fills [X:KEY]: the name, a pronoun, or a form; with the key's capital.

        >>> ann = Group("Ann", forms={"he": "she", "title": "Dr"})
        >>> [ann.form(key) for key in ("name", "He", "his/her", "title")]
        ['Ann', 'She', 'her', 'Dr']
        """
        short = key.partition("/")[0].strip()
        form = self._form(short)
        if form is None:
            missing = "he" if short.lower() in PRONOUNS else short
            raise TopicError(
                f"group {self.name!r}: expected a form for [X:{key}], found none; add "
                f'forms = {{ {missing} = "…" }} to the group'
            )
        if short[:1].isupper():
            return form[:1].upper() + form[1:]
        return form

    def _form(self, key: str) -> str | None:
        lower = key.lower()
        if lower == "name":
            return self.name
        form = self.forms.get(key, self.forms.get(lower))
        if form is not None:
            return form
        pronoun = self.forms.get("he")
        if lower in PRONOUNS and pronoun in PRONOUNS["he"]:
            return PRONOUNS[lower][PRONOUNS["he"].index(pronoun)]
        return None

    def __hash__(self) -> int:
        return hash((self.name, self.text, self.weight, self.article))


def clean_text(text: object, *, place: str) -> str:
    """Return `text` with its whitespace collapsed; it must not be empty or contain a slot."""
    if not isinstance(text, str) or not text.strip():
        raise TopicError(
            f"{place}: expected a text, found {text!r}; write a word or a phrase"
        )
    if "[X]" in text or "[Y]" in text:
        raise TopicError(
            f"{place}: expected no [X] or [Y], found {text!r}; slots are for templates"
        )
    return " ".join(text.split())


def _checked_factors(
    factors: Mapping[str, float | None], place: str
) -> dict[str, float | None]:
    checked: dict[str, float | None] = {}
    for name, figure in factors.items():
        if figure is not None:
            figure = _finite(figure, place=f"{place}: factors.{name}")
        checked[name] = figure
    return checked


def _finite(value: object, *, place: str) -> float:
    """Return a finite number as a float; bool is an int to Python but not a figure."""
    # item() of a numpy scalar is a plain number
    plain: Any = getattr(value, "item", lambda: value)()
    is_number = isinstance(plain, (int, float)) and not isinstance(plain, bool)
    number = float(plain) if is_number else math.nan
    if not math.isfinite(number):
        raise TopicError(f"{place}: expected a finite number, found {plain!r}")
    return number
