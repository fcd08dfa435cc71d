"""Kinds of people: groups that have something in common, as the list of people says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clinometer.measure import Preferences

if TYPE_CHECKING:
    from clinometer.runs.run import Run

NAMES = {
    "gender": {"female": "women", "male": "men"},
    "age": {
        "young": "young people",
        "middle": "middle-aged people",
        "old": "old people",
    },
}
"""How a sentence calls people by what a column of their list says."""

PATTERNS = {
    "ethnicity": "{} people",
    "religion": "{} people",
    "orientation": "{} people",
    "nationality": "people from {}",
    "disability": "people with {}",
}
"""The same for columns with many entries; people of other columns are called by both."""

SHOWN_AS = "shown_as"
"""The column that says how people are shown, which is nothing about them."""


@dataclass(frozen=True)
class Kind:
    """People with the same entry in a column."""

    name: str
    """What a sentence calls them."""

    column: str
    """The column of their list; a single group has none."""

    members: tuple[int, ...]
    """Their groups, by number."""


def kinds(run: Run) -> list[Kind]:
    """Return the kinds of people that a run was about: those of each column with several
    entries."""
    preferences = run.preferences
    answered = np.asarray(preferences.observed.any(axis=1))
    every: list[Kind] = []
    for column, entries in run.record.topic.people.items():
        if column == SHOWN_AS or len(entries) != len(preferences.groups):
            continue
        members: dict[str, list[int]] = {}
        for x, entry in enumerate(entries):
            if entry and answered[x]:
                members.setdefault(entry, []).append(x)
        if len(members) > 1:
            for entry, groups in members.items():
                every.append(Kind(_kind_name(column, entry), column, tuple(groups)))
    return every


def _kind_name(column: str, entry: str) -> str:
    if column in NAMES:
        return NAMES[column].get(entry, entry)
    return PATTERNS.get(column, f"{column} {{}}").format(entry)


def statements_about(rows: Sequence[Kind]) -> int:
    """Return how many statements kinds of people make: what one of two gets more, the other gets
    less."""
    columns = [row.column for row in rows]
    number = 0
    for column in set(columns):
        n_kinds = columns.count(column)
        number += 1 if n_kinds == 2 else n_kinds
    return number


def kinds_shown(run: Run) -> dict[str, Preferences]:
    """Return the groups by how people are shown: first names and surnames, each over all who bear
    it, and descriptions; whole names where none is borne twice.

    Empty where the groups do not say, and without kinds of a single member.
    """
    preferences = run.preferences
    shown_as = run.record.topic.people.get(SHOWN_AS, [])
    if len(shown_as) != len(preferences.groups):
        return {}
    answered = np.flatnonzero(preferences.observed.any(axis=1)).tolist()
    names = [preferences.groups[x].split() for x in answered if shown_as[x] == "name"]
    crossed = _are_crossed(names)
    by_kind: dict[str, dict[str, list[int]]] = {}
    for x in answered:
        members = {shown_as[x]: preferences.groups[x]}
        if shown_as[x] == "name" and crossed:
            first_name, surname = preferences.groups[x].split()
            members = {"first name": first_name, "surname": surname}
        for kind, member in members.items():
            by_kind.setdefault(kind, {}).setdefault(member, []).append(x)
    return {
        kind: pooled(preferences, members)
        for kind, members in by_kind.items()
        if kind and len(members) > 1
    }


def _are_crossed(names: Sequence[Sequence[str]]) -> bool:
    """Return whether all names have two parts, and several people share one of them."""
    if not names or any(len(parts) != 2 for parts in names):
        return False
    first_names, surnames = zip(*names, strict=True)
    return len(set(first_names)) < len(names) or len(set(surnames)) < len(names)


def pooled(
    preferences: Preferences, members: Mapping[str, Sequence[int]]
) -> Preferences:
    """Return several groups as one each: their mean in every context, by weight, and all their
    answers."""
    weights = np.zeros((len(members), len(preferences.groups)))
    for row, groups in zip(weights, members.values(), strict=True):
        row[groups] = preferences.group_weights[groups]
    in_cell = weights[:, :, None] * preferences.observed
    total = in_cell.sum(axis=1)
    values = np.einsum("nxc,xcy->ncy", in_cell, np.nan_to_num(preferences.values))
    values /= np.where(total > 0, total, np.nan)[:, :, None]
    context_weights = preferences.context_weights
    if context_weights.ndim > 1:
        context_weights = weights @ context_weights / weights.sum(axis=1)[:, None]
    answers = preferences.answers
    if answers is not None:
        answers = np.einsum("nxc,xc->nc", in_cell > 0, np.nan_to_num(answers))
    return replace(
        preferences,
        values=values,
        groups=tuple(members),
        group_weights=weights.sum(axis=1),
        context_weights=context_weights,
        answers=answers,
        coverage=None,
        low=None,
        high=None,
    )
