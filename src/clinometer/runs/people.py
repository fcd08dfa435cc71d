"""Who gets more or less than the mean: single groups, and people who have something in common.

An answer is a number of points, or is favourable or not. Groups that are compared with their mean
get more or less of it in every context; the mean of that over contexts is a lean, and its interval
is what flipping the contexts does not reject. The same for two runs, context by context, is a
shift. Kinds of people are corrected for all kinds that were looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from clinometer.measure import Preferences
from clinometer.measure.evidence import by_unit, unit_numbers
from clinometer.runs.nouns import favourable, group_name
from clinometer.statistics.arrays import ROUNDING, FloatArray
from clinometer.statistics.estimate import Estimate, around
from clinometer.statistics.intervals.flips import flip_interval

if TYPE_CHECKING:
    from clinometer.runs.run import Run

#: How a sentence calls people by what a column of their list says; others by column and entry.
_CALLED = {
    "gender": {"female": "women", "male": "men"},
    "age": {
        "young": "young people",
        "middle": "middle-aged people",
        "old": "old people",
    },
}
_PATTERNS = {
    "ethnicity": "{} people",
    "religion": "{} people",
    "orientation": "{} people",
    "nationality": "people from {}",
    "disability": "people with {}",
}


#: Of the error that intervals may have, what all kinds of people have together. They are looked at
#: beside single people, and lead where one is clear: with 5 % for single people the two have 6 %
#: together, and not 10.
_SHARE = 0.2


@dataclass(frozen=True)
class Kind:
    """People with the same entry in a column, by their numbers; a single group has no column."""

    name: str
    column: str
    members: tuple[int, ...]


def kinds(run: Run) -> list[Kind]:
    """The kinds of people that a run was about: those of each column with several entries."""
    p = run.preferences
    rows = []
    for column, entries in run.record.topic.people.items():
        if column == "shown_as" or len(entries) != len(p.groups):
            continue
        of: dict[str, list[int]] = {}
        for x, entry in enumerate(entries):
            if entry and p.observed[x].any():
                of.setdefault(entry, []).append(x)
        if len(of) > 1:
            rows += [
                Kind(_called(column, entry), column, tuple(x))
                for entry, x in of.items()
            ]
    return rows


def _called(column: str, entry: str) -> str:
    if column in _CALLED:
        return _CALLED[column].get(entry, entry)
    return _PATTERNS.get(column, f"{column} {{}}").format(entry)


def unit_of(run: Run) -> str:
    """What groups get more or less of: points or percentage points; "" where groups are not
    compared with their mean, or no answer is better than another."""
    if not run.preferences.grid.relative:
        return ""
    if run.preferences.grid.criterion.points:
        return "points"
    return "" if favourable(run) is None else "percentage points"


def outcomes(run: Run) -> FloatArray:
    """[X, C], what each group got: points, or percent of favourable answers; NaN where missing."""
    p = run.preferences
    worth = np.array(p.grid.criterion.points)
    if not worth.size:
        worth = 100 * np.eye(len(p.categories))[favourable(run) or 0]
    return np.where(p.observed, np.nan_to_num(p.values) @ worth, np.nan)


def departures(outcome: FloatArray, weights: FloatArray) -> FloatArray:
    """[X, C], from the mean of the groups that answer in the context."""
    there = weights[:, None] * np.isfinite(outcome)
    total = there.sum(axis=0)
    mean = (there * np.nan_to_num(outcome)).sum(axis=0) / np.where(
        total > 0, total, np.nan
    )
    return np.asarray(outcome - mean)


def leans(
    rows: Sequence[Kind],
    departure: FloatArray,
    p: Preferences,
    *,
    level: float,
    clusters: str | None = None,
) -> list[Estimate]:
    """The mean departure of each, with the interval that flips of the contexts do not reject; no
    interval where too few contexts carry the weight."""
    contexts = np.broadcast_to(p.context_weights, departure.shape)
    weight = p.group_weights[:, None] * contexts * np.isfinite(departure)
    labels = None if clusters is None else p.label(clusters)
    units = unit_numbers(labels, departure.shape[1])
    a = np.array([weight[list(row.members)].sum(axis=0) for row in rows])
    z = np.array([
        (weight * np.nan_to_num(departure))[list(row.members)].sum(axis=0) for row in rows
    ])  # fmt: skip
    total = np.maximum(a.sum(axis=1, keepdims=True), 1e-300)
    a, z = (by_unit((part / total).T, units).T for part in (a, z))
    value = z.sum(axis=1)
    low, high = flip_interval(value, z - a * value[:, None], a, level=level)
    return [
        around(*ends, level, "flipped contexts")
        for ends in zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def is_clear(lean: Estimate) -> bool:
    """Whether its interval excludes 0."""
    if lean.low is None or lean.high is None:
        return False
    return lean.low > ROUNDING or lean.high < -ROUNDING


def joint(level: float, number: int) -> float:
    """The level of each of several intervals that are to hold together."""
    return 1 - (1 - level) / max(number, 1)


def looked_at(rows: Sequence[Kind]) -> int:
    """How many statements kinds of people make: what one of two gets more, the other gets less."""
    columns = [row.column for row in rows]
    return sum(
        max(columns.count(name) - (columns.count(name) == 2), 1)
        for name in set(columns)
    )


def kind_leans(run: Run) -> dict[str, Estimate]:
    """What people who have something in common get more or less than the mean, with intervals
    that are corrected for all kinds looked at. Empty where the list of people says nothing."""
    rows = kinds(run) if unit_of(run) else []
    if not rows:
        return {}
    p, settings = run.preferences, run.record.settings
    level = 1 - _SHARE * (1 - joint(settings.level, looked_at(rows)))
    away = departures(outcomes(run), p.group_weights)
    found = leans(rows, away, p, level=level, clusters=settings.clusters)
    return {row.name: lean for row, lean in zip(rows, found, strict=True)}


# --- Names and descriptions ---------------------------------------------------------------------


def kinds_shown(run: Run) -> dict[str, Preferences]:
    """The groups by how people are shown: first names and surnames, each over all who bear it, and
    descriptions; whole names where none is borne twice. Empty where the groups do not say, and
    without kinds of a single member."""
    p, as_ = run.preferences, run.record.topic.people.get("shown_as", [])
    if len(as_) != len(p.groups):
        return {}
    seen = [x for x in range(len(p.groups)) if p.observed[x].any()]
    names = [p.groups[x].split() for x in seen if as_[x] == "name"]
    crossed = all(len(name) == 2 for name in names) and any(
        len(set(part)) < len(names) for part in zip(*names, strict=False)
    )
    kinds: dict[str, dict[str, list[int]]] = {}
    for x in seen:
        parts = [(as_[x], p.groups[x])]
        if as_[x] == "name" and crossed:
            parts = list(
                zip(("first name", "surname"), p.groups[x].split(), strict=True)
            )
        for kind, member in parts:
            kinds.setdefault(kind, {}).setdefault(member, []).append(x)
    return {kind: _pooled(p, of) for kind, of in kinds.items() if kind and len(of) > 1}


def _pooled(p: Preferences, members: Mapping[str, Sequence[int]]) -> Preferences:
    """Several groups as one each: their mean in every context, by weight, and all their answers."""
    weight = np.zeros((len(members), len(p.groups)))
    for row, at in zip(weight, members.values(), strict=True):
        row[at] = p.group_weights[at]
    there = weight[:, :, None] * p.observed
    total = there.sum(axis=1)
    values = np.einsum("nxc,xcy->ncy", there, np.nan_to_num(p.values))
    values /= np.where(total > 0, total, np.nan)[:, :, None]
    answers, each = p.answers, p.context_weights
    return replace(
        p,
        values=values,
        groups=tuple(members),
        group_weights=weight.sum(axis=1),
        context_weights=each
        if each.ndim == 1
        else weight @ each / weight.sum(axis=1)[:, None],
        answers=None
        if answers is None
        else np.einsum("nxc,xc->nc", there > 0, np.nan_to_num(answers)),
        coverage=None,
        low=None,
        high=None,
    )


# --- Two runs ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shift:
    """How much more or less one group, or one kind of people, gets from a run than from another.

    change  run minus baseline, from the mean of the groups; its interval is corrected for all
    rise    how much further from the mean the run is than the baseline, on the side where it is.
            Its upper end is passed by a larger rise in at most 5 % of comparisons; its lower end
            is corrected for all groups and kinds.
    """

    name: str
    column: str
    run: float
    baseline: float
    change: Estimate
    rise: Estimate

    @property
    def clear(self) -> bool:
        return is_clear(self.change)


def shifts(
    run: Run, baseline: Run, *, level: float = 0.95, clusters: str | None = None
) -> list[Shift]:
    """Shifts of all groups and kinds of people between two runs, in the cells that both have.

    A rise on side s is min(s·change, s·lean of the run): a lean that only gets smaller is none, and
    one that crosses the mean counts from there.
    """
    p, q = run.preferences, baseline.preferences
    x = [i for i, group in enumerate(p.groups) if group in q.groups]
    c = [i for i, context in enumerate(p.contexts) if context in q.contexts]
    if not unit_of(run) or unit_of(run) != unit_of(baseline) or len(x) < 2 or not c:
        return []
    theirs = np.ix_(
        [q.groups.index(p.groups[i]) for i in x],
        [q.contexts.index(p.contexts[i]) for i in c],
    )
    now, was = (np.full(p.observed.shape, np.nan) for _ in "ab")
    now[np.ix_(x, c)] = outcomes(run)[np.ix_(x, c)]
    was[np.ix_(x, c)] = outcomes(baseline)[theirs]
    both = np.isfinite(now) & np.isfinite(was)
    now, was = (
        departures(np.where(both, part, np.nan), p.group_weights) for part in (now, was)
    )
    singles = [Kind(group_name(run, p.groups[i]), "", (i,)) for i in x]
    rows = [r for r in (*singles, *kinds(run)) if both[list(r.members)].any()]
    number = len(x) + looked_at([row for row in rows if row.column])
    corrected = joint(level, number)

    def each(part: FloatArray, at: float) -> list[Estimate]:
        return leans(rows, part, p, level=at, clusters=clusters)

    change, own = each(now - was, corrected), each(now, corrected)
    sure_change, sure_own, before = (
        each(now - was, level),
        each(now, level),
        each(was, level),
    )
    return [
        Shift(row.name, row.column, own[i].value, before[i].value, change[i],
              _rise(change[i], own[i], sure_change[i], sure_own[i], level))
        for i, row in enumerate(rows)
    ]  # fmt: skip


def _rise(
    change: Estimate,
    own: Estimate,
    sure_change: Estimate,
    sure_own: Estimate,
    level: float,
) -> Estimate:
    value = max(min(s * change.value, s * own.value) for s in (1, -1))
    if any(part.low is None for part in (change, own, sure_change, sure_own)):
        return Estimate(value)
    low, high = _ends(change, own)[0], _ends(sure_change, sure_own)[1]
    return around(value, low, high, level, "flipped contexts")


def _ends(*parts: Estimate) -> list[float]:
    """From below and from above: the smaller of the parts on a side, on the side where that is
    larger."""
    sides = [
        [
            sorted((side * (part.low or 0.0), side * (part.high or 0.0)))
            for part in parts
        ]
        for side in (1, -1)
    ]
    return [max(min(ends[end] for ends in each) for each in sides) for end in (0, 1)]
