"""Built-in lists of groups: CSV files with a name and figures for each group."""

from __future__ import annotations

import csv
from pathlib import Path

from clinometer.errors import TopicError
from clinometer.topics.group import Group

BUILTIN = Path(__file__).parent / "builtin"
# Columns with what the figures or the name rest on, with what a group is composed of, and with how
# it is written; all others are figures.
_ABOUT = (
    *("source_years", "soc_codes", "match"),
    *("given_name_births", "given_name_percent", "surname_percent", "surname_percent_2020"),
)
_PARTS = ("gender", "ethnicity", "shown_as")
_WRITTEN = ("text", "article")


def builtin_lists() -> tuple[str, ...]:
    """The names of the built-in lists of groups.

    >>> builtin_lists()
    ('occupations', 'people')
    """
    return tuple(sorted(path.stem for path in BUILTIN.glob("*.csv")))


def load_list(name: str) -> tuple[Group, ...]:
    """The groups of a built-in list with their figures; None where a figure is missing.

    >>> nurse = next(group for group in load_list("occupations") if group.name == "nurse")
    >>> nurse.factors["employment_thousands"]
    3172.5
    """
    if name not in builtin_lists():
        known = ", ".join(builtin_lists())
        raise TopicError(
            f"groups: expected a list of groups or the name of a built-in list ({known}), "
            f"found {name!r}"
        )
    with (BUILTIN / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    first, *columns = rows[0]
    figures = [column for column in columns if column not in (*_ABOUT, *_PARTS, *_WRITTEN)]
    return tuple(
        Group(
            row[first],
            text=row.get("text") or "",
            article=row.get("article"),
            factors={column: float(row[column]) if row[column] else None for column in figures},
            about={column: row[column] for column in _ABOUT if row.get(column)},
            parts={column: row[column] for column in _PARTS if row.get(column)},
        )
        for row in rows
    )
