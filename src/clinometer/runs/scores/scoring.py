"""Fill the table of a run: from the cache of the machine, then from the model.

`Scoring` asks a `ScoreCache` for what this machine has scored before, and the `AuditedModel` for
the rest; each batch of scores goes to the run's table, its folder and the cache.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from clinometer.errors import ModelError
from clinometer.models import (
    LoadOptions,
    ModelInfo,
    ModelSpec,
    Scorer,
    WordOptions,
    WordReport,
    WordScores,
    open_model,
    revision_of,
)
from clinometer.models.background import prefetch, write_behind
from clinometer.models.catalog.spec import APPLICATION
from clinometer.models.options import KINDS
from clinometer.models.replies import ReadoutQuery, ReplyScorer, open_reader
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import CacheRecord, RunRecord, added, versions
from clinometer.runs.scores.accumulate import PreferenceTable
from clinometer.storage.cache import Cache
from clinometer.storage.resumable import (
    FLUSH_S,
    ModelRecord,
    Progress,
    ReplyLog,
    store_as_they_come,
)
from clinometer.topics import Prompt

#: Cells that are looked up in the cache at a time.
_SLAB = 16_384


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
        self.model, self.cache, self.folder = cache.model, cache, folder
        self._progress = progress
        #: what keeps replies until the scores hold them; `last`: no other scoring follows
        self._log = folder.replies if folder and last else None
        #: server usage up to the end of the last filling
        self._counted: dict[str, int] = {}

    def beside(self, folder: RunFolder | None) -> Scoring:
        """The scoring of more prompts by the same model, after this one, into another folder."""
        stage = getattr(self._progress, "stage", None)  # of a command, which shows what it asks
        progress = self._progress if stage is None else partial(stage, "irrelevant edits", "cells")
        other = Scoring(self.cache, folder, progress)
        other._log = self.folder.replies if self.folder else None
        other._counted = self.model.usage()
        return other

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
            n_cached = self._fill_from_cache(table, record, first=seen.looked_up)
            record.cache = CacheRecord(looked_up=len(table.grid), found=seen.found + n_cached)
            self._write(record)
        self._fill_from_model(table, record)
        if self._log and table.complete():
            self._log.unlink(missing_ok=True)
        if not table.complete():  # never measure what was not scored
            raise ModelError(
                f"expected scores of all {len(table.grid)} cells, found {table.done()}; rerun the "
                "same command to resume"
            )

    def _fill_from_cache(self, table: PreferenceTable, record: RunRecord, *, first: int) -> int:
        n_cached = 0
        if not self.cache.holds(record.model, table.counts):
            return n_cached
        for start in range(first, len(table.grid), _SLAB):
            cells = table.missing(range(start, min(start + _SLAB, len(table.grid))))
            cached = self.cache.get(record.model, table.grid.prompts(cells), table.counts)
            if cached is None:
                continue
            places, scores = cached
            table.add(cells[places], scores)
            if self.folder:
                self.folder.write_scores([(cells[places], scores)])
            n_cached += len(places)
        return n_cached

    def _fill_from_model(self, table: PreferenceTable, record: RunRecord) -> None:
        before, counted = record.usage, self._counted

        def scored() -> Iterator[tuple[CellBlock, WordScores]]:
            shuffle = record.model.device == APPLICATION
            for block, scores in self.model.score(_blocks(table, shuffle=shuffle)):
                model = ModelRecord(**self.model.scorer.info.to_dict())
                record.model.check_same(model)
                record.model = model
                table.add(block.cells, scores)
                yield block, scores

        def store(batch: list[tuple[CellBlock, WordScores]]) -> None:
            count_usage()
            if self.folder:
                self.folder.write_scores([(block.cells, scores) for block, scores in batch])
            prompts = [prompt for block, _ in batch for prompt in block.prompts]
            scores = WordScores.joined([scores for _, scores in batch])
            self.cache.put(record.model, prompts, scores, table.counts)

        def count_usage() -> None:
            """Record what was used before what it gave: it was paid for, and a kill may come."""
            self._counted = self.model.usage()
            new = {k: n - counted.get(k, 0) for k, n in self._counted.items()}
            if new and (now := added(before, new)) != record.usage:
                record.usage = now
                if record.cost is not None:
                    record.cost = record.cost.after(now)
                self._write(record)

        sampled = self.model.load.sampled
        moving = Moving(self._progress, table.done(), sampled.replies if sampled else 1)
        self.model.heard = moving.heard
        # Beside a GPU another thread stores; a CPU's cores are busy as they are.
        gpu = record.model.device.startswith("cuda")
        try:
            with write_behind(store) if gpu else nullcontext(store) as put:
                store_as_they_come(
                    () if table.complete() else scored(),  # open no model if nothing is missing
                    put,
                    done=table.done(),
                    total=len(table.grid),
                    progress=moving,
                    size=lambda block_scores: len(block_scores[0].cells),
                    every_s=FLUSH_S,
                )
        finally:  # also after a failure
            count_usage()

    def _write(self, record: RunRecord) -> None:
        if self.folder:
            self.folder.write_record(record, status="running")


class Moving:
    """Progress that moves between blocks: replies that have come count as parts of cells."""

    def __init__(self, progress: Progress | None, done: int, replies: int) -> None:
        self._progress, self._begun, self._replies = progress, done, max(replies, 1)
        self._heard, self._shown, self._total = 0, done, 0

    def __call__(self, done: int, total: int) -> None:
        self._shown, self._total = max(done, min(self._shown, total)), total
        if self._progress:
            self._progress(self._shown, total)

    def heard(self) -> None:
        self._heard += 1
        come = self._begun + self._heard // self._replies
        if self._shown < come < self._total:
            self(come, self._total)


def _blocks(table: PreferenceTable, *, shuffle: bool) -> Iterator[CellBlock]:
    """The missing cells of each chunk; of an application those of all chunks in random order, so
    that what it remembers from one call to the next meets every group alike."""
    chunks: Iterable[NDArray[np.int64]] = (table.missing(chunk) for chunk in table.grid.chunks())
    if shuffle:
        mixed = np.random.default_rng(0).permutation(table.missing(range(len(table.grid))))
        size = table.grid.chunk_size
        chunks = (mixed[start : start + size] for start in range(0, len(mixed), size))
    for cells in chunks:
        if len(cells):
            yield CellBlock(cells, table.grid.prompts(cells), table.counts)


# --- The model ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Cell indices with their prompts, and how much each word counts for each category [V, Y]."""

    cells: NDArray[np.int64]
    prompts: list[Prompt]
    counts: NDArray[np.float64] | None = None


@dataclass(eq=False)
class AuditedModel:
    """The model of an audit, opened when it is first needed.

    options  what counts as the probability of a word
    readout  how replies are read; None for a topic of words
    replies  the file that keeps them as they arrive
    heard    is called for each of them
    """

    spec: ModelSpec
    load: LoadOptions
    options: WordOptions
    words: tuple[str, ...]
    readout: ReadoutQuery | None = None
    replies: Path | None = None
    heard: Callable[[], None] = lambda: None
    _scorer: Scorer | None = field(default=None, init=False)

    @property
    def scorer(self) -> Scorer:
        if self._scorer is None:
            self._scorer = self.open()
        return self._scorer

    def open(self) -> Scorer:
        readout, options, load = self.readout, self.options, self.load
        if readout is not None and readout.table.normalisation == "per-token":
            options = replace(options, tolerance=0.0)  # no bound survives the root
        if readout is not None and not readout.table.exact and load.sampled is not None:
            load = replace(load, sampled=replace(load.sampled, automatic=False))
        scorer = open_model(self.spec, load=load, words=options)
        if self.replies is not None:
            paid = load.begun.get("usage", {})

            def hear() -> None:  # what is called is set after the model is opened
                self.heard()

            scorer.keep(ReplyLog(self.replies, lambda: added(paid, scorer.usage()), hear))
        if readout is None:
            return scorer
        reader = None
        if self.load.sampled:
            reader = open_reader(readout.table, readout.attributes, self.load.allowed)
        return ReplyScorer(scorer, readout, chat=self.load.chat, reader=reader)

    def score(self, blocks: Iterable[CellBlock]) -> Iterator[tuple[CellBlock, WordScores]]:
        """Every block with its scores."""
        scorer = self.scorer

        def work(block: CellBlock) -> tuple[CellBlock, WordScores]:
            return block, scorer.score(block.prompts, self.words, block.counts)

        if scorer.blocks_at_once > 1:
            yield from prefetch(work, blocks, by=scorer.blocks_at_once, stop=scorer.halt)
        else:
            yield from map(work, blocks)

    def usage(self) -> dict[str, int]:
        """Server usage so far; empty for local models."""
        return {} if self._scorer is None else self._scorer.usage()

    def close(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
        self._scorer = None


# --- The cache: cells that this machine has scored before, by model, words and prompt -------------


#: Increment when the same model, words and prompt are scored differently.
SCORING = 1

_DESCRIPTION = TypeAdapter(tuple[ModelInfo, WordReport])


class ScoreCache:
    """The cache of the machine, as one audit sees it.

    Only models whose weights are pinned are cached: folders, GGUF files, hub commits. A row is
    stored as computed. Log-probabilities change in the fifth digit with the rest of their batch, so
    a run with cached and fresh cells equals an uncached run up to rounding.
    """

    def __init__(self, model: AuditedModel, scoring: dict[str, Any], *, use: bool = True) -> None:
        self.model = model
        self.scoring = scoring
        self.cache = Cache(limit=None if use else 0)
        self._revision: str | None = None

    def _pinned(self) -> str | None:
        if self._revision is None and self.cache.on:
            self._revision = revision_of(self.model.spec, self.model.load)
        return self._revision

    # --- the description of the model -------------------------------------------------------------

    def describe(self, *, space: bool) -> tuple[ModelInfo, WordReport]:
        """What the model is, and how it tokenises the words: from the last time that it was opened
        here with these settings, or from opening it."""
        about = self._about(space=space)
        note = None if about is None else self.cache.note(about)
        if note is not None:
            found: tuple[ModelInfo, WordReport] = _DESCRIPTION.validate_python(note)
            return found
        scorer = self.model.scorer
        info, report = scorer.info, scorer.word_report(self.model.words, space=space)
        if about is not None and self._scope(ModelRecord(**info.to_dict())) is not None:
            self.cache.keep_note(about, [asdict(info), asdict(report)])
        return info, report

    def _about(self, *, space: bool) -> dict[str, Any] | None:
        """Everything the description may depend on; "auto" settings depend on the machine."""
        pinned = self._pinned()
        if pinned is None:
            return None
        return {
            "model": self.model.spec.name,
            "revision": pinned,
            "load": asdict(self.model.load),
            "scoring": self.scoring,
            "words": self.model.words,
            **self._readout(),
            "space": space,
            "versions": versions(),
            "machine": [platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES")],
        }

    # --- cells ------------------------------------------------------------------------------------

    def holds(self, model: ModelRecord, counts: NDArray[np.float64]) -> bool:
        """Whether any prompt of this model and these words is cached."""
        scope = self._scope(model)
        return scope is not None and self.cache.holds(self._counted(scope, counts))

    def get(
        self, model: ModelRecord, prompts: Sequence[Prompt], counts: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], WordScores] | None:
        """The positions of cached prompts, and their scores; `counts` [V, Y] is how much each word
        counts for each category."""
        scope = self._scope(model)
        if scope is None:
            return None
        items, width = [_item(p) for p in prompts], len(self.model.words) + 2
        places, values = self.cache.get(self._counted(scope, counts), items, width)
        if not places.size:
            return None
        rows = values.astype(np.float64)
        return places, WordScores(rows[:, :-2], rows[:, -2], rows[:, -1])

    def put(
        self,
        model: ModelRecord,
        prompts: Sequence[Prompt],
        scores: WordScores,
        counts: NDArray[np.float64],
    ) -> None:
        scope = self._scope(model)
        if scope is None or scores.log_upper is not None or scores.draws is not None:
            return  # bounds and samples are not reproducible
        rows = np.column_stack([scores.log_probs, scores.log_coverage, scores.skipped])
        self.cache.put(self._counted(scope, counts), [_item(p) for p in prompts], rows)

    def _counted(self, scope: dict[str, Any], counts: NDArray[np.float64]) -> dict[str, Any]:
        """With the categories, if these decide which words are expanded."""
        plain = self.scoring["words.tolerance"] == 0 or self.scoring["words.single_token"]
        if plain or self.model.readout is not None:
            return scope
        digest = hashlib.sha256(repr(counts.tolist()).encode()).hexdigest()
        return {**scope, "counts": digest}

    def _scope(self, model: ModelRecord) -> dict[str, Any] | None:
        """Everything but the prompt that a score depends on; None for a model that is not pinned,
        or differs from the one described."""
        pinned = self._pinned()
        if pinned is None or pinned != model.revision or model.kind not in KINDS:
            return None
        resolved = {"load.kind", "load.dtype", "load.revision"}
        return {
            "scoring": SCORING,
            "model": model.id,
            "kind": model.kind,
            "dtype": model.dtype,
            "revision": pinned,
            "options": {k: v for k, v in self.scoring.items() if k not in resolved},
            "words": self.model.words,
            **self._readout(),
        }

    def _readout(self) -> dict[str, Any]:
        """The readout, whose labels and normalisation change a score."""
        readout = self.model.readout
        return {} if readout is None else {"readout": readout.table.model_dump()}


def _item(prompt: Prompt) -> str:
    """As `json.dumps` writes [before, after, space], in a fifth of its time.

    >>> _item(Prompt('"I" said', " .", space=True))
    '["\\\\"I\\\\" said", " .", true]'
    """
    before, after = _quoted(prompt.before), _quoted(prompt.after)
    return f"[{before}, {after}, {'true' if prompt.space else 'false'}]"
