"""What the groups, the categories and the reference of a topic must be."""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from clinometer.errors import TopicError, closest
from clinometer.topics.group import Group, clean_text

_SUM_TOLERANCE = 1e-6

Reference = tuple[float, ...] | Literal["group-mean"] | None


def checked_groups(groups: Iterable[Group | str]) -> tuple[Group, ...]:
    """Return the groups as a tuple: at least one, none twice, not all of weight zero."""
    if isinstance(groups, str):
        raise TopicError(
            f"groups: expected a list of groups, found the text {groups!r}"
        )
    checked = tuple(
        Group(group) if isinstance(group, str) else group for group in groups
    )
    if not checked:
        raise TopicError(
            "groups: expected at least one group, found none; list the groups X"
        )
    _check_no_group_twice(checked)
    if not any(group.weight > 0 for group in checked):
        raise TopicError(
            "groups: every weight is 0; give at least one group a weight above 0"
        )
    return checked


def _check_no_group_twice(groups: Sequence[Group]) -> None:
    """Refuse what is no group, and groups of the same name or text."""
    names: set[str] = set()
    name_of_text: dict[str, str] = {}
    for group in groups:
        if not isinstance(group, Group):
            raise TopicError(
                f"groups: expected names or Group objects, found {group!r}"
            )
        if group.name in names:
            raise TopicError(
                f"groups: {group.name!r} is listed twice; keep one of them"
            )
        if group.text in name_of_text:
            raise TopicError(
                f"groups: {name_of_text[group.text]!r} and {group.name!r} have the same text "
                f"{group.text!r}; keep one of them"
            )
        names.add(group.name)
        name_of_text[group.text] = group.name


def checked_attributes(
    attributes: Mapping[str, Sequence[str]],
) -> dict[str, tuple[str, ...]]:
    """Return the words by category: two categories or more, none empty, no word twice in one.

    A word may stand in several categories, but not all words of one in another.
    """
    if len(attributes) < 2:
        raise TopicError(
            f"attributes: expected at least two categories, found {len(attributes)}; "
            "a preference needs an alternative"
        )
    checked: dict[str, tuple[str, ...]] = {}
    for category, words in attributes.items():
        if not isinstance(category, str) or not category.strip():
            raise TopicError(
                f"attributes: expected a name for each category, found {category!r}"
            )
        checked[category] = _checked_words(words, place=f"attributes.{category}")
    _check_one_form(checked)
    _check_told_apart(checked)
    return checked


def _check_one_form(attributes: Mapping[str, Sequence[str]]) -> None:
    """Refuse a word that stands twice, and differs in its Unicode form alone."""
    written: dict[str, tuple[str, str]] = {}
    for category, words in attributes.items():
        for word in words:
            composed = unicodedata.normalize("NFC", word)
            first_word, first = written.setdefault(composed, (word, category))
            if word != first_word:
                raise TopicError(
                    f"attributes.{category}: the word {word!r} is that of attributes.{first} in "
                    "another Unicode form; write both alike"
                )


def _check_told_apart(attributes: Mapping[str, Sequence[str]]) -> None:
    """Refuse two categories of the same words, which would always be as probable as each other."""
    category_of: dict[frozenset[str], str] = {}
    for category, words in attributes.items():
        first = category_of.setdefault(frozenset(words), category)
        if first != category:
            raise TopicError(
                f"attributes.{category}: expected words that tell it from attributes.{first}, "
                "found the same ones; give each a word of its own"
            )


def _checked_words(words: Sequence[str], *, place: str) -> tuple[str, ...]:
    if isinstance(words, str):
        raise TopicError(f"{place}: expected a list of words, found the text {words!r}")
    cleaned = tuple(clean_text(word, place=place) for word in words)
    if not cleaned:
        raise TopicError(
            f"{place}: expected at least one word, found none; add words or remove the category"
        )
    repeated = [word for word, times in Counter(cleaned).items() if times > 1]
    if repeated:
        raise TopicError(
            f"{place}: the word {repeated[0]!r} is listed twice; keep one of them"
        )
    return cleaned


def checked_reference(
    reference: Mapping[str, float] | Sequence[float] | str | None,
    *,
    categories: Sequence[str],
) -> Reference:
    """Return p* as a tuple that sums to one exactly, "group-mean", or None for the uniform one."""
    if reference is None or reference == "uniform":
        return None
    if isinstance(reference, str):
        if reference == "group-mean":
            return "group-mean"
        raise TopicError(
            'reference: expected "uniform", "group-mean" or a table of shares, found '
            f"{reference!r}{closest(reference, ('uniform', 'group-mean'))}"
        )
    if isinstance(reference, Mapping):
        reference = _shares_in_order(reference, categories)
    return _checked_shares([float(share) for share in reference], categories)


def _checked_shares(
    shares: Sequence[float], categories: Sequence[str]
) -> tuple[float, ...]:
    """Return shares above 0, one for each category, so that they sum to one exactly."""
    if len(shares) != len(categories):
        raise TopicError(
            f"reference: expected {len(categories)} numbers, one for each category "
            f"({', '.join(categories)}), found {len(shares)}"
        )
    for category, share in zip(categories, shares, strict=True):
        if not (math.isfinite(share) and share > 0):
            raise TopicError(
                f"reference.{category}: expected a number above 0, found {share!r}; "
                "the stereotype divides by it"
            )
    total = math.fsum(shares)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise TopicError(
            f"reference: expected numbers that sum to 1, found a sum of {total:.6g}"
        )
    return tuple(shares) if total == 1 else tuple(share / total for share in shares)


def _shares_in_order(
    shares: Mapping[str, float], categories: Sequence[str]
) -> list[float]:
    """Return the share of each category; all of them must be there, and no other."""
    missing = [category for category in categories if category not in shares]
    unknown = [name for name in shares if name not in categories]
    if missing or unknown:
        kind = "missing" if missing else "unknown"
        problem = f"{kind}: {', '.join(missing or unknown)}"
        raise TopicError(
            f"reference: expected one number for each category ({', '.join(categories)}); "
            f"{problem}"
        )
    return [shares[category] for category in categories]
