"""Fill the table and the folder of one run with scores: from the cache, then from the model.

Each batch of scores goes to the run's table, its folder and the cache of the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import ModelError
from clinometer.models import WordScores
from clinometer.models.background import write_behind
from clinometer.models.catalog.spec import APPLICATION
from clinometer.runs.audited_model import CellBlock
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import CacheRecord, RunRecord, added
from clinometer.runs.score_cache import ScoreCache
from clinometer.runs.scores import PreferenceTable
from clinometer.storage.record import ModelRecord
from clinometer.storage.resumable import FLUSH_S, Progress, store_as_they_come

LOOKED_UP_AT_A_TIME = 16_384
"""Cells that are looked up in the cache at a time."""

ScoredBlock = tuple[CellBlock, WordScores]


class Scoring:
    """Fills the table and folder of one run with scores."""

    def __init__(
        self,
        cache: ScoreCache,
        folder: RunFolder | None = None,
        progress: Progress | None = None,
        *,
        last: bool = True,
    ) -> None:
        self.model = cache.model
        self.cache = cache
        self.folder = folder
        self._progress = progress

        self._finished_log = folder.replies if folder and last else None
        """The replies to remove when the scores hold them; None if another scoring follows."""

        self._counted_usage: dict[str, int] = {}
        """What the server has used up to the last time that it was recorded."""

    def of_edits(self, folder: RunFolder | None) -> Scoring:
        """Return the scoring of irrelevant edits, by the same model into another folder.

        It comes after this one, and removes the replies of both.
        """
        scoring = Scoring(self.cache, folder, self._progress_of_edits())
        scoring._finished_log = self.folder.replies if self.folder else None
        scoring._counted_usage = self.model.usage()
        return scoring

    def _progress_of_edits(self) -> Progress | None:
        """Return the progress of a command with the name of what it asks."""
        stage = getattr(self._progress, "stage", None)
        if stage is None:
            return self._progress
        return partial(stage, "irrelevant edits", "cells")

    def fill(self, table: PreferenceTable, record: RunRecord) -> None:
        """Score what is missing. `record` is written to the folder first.

        A cell is looked up in the cache once per run, before any of its neighbours is scored: later
        additions to the cache cannot change which cells are scored together, so that a resumed run
        ends with the numbers of an uninterrupted one. The record counts the cells looked up and
        those found.
        """
        self._write(record)
        self._fill_from_cache(table, record)
        self._fill_from_model(table, record)
        if not table.complete():  # never measure what was not scored
            raise ModelError(
                f"expected scores of all {len(table.grid)} cells, found {table.done()}; rerun the "
                "same command to resume"
            )
        if self._finished_log:
            self._finished_log.unlink(missing_ok=True)

    def _fill_from_cache(self, table: PreferenceTable, record: RunRecord) -> None:
        """Look up the cells that this run has not looked up yet."""
        n_cells = len(table.grid)
        lookup = record.cache
        if lookup.looked_up >= n_cells:
            return
        n_cached = 0
        if self.cache.holds(record.model, table.counts):
            for start in range(lookup.looked_up, n_cells, LOOKED_UP_AT_A_TIME):
                stop = min(start + LOOKED_UP_AT_A_TIME, n_cells)
                missing = table.missing(range(start, stop))
                n_cached += self._take_from_cache(missing, table, record)
        record.cache = CacheRecord(looked_up=n_cells, found=lookup.found + n_cached)
        self._write(record)

    def _take_from_cache(
        self, cells: NDArray[np.int64], table: PreferenceTable, record: RunRecord
    ) -> int:
        """Add those of the cells that are cached, and return how many these are."""
        cached = self.cache.get(record.model, table.grid.prompts(cells), table.counts)
        if cached is None:
            return 0
        positions, scores = cached
        table.add(cells[positions], scores)
        if self.folder:
            self.folder.write_scores([(cells[positions], scores)])
        return len(positions)

    def _fill_from_model(self, table: PreferenceTable, record: RunRecord) -> None:
        """Ask the model for the rest, and store it as it comes."""
        sampled = self.model.load.sampled
        progress = ReplyProgress(
            self._progress,
            done=table.done(),
            replies_per_cell=sampled.replies if sampled else 1,
        )
        self.model.on_reply = progress.count_reply
        scored: Iterable[ScoredBlock] = ()
        if not table.complete():  # open no model if nothing is missing
            scored = self._score_missing(table, record)

        def store(batch: list[ScoredBlock]) -> None:
            self._store(batch, table, record)

        # Beside a GPU another thread stores; a CPU's cores are busy as they are.
        storing: AbstractContextManager[Callable[[list[ScoredBlock]], None]]
        storing = nullcontext(store)
        if record.model.device.startswith("cuda"):
            storing = write_behind(store)
        try:
            with storing as put:
                store_as_they_come(
                    scored,
                    put,
                    done=table.done(),
                    total=len(table.grid),
                    progress=progress,
                    size=_number_of_cells,
                    every_s=FLUSH_S,
                )
        finally:  # also after a failure
            self._record_usage(record)

    def _score_missing(
        self, table: PreferenceTable, record: RunRecord
    ) -> Iterator[ScoredBlock]:
        """Yield the missing cells with their scores, which are in the table by then."""
        if record.model.device == APPLICATION:
            blocks = shuffled_blocks(table)
        else:
            blocks = missing_blocks(table)
        for block, scores in self.model.score(blocks):
            model = ModelRecord(**self.model.scorer.info.to_dict())
            record.model.check_same(model)
            record.model = model
            table.add(block.cells, scores)
            yield block, scores

    def _store(
        self, batch: list[ScoredBlock], table: PreferenceTable, record: RunRecord
    ) -> None:
        """Write scores to the folder and the cache, and before them what they have used."""
        self._record_usage(record)
        if self.folder:
            self.folder.write_scores([(block.cells, scores) for block, scores in batch])
        prompts = [prompt for block, _ in batch for prompt in block.prompts]
        scores = WordScores.joined([scores for _, scores in batch])
        self.cache.put(record.model, prompts, scores, table.counts)

    def _record_usage(self, record: RunRecord) -> None:
        """Record what was used before what it gave: it was paid for, and a kill may come."""
        usage = self.model.usage()
        new = {name: n - self._counted_usage.get(name, 0) for name, n in usage.items()}
        self._counted_usage = usage
        total = added(record.usage, new)
        if not new or total == record.usage:
            return
        record.usage = total
        if record.cost is not None:
            record.cost = record.cost.after(total)
        self._write(record)

    def _write(self, record: RunRecord) -> None:
        if self.folder:
            self.folder.write_record(record, status="running")


def missing_blocks(table: PreferenceTable) -> Iterator[CellBlock]:
    """Yield the missing cells of each chunk."""
    for chunk in table.grid.chunks():
        cells = table.missing(chunk)
        if len(cells):
            yield CellBlock(cells, table.grid.prompts(cells), table.counts)


def shuffled_blocks(table: PreferenceTable) -> Iterator[CellBlock]:
    """Yield the missing cells of all chunks in random order, for an application.

    What it remembers from one call to the next so meets every group alike.
    """
    missing = table.missing(range(len(table.grid)))
    shuffled = np.random.default_rng(0).permutation(missing)
    chunk_size = table.grid.chunk_size
    for start in range(0, len(shuffled), chunk_size):
        cells = shuffled[start : start + chunk_size]
        yield CellBlock(cells, table.grid.prompts(cells), table.counts)


def _number_of_cells(scored: ScoredBlock) -> int:
    block, _ = scored
    return len(block.cells)


class ReplyProgress:
    """Progress that moves between blocks: replies that have come count as parts of cells."""

    def __init__(
        self, progress: Progress | None, *, done: int, replies_per_cell: int
    ) -> None:
        self._progress = progress
        self._done_before = done
        self._replies_per_cell = max(replies_per_cell, 1)
        self._n_replies = 0
        self._last_done = done
        self._total = 0

    def __call__(self, done: int, total: int) -> None:
        """Report cells that are done, never fewer than the last time."""
        self._last_done = max(done, min(self._last_done, total))
        self._total = total
        if self._progress:
            self._progress(self._last_done, total)

    def count_reply(self) -> None:
        """Count a reply that has come, and report a cell for as many as it asks."""
        self._n_replies += 1
        done = self._done_before + self._n_replies // self._replies_per_cell
        if self._last_done < done < self._total:
            self(done, self._total)
