"""Intersections: groups and attributes as products of several lists."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from clinometer.errors import TopicError
from clinometer.topics.group import Group

T = TypeVar("T")
TIMES = " × "
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def product_groups(pattern: str, factors: Mapping[str, Sequence[Group | str]]) -> tuple[Group, ...]:
    """Every combination of the groups of several lists, written by `pattern`.

    Name and text follow the pattern, weights multiply, `parts` remembers what each list gave, and
    the figures (`factors`) are those of the group from the list that comes last in the pattern:
    the figures of nurses, for the "black nurse". The first list varies slowest. An `article`
    that a group sets is kept where the pattern begins with that group.

    >>> [g.name for g in product_groups("{race} {job}", {"race": ["black", "white"],
    ...                                                  "job": ["nurse", "cook"]})]
    ['black nurse', 'black cook', 'white nurse', 'white cook']
    """
    order = _placeholders(pattern, list(factors), where="groups")
    lists = [
        [g if isinstance(g, Group) else Group(g) for g in _listed(factors[key], f"groups.{key}")]
        for key in order
    ]
    begins = pattern.lstrip().startswith("{")
    return tuple(
        Group(
            name=_fill(pattern, {k: g.name for k, g in zip(order, chosen, strict=True)}),
            text=_fill(pattern, {k: g.text for k, g in zip(order, chosen, strict=True)}),
            weight=math.prod(g.weight for g in chosen),
            article=chosen[0].article if begins else None,
            factors=chosen[-1].factors,
            about=chosen[-1].about,
            parts={k: g.name for k, g in zip(order, chosen, strict=True)},
        )
        for chosen in itertools.product(*lists)
    )


def product_attributes(
    pattern: str, factors: Mapping[str, Mapping[str, Sequence[str]]]
) -> dict[str, tuple[str, ...]]:
    """Every combination of the categories of several attributes, with the words by `pattern`.

    Categories are named in the order of the pattern: "young × female".

    >>> product_attributes("{age} {sex}", {"age": {"young": ["young"], "old": ["old", "elderly"]},
    ...                                    "sex": {"f": ["woman"]}})
    {'young × f': ('young woman',), 'old × f': ('old woman', 'elderly woman')}
    """
    order = _placeholders(pattern, list(factors), where="attributes")
    for key in order:
        for category, words in factors[key].items():
            _listed(words, f"attributes.{key}.{category}")
    return {
        TIMES.join(chosen): tuple(
            _fill(pattern, dict(zip(order, words, strict=True)))
            for words in itertools.product(
                *(factors[key][category] for key, category in zip(order, chosen, strict=True))
            )
        )
        for chosen in itertools.product(*(factors[key] for key in order))
    }


def _listed(values: Sequence[T], where: str) -> Sequence[T]:
    if isinstance(values, str):
        raise TopicError(f"{where}: expected a list, found the text {values!r}")
    if not values:
        raise TopicError(f"{where}: expected at least one entry, found none")
    return values


def _placeholders(pattern: str, keys: Sequence[str], *, where: str) -> list[str]:
    """The names in the pattern, in order; they must be the keys, each once."""
    names = _PLACEHOLDER.findall(pattern)
    if sorted(names) != sorted(keys):
        expected = ", ".join(f"{{{key}}}" for key in keys) or "the name of a list"
        raise TopicError(
            f"{where}.pattern: expected {expected}, each once, found {pattern!r}; "
            "every list stands in the pattern once, and nothing else in braces"
        )
    if len(names) < 2:
        raise TopicError(f"{where}.pattern: expected two lists or more, found {len(names)}")
    if re.search(r"[{}]", _PLACEHOLDER.sub("", pattern)):
        raise TopicError(f"{where}.pattern: expected braces around names only, found {pattern!r}")
    return names


def _fill(pattern: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], pattern)
