"""Fill the table of a run: from the cache of the machine, then from the model."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import ModelError
from clinometer.models import WordScores
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import added, check_same_model, model_info
from clinometer.runs.folder.record_schema import CacheRecord, RunRecord
from clinometer.runs.scores.accumulate import PreferenceTable
from clinometer.runs.scores.cache import ScoreCache
from clinometer.runs.scores.executors import CellBlock, Executor
from clinometer.storage.record import ModelRecord

#: Called with (cells done, cells in all) as an audit goes on.
Progress = Callable[[int, int], None]

#: A chunk is written as soon as it is done, unless one was written less than this ago: a killed run
#: loses the chunk it was at and, of a fast model, at most so many seconds.
_FLUSH_S = 1.0
#: Cells that are looked up in the cache at a time.
_SLAB = 16_384

Scored = tuple[NDArray[np.int64], WordScores]


class Scoring:
    """The cells of one run on their way into its table and its folder."""

    def __init__(
        self,
        executor: Executor,
        cache: ScoreCache,
        folder: RunFolder | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.executor, self.cache, self.folder = executor, cache, folder
        self._progress = progress
        #: what a server was asked up to the end of the last filling
        self._counted: dict[str, int] = {}

    def fill(self, table: PreferenceTable, record: RunRecord) -> None:
        """Score what is missing. `record` goes to the folder before anything else does.

        A cell is looked up in the cache once in the life of a run, before any of its neighbours is
        scored: what the cache learns later cannot change which cells are scored together, so that a
        continued run ends with the numbers of an uninterrupted one. The record counts the cells
        that were looked up and those that were found.
        """
        self._write(record)
        seen = record.cache
        if seen.looked_up < len(table.grid):
            found = self._fill_from_cache(table, record, first=seen.looked_up)
            record.cache = CacheRecord(looked_up=len(table.grid), found=seen.found + found)
            self._write(record)
        self._report(table)
        if not table.complete():
            self._fill_from_model(table, record)
        if not table.complete():  # never measure what was not asked
            raise ModelError(f"{table.done()} of {len(table.grid)} cells were answered")

    def _fill_from_cache(self, table: PreferenceTable, record: RunRecord, *, first: int) -> int:
        info = model_info(record)
        found = 0
        for start in range(first, len(table.grid), _SLAB):
            cells = table.missing(range(start, min(start + _SLAB, len(table.grid))))
            known = self.cache.get(info, table.grid.prompts(cells))
            if known is None:
                continue
            places, scores = known
            table.add(cells[places], scores)
            if self.folder:
                self.folder.write_scores([(cells[places], scores)])
            found += len(places)
        return found

    def _fill_from_model(self, table: PreferenceTable, record: RunRecord) -> None:
        waiting: list[Scored] = []
        written = time.monotonic() - _FLUSH_S
        before = record.usage
        counted = self._counted
        try:
            for answer in self.executor.score(_blocks(table)):
                check_same_model(record, answer.info)
                record.model = ModelRecord(**answer.info.to_dict())
                table.add(answer.cells, answer.scores)
                waiting.append((answer.cells, answer.scores))
                if time.monotonic() - written >= _FLUSH_S:
                    self._flush(waiting, table, record)
                    written = time.monotonic()
                self._report(table)
        finally:  # whatever stopped us, what was answered and paid for is kept
            self._flush(waiting, table, record)
            self._counted = self.executor.usage()
            new = {k: n - counted.get(k, 0) for k, n in self._counted.items()}
            if new:
                record.usage = added(before, new)
                self._write(record)

    def _flush(self, waiting: list[Scored], table: PreferenceTable, record: RunRecord) -> None:
        done, waiting[:] = list(waiting), []
        if done and self.folder:
            self.folder.write_scores(done)
        for cells, scores in done:
            self.cache.put(model_info(record), table.grid.prompts(cells), scores)

    def _write(self, record: RunRecord) -> None:
        if self.folder:
            self.folder.write_record(record, status="running")

    def _report(self, table: PreferenceTable) -> None:
        if self._progress:
            self._progress(table.done(), len(table.grid))


def _blocks(table: PreferenceTable) -> Iterator[CellBlock]:
    """What is missing of each chunk."""
    for chunk in table.grid.chunks():
        cells = table.missing(chunk)
        if len(cells):
            yield CellBlock(cells, table.grid.prompts(cells))
