"""Fill the table of a run: from the cache of the machine, then from the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

from clinometer.errors import ModelError
from clinometer.execution.ahead import one_behind
from clinometer.runs.folder.folder import RunFolder, Scored
from clinometer.runs.folder.record import added, model_info
from clinometer.runs.folder.record_schema import CacheRecord, RunRecord
from clinometer.runs.scores.accumulate import PreferenceTable
from clinometer.runs.scores.cache import ScoreCache
from clinometer.runs.scores.codec import rounded
from clinometer.runs.scores.executors import CellBlock, Executor
from clinometer.storage.record import ModelRecord
from clinometer.storage.resumable import FLUSH_S, Progress, store_as_they_come
from clinometer.topics import Prompt

#: Cells that are looked up in the cache at a time.
_SLAB = 16_384


class Scoring:
    """Fills the table and folder of one run with scores."""

    def __init__(
        self,
        executor: Executor,
        cache: ScoreCache,
        folder: RunFolder | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.executor, self.cache, self.folder = executor, cache, folder
        self._progress = progress
        #: server usage up to the end of the last filling
        self._counted: dict[str, int] = {}

    def fill(self, table: PreferenceTable, record: RunRecord) -> None:
        """Score what is missing. `record` is written to the folder first.

        A cell is looked up in the cache once per run, before any of its neighbours is scored: later
        additions to the cache cannot change which cells are scored together, so that a resumed run
        ends with the numbers of an uninterrupted one. The record counts the cells looked up and
        those found.
        """
        self._write(record)
        seen = record.cache
        if seen.looked_up < len(table.grid):
            found = self._fill_from_cache(table, record, first=seen.looked_up)
            record.cache = CacheRecord(looked_up=len(table.grid), found=seen.found + found)
            self._write(record)
        self._fill_from_model(table, record)
        if not table.complete():  # never measure what was not scored
            raise ModelError(
                f"expected scores of all {len(table.grid)} cells, found {table.done()}; rerun the "
                "same command to resume"
            )

    def _fill_from_cache(self, table: PreferenceTable, record: RunRecord, *, first: int) -> int:
        info = model_info(record)
        found = 0
        if not self.cache.holds(info, table.counts):
            return found
        for start in range(first, len(table.grid), _SLAB):
            cells = table.missing(range(start, min(start + _SLAB, len(table.grid))))
            known = self.cache.get(info, table.grid.prompts(cells), table.counts)
            if known is None:
                continue
            places, scores = known
            table.add(cells[places], scores)
            if self.folder:
                self.folder.write_scores([(cells[places], scores)])
            found += len(places)
        return found

    def _fill_from_model(self, table: PreferenceTable, record: RunRecord) -> None:
        before, counted = record.usage, self._counted
        #: prompts of the blocks that are not stored yet, by their first cell
        asked: dict[int, list[Prompt]] = {}

        def blocks() -> Iterator[CellBlock]:
            for block in _blocks(table):
                asked[int(block.cells[0])] = block.prompts
                yield block

        def scored() -> Iterator[Scored]:
            for answer in self.executor.score(blocks()):
                found = ModelRecord(**answer.info.to_dict())
                record.model.check_same(found)
                record.model = found
                scores = rounded(answer.scores)
                table.add(answer.cells, scores)
                yield answer.cells, scores

        def store(some: list[Scored]) -> None:
            if self.folder:
                self.folder.write_scores(some)
            for cells, scores in some:
                prompts = asked.pop(int(cells[0]))
                self.cache.put(model_info(record), prompts, scores, table.counts)

        # Beside a GPU another thread stores; a CPU's cores are busy as they are.
        gpu = record.model.device.startswith("cuda")
        try:
            with one_behind(store) if gpu else nullcontext(store) as put:
                store_as_they_come(
                    () if table.complete() else scored(),  # open no model if nothing is missing
                    put,
                    done=table.done(),
                    total=len(table.grid),
                    progress=self._progress,
                    size=lambda cells_scores: len(cells_scores[0]),
                    every_s=FLUSH_S,
                )
        finally:  # record usage even after a failure: it was paid for
            self._counted = self.executor.usage()
            new = {k: n - counted.get(k, 0) for k, n in self._counted.items()}
            if new:
                record.usage = added(before, new)
                self._write(record)

    def _write(self, record: RunRecord) -> None:
        if self.folder:
            self.folder.write_record(record, status="running")


def _blocks(table: PreferenceTable) -> Iterator[CellBlock]:
    """The missing cells of each chunk."""
    for chunk in table.grid.chunks():
        cells = table.missing(chunk)
        if len(cells):
            yield CellBlock(cells, table.grid.prompts(cells), table.counts)
