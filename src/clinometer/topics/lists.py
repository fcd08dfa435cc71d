"""Lists of groups: the built-in ones, with their figures, and products of several lists."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from clinometer.errors import TopicError
from clinometer.topics.group import Group
from clinometer.topics.questions import MOST_PRODUCT

BUILTIN = Path(__file__).parent / "builtin"

_ABOUT = (
    "source_years",
    "soc_codes",
    "match",
    "given_name_rank",
    "given_name_births",
    "given_name_percent",
    "surname_percent",
    "surname_percent_2020",
)
"""Columns with what the figures or the name rest on."""

_PARTS = (
    "gender",
    "ethnicity",
    "age",
    "disability",
    "religion",
    "nationality",
    "orientation",
    "shown_as",
)
"""Columns with what a group is composed of."""

_WRITTEN = ("text", "article")
"""Columns with how a group is written; all others are figures."""

_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def builtin_lists() -> tuple[str, ...]:
    """Return the names of the built-in lists of groups.

    >>> builtin_lists()[:3]
    ('occupations', 'people', 'people-age')
    """
    return tuple(sorted(path.stem for path in BUILTIN.glob("*.csv")))


def load_list(name: str) -> tuple[Group, ...]:
    """Load the groups of a built-in list with their figures; None where a figure is missing.

    >>> nurse = next(group for group in load_list("occupations") if group.name == "nurse")
    >>> nurse.factors["employment_thousands"]
    3172.5
    """
    if name not in builtin_lists():
        names = ", ".join(builtin_lists())
        raise TopicError(
            f"groups: expected a list of groups or the name of a built-in list ({names}), "
            f"found {name!r}"
        )
    with (BUILTIN / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return tuple(_group_of_row(row) for row in csv.DictReader(file))


def _group_of_row(row: Mapping[str, str]) -> Group:
    """Return the group of a row, whose first column is its name."""
    columns = list(row)
    not_figures = {columns[0], *_ABOUT, *_PARTS, *_WRITTEN}
    figures = [column for column in columns if column not in not_figures]
    return Group(
        row[columns[0]],
        text=row.get("text") or "",
        article=row.get("article"),
        factors={
            column: float(row[column]) if row[column] else None for column in figures
        },
        about={column: row[column] for column in _ABOUT if row.get(column)},
        parts={column: row[column] for column in _PARTS if row.get(column)},
    )


def product_groups(
    pattern: str, factors: Mapping[str, Sequence[Group | str]]
) -> tuple[Group, ...]:
    """Return every combination of the groups of several lists, written by `pattern`.

    Name and text follow the pattern, weights multiply, `parts` remembers what each list gave, and
    the figures (`factors`) are those of the group from the list that comes last in the pattern:
    the figures of nurses, for the "black nurse". The first list varies slowest. An `article`
    that a group sets is kept where the pattern begins with that group.

    >>> [g.name for g in product_groups("{race} {job}", {"race": ["black", "white"],
    ...                                                  "job": ["nurse", "cook"]})]
    ['black nurse', 'black cook', 'white nurse', 'white cook']
    """
    keys = _placeholders(pattern, list(factors))
    for key in keys:
        _check_list(key, factors[key])
    lists = [factors[key] for key in keys]
    combinations = math.prod(len(groups) for groups in lists)
    if combinations > MOST_PRODUCT:
        raise TopicError(
            f"groups: expected at most {MOST_PRODUCT:,} combinations of its lists, found "
            f"{combinations:,}; shorten them"
        )
    groups = []
    for entries in itertools.product(*lists):
        components = [
            entry if isinstance(entry, Group) else Group(entry) for entry in entries
        ]
        groups.append(_combined(pattern, dict(zip(keys, components, strict=True))))
    return tuple(groups)


def _check_list(key: str, groups: Sequence[Group | str]) -> None:
    if isinstance(groups, str):
        raise TopicError(f"groups.{key}: expected a list, found the text {groups!r}")
    if not groups:
        raise TopicError(f"groups.{key}: expected at least one entry, found none")


def _combined(pattern: str, components: Mapping[str, Group]) -> Group:
    """Return the group that several make; `components` are in the order of the pattern."""
    groups = list(components.values())
    names = {key: group.name for key, group in components.items()}
    texts = {key: group.text for key, group in components.items()}
    begins_with_group = pattern.lstrip().startswith("{")
    return replace(
        groups[-1],
        name=_filled(pattern, names),
        text=_filled(pattern, texts),
        weight=math.prod(group.weight for group in groups),
        article=groups[0].article if begins_with_group else None,
        parts=names,
    )


def _placeholders(pattern: str, keys: Sequence[str]) -> list[str]:
    """Return the names in the pattern, in order; they must be the keys, each once."""
    names = _PLACEHOLDER.findall(pattern)
    if sorted(names) != sorted(keys):
        expected = ", ".join(f"{{{key}}}" for key in keys) or "the name of a list"
        raise TopicError(
            f"groups.pattern: expected {expected}, each once, found {pattern!r}; "
            "every list stands in the pattern once, and nothing else in braces"
        )
    if len(names) < 2:
        raise TopicError(
            f"groups.pattern: expected two lists or more, found {len(names)}"
        )
    if re.search(r"[{}]", _PLACEHOLDER.sub("", pattern)):
        raise TopicError(
            f"groups.pattern: expected braces around names only, found {pattern!r}"
        )
    return names


def _filled(pattern: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], pattern)
