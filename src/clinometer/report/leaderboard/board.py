"""What a leaderboard shows: runs that were asked the same questions, and their ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from clinometer.display.names import MEASURES
from clinometer.errors import RunError
from clinometer.measure import Preferences
from clinometer.measure.comparison.ranking import Ranking, rank_models
from clinometer.measure.comparison.result import Rank
from clinometer.report.reliability.page import is_reliability_run
from clinometer.runs.folder.find import run_folders
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.preference_tables import stored_preferences
from clinometer.runs.folder.record_schema import RunRecord, SummaryRecord

REPLICATES = 400
"""Of the paired bootstrap, unless others are asked for."""

LIKELY = 0.95
"""Share of the replicates whose ranks are shown as a range."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """One run on a board.

    name     its model, with its folder where a board has the model twice
    groups   groups.parquet of the run
    ranks    by measure; empty for a reference model, which is known and not ranked
    lower    by measure, how often this run has the lower risk than each ranked run of the board
    """

    name: str
    record: RunRecord
    groups: pd.DataFrame
    ranks: dict[str, Rank] = field(default_factory=dict)
    lower: dict[str, list[float]] = field(default_factory=dict)

    @property
    def summary(self) -> SummaryRecord:
        if self.record.summary is None:
            raise RunError(f"{self.name}: the run has no summary; audit it again")
        return self.record.summary


@dataclass(frozen=True, eq=False)
class Board:
    """Runs of one topic in the same contexts, the lowest R first, reference models last.

    order   names of the ranked runs, in the order of `Ranked.lower`
    """

    key: str
    topic: str
    contexts: str
    n_groups: int
    n_contexts: int
    n_eff: float
    rows: tuple[Ranked, ...]
    order: tuple[str, ...]
    replicates: int
    notes: tuple[str, ...] = ()

    @property
    def ranked(self) -> list[Ranked]:
        return [row for row in self.rows if row.ranks]


def likely_ranks(rank: Rank) -> tuple[int, int]:
    """The ranks between which a model stands in the middle 95 % of the replicates.

    >>> likely_ranks(Rank("a", "R", 0.2, 1, (0.6, 0.39, 0.01)))
    (1, 2)
    """
    below = np.cumsum(rank.probability)
    tail = (1 - LIKELY) / 2
    low = int(np.argmax(below > tail + 1e-12))
    high = int(np.argmax(below >= 1 - tail - 1e-12))
    return low + 1, high + 1


def collect(
    sources: Iterable[Path], *, replicates: int = REPLICATES, seed: int = 0
) -> tuple[list[Board], list[str]]:
    """Boards of the finished audits in some folders, the largest first; and what was passed over.

    A source is a run folder or a folder with runs below it. Each board has runs of one topic,
    context set, norm and scale.
    """
    read: dict[tuple[Any, ...], list[_Read]] = {}
    passed = []
    for folder in dict.fromkeys(f.resolve() for source in sources for f in _folders(source)):
        if is_reliability_run(folder):
            continue
        try:
            one = _Read.of(folder)
        except RunError as error:
            passed.append(str(error))
            continue
        read.setdefault(one.key, []).append(one)
    if not read:
        more = f": {passed[0]}" if passed else ""
        raise RunError(f"leaderboard: expected finished audits, found none{more}")
    groups = sorted(read.values(), key=len, reverse=True)
    boards = [_board(i, runs, replicates, seed) for i, runs in enumerate(groups)]
    return boards, passed


@dataclass(frozen=True, eq=False)
class _Read:
    folder: Path
    record: RunRecord
    preferences: Preferences
    groups: pd.DataFrame

    @classmethod
    def of(cls, folder: Path) -> _Read:
        record, tables = RunFolder(folder).read_finished()
        preferences, groups = stored_preferences(record, tables), tables["groups"].to_pandas()
        if record.summary is None:
            raise RunError(f"{folder}: the run has no summary; audit it again")
        return cls(folder, record, preferences, groups)

    @property
    def key(self) -> tuple[Any, ...]:
        """Runs with the same key can be compared cell by cell."""
        record, p = self.record, self.preferences
        settings = record.settings
        asked = (record.topic.sha256, record.contexts.sha256, p.groups, p.contexts)
        return (*asked, p.categories, settings.norm, settings.normalize)


def _folders(source: Path) -> list[Path]:
    if not source.is_dir():
        raise RunError(f"{source}: no such folder")
    return run_folders(source)


def _board(number: int, runs: Sequence[_Read], replicates: int, seed: int) -> Board:
    names = _names(runs)
    chosen = [i for i, one in enumerate(runs) if one.record.model.kind != "reference"]
    found = _ranking([runs[i] for i in chosen], [names[i] for i in chosen], replicates, seed)
    place = {i: n for n, i in enumerate(chosen)}
    rows = []
    for i, one in enumerate(runs):
        ranks, lower = {}, {}
        if found is not None and i in place:
            ranks = {r.measure: r for r in found.ranks if r.model == names[i]}
            lower = {m: found.lower[k, place[i]].tolist() for k, m in enumerate(MEASURES)}
        rows.append(Ranked(names[i], one.record, one.groups, ranks, lower))
    rows.sort(key=_order)
    first = runs[0]
    return Board(
        key=f"board-{number + 1}",
        topic=first.record.topic.title or first.record.topic.name,
        contexts=first.record.contexts.name,
        n_groups=len(first.preferences.groups),
        n_contexts=len(first.preferences.contexts),
        n_eff=first.record.contexts.n_eff if found is None else found.n_eff,
        rows=tuple(rows),
        order=() if found is None else found.models,
        replicates=0 if found is None else found.replicates,
        notes=_notes(found, rows),
    )


def _order(row: Ranked) -> tuple[bool, float, str]:
    rank = row.ranks.get("R")
    return rank is None, row.summary.R.value if rank is None else rank.value, row.name


def _names(runs: Sequence[_Read]) -> list[str]:
    models = [one.record.model.id for one in runs]
    names = [
        model if models.count(model) == 1 else f"{model} ({one.folder.name})"
        for model, one in zip(models, runs, strict=True)
    ]
    twice = {name for name in names if names.count(name) > 1}
    return [f"{name}, {number + 1}" if name in twice else name for number, name in enumerate(names)]


def _ranking(
    runs: Sequence[_Read], names: Sequence[str], replicates: int, seed: int
) -> Ranking | None:
    if not runs:
        return None
    first = runs[0].preferences
    values = [one.preferences.values for one in runs]
    return rank_models(
        *values,
        names=names,
        mask=np.stack([~np.isnan(p).any(axis=2) for p in values]),
        groups=first.groups,
        categories=first.categories,
        context_weights=first.context_weights,
        group_weights=first.group_weights,
        reference=first.reference,
        norm=runs[0].record.settings.norm,
        normalize=runs[0].record.settings.normalize,
        replicates=replicates,
        seed=seed,
    )


def _notes(found: Ranking | None, rows: Sequence[Ranked]) -> tuple[str, ...]:
    notes = []
    if found is not None and found.missing_cells:
        notes.append(f"{found.missing_cells:,} cells that some model lacks count for none.")
    if any(row.record.draws for row in rows):
        notes.append(
            "Some models were sampled: ranks are by the counted answers, whose noise lifts R; the "
            "R shown is corrected for it."
        )
    return tuple(notes)
