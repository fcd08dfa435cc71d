"""Checks of the groups, the attributes and the reference of a topic."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from clinometer.errors import TopicError
from clinometer.topics.group import Group, clean_text

_SUM_TOLERANCE = 1e-6


def check_groups(groups: Iterable[Group]) -> tuple[Group, ...]:
    """The groups as a tuple: at least one, none twice, not all of weight zero."""
    checked = tuple(groups)
    if not checked:
        raise TopicError("groups: expected at least one group, found none; list the groups X")
    names: set[str] = set()
    texts: dict[str, str] = {}
    for group in checked:
        if not isinstance(group, Group):
            raise TopicError(f"groups: expected Group objects, found {group!r}")
        if group.name in names:
            raise TopicError(f"groups: {group.name!r} is listed twice; keep one of them")
        if group.text in texts:
            raise TopicError(
                f"groups: {texts[group.text]!r} and {group.name!r} have the same text "
                f"{group.text!r}; keep one of them"
            )
        names.add(group.name)
        texts[group.text] = group.name
    if not any(group.weight > 0 for group in checked):
        raise TopicError("groups: every weight is 0; give at least one group a weight above 0")
    return checked


def check_attributes(attributes: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The words by category: two categories or more, none empty, no word twice in one."""
    if len(attributes) < 2:
        raise TopicError(
            f"attributes: expected at least two categories, found {len(attributes)}; "
            "a preference needs an alternative"
        )
    checked: dict[str, tuple[str, ...]] = {}
    for category, words in attributes.items():
        where = f"attributes.{category}"
        if not isinstance(category, str) or not category.strip():
            raise TopicError(f"attributes: expected a name for each category, found {category!r}")
        if isinstance(words, str):
            raise TopicError(f"{where}: expected a list of words, found the text {words!r}")
        cleaned = tuple(clean_text(word, where=where) for word in words)
        if not cleaned:
            raise TopicError(
                f"{where}: expected at least one word, found none; add words or remove the category"
            )
        seen: set[str] = set()
        for word in cleaned:
            if word in seen:
                raise TopicError(f"{where}: the word {word!r} is listed twice; keep one of them")
            seen.add(word)
        checked[category] = cleaned
    return checked


def check_reference(
    reference: Sequence[float] | str | None, *, categories: Sequence[str]
) -> tuple[float, ...] | Literal["group-mean"] | None:
    """p* as a tuple that sums to one exactly, "group-mean", or None for the uniform one."""
    if reference is None:
        return None
    if reference == "group-mean":
        return "group-mean"
    if isinstance(reference, str):
        raise TopicError(f'reference: expected shares or "group-mean", found {reference!r}')
    values = tuple(float(value) for value in reference)
    if len(values) != len(categories):
        raise TopicError(
            f"reference: expected {len(categories)} numbers, one for each category "
            f"({', '.join(categories)}), found {len(values)}"
        )
    for category, value in zip(categories, values, strict=True):
        if not (math.isfinite(value) and value > 0):
            raise TopicError(
                f"reference.{category}: expected a number above 0, found {value!r}; "
                "the stereotype divides by it"
            )
    total = math.fsum(values)
    if abs(total - 1) > _SUM_TOLERANCE:
        raise TopicError(f"reference: expected numbers that sum to 1, found a sum of {total:.6g}")
    return values if total == 1 else tuple(value / total for value in values)
