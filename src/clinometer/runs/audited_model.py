"""The model that an audit asks, opened when it is first needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clinometer.models import (
    LoadOptions,
    ModelSpec,
    Scorer,
    WordOptions,
    WordScores,
    open_model,
)
from clinometer.models.background import prefetch
from clinometer.models.replies import (
    JudgeReader,
    ReadoutQuery,
    ReplyScorer,
    open_reader,
)
from clinometer.runs.folder.record import added
from clinometer.storage.reply_log import ReplyLog
from clinometer.topics import Prompt


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Cells that are scored together."""

    cells: NDArray[np.int64]
    """The numbers of the cells."""

    prompts: list[Prompt]
    """The prompt of each cell."""

    counts: NDArray[np.float64] | None = None
    """How much each word counts for each category [V, Y]."""


@dataclass(eq=False)
class AuditedModel:
    """The model of an audit, opened when it is first needed."""

    spec: ModelSpec
    load: LoadOptions

    options: WordOptions
    """What counts as the probability of a word."""

    words: tuple[str, ...]

    readout: ReadoutQuery
    """How replies are read, or words scored."""

    reply_file: Path | None = None
    """The file that keeps replies as they arrive."""

    on_reply: Callable[[], None] = lambda: None
    """Called for each reply; it may be set after the model is opened."""

    _scorer: Scorer | None = field(default=None, init=False)

    @property
    def scorer(self) -> Scorer:
        if self._scorer is None:
            self._scorer = self.open()
        return self._scorer

    def open(self) -> Scorer:
        """Open the model, with its reply log and, for a topic of questions, its reader."""
        scorer = open_model(
            self.spec, load=self._load_options(), words=self._word_options()
        )
        if self.readout.table.asks:
            scorer = self._with_reader(scorer, self.readout)
        if self.reply_file is not None:
            scorer.keep(self._reply_log(self.reply_file, scorer))
        return scorer

    def _with_reader(self, scorer: Scorer, readout: ReadoutQuery) -> ReplyScorer:
        """Return a scorer of answers to questions, with its reader if replies are sampled."""
        reader = None
        if self.load.sampled:
            reader = open_reader(
                readout.table, readout.attributes, self.load.allowed, self.load
            )
        replies = ReplyScorer(scorer, readout, chat=self.load.chat, reader=reader)
        if self.reply_file is not None and isinstance(reader, JudgeReader):
            # In the same file, but nothing that counts as progress.
            replies.keep_judged(ReplyLog(self.reply_file, self._total_usage(replies)))
        return replies

    def _total_usage(self, scorer: Scorer) -> Callable[[], dict[str, int]]:
        """Return what tells what the run has used, earlier attempts included."""
        used_before = self.load.begun.get("usage", {})
        return lambda: added(used_before, scorer.usage())

    def _word_options(self) -> WordOptions:
        """Return the options of words; no bound survives the root of a mean per token."""
        if self.readout.table.normalisation != "per-token":
            return self.options
        return replace(self.options, tolerance=0.0)

    def _load_options(self) -> LoadOptions:
        """Return the options of the model; a readout of whole replies needs them sampled."""
        load = self.load
        if self.readout.table.exact or load.sampled is None:
            return load
        return replace(load, sampled=replace(load.sampled, automatic=False))

    def _reply_log(self, file: Path, scorer: Scorer) -> ReplyLog:
        """Return a log of replies that notes with each what the run has used so far."""

        def on_reply() -> None:
            self.on_reply()  # looked up now: it is set after the model is opened

        return ReplyLog(file, self._total_usage(scorer), on_reply)

    def score(
        self, blocks: Iterable[CellBlock]
    ) -> Iterator[tuple[CellBlock, WordScores]]:
        """Yield every block with its scores."""
        scorer = self.scorer

        def score_block(block: CellBlock) -> tuple[CellBlock, WordScores]:
            return block, scorer.score(block.prompts, self.words, block.counts)

        if scorer.blocks_at_once > 1:
            yield from prefetch(
                score_block, blocks, by=scorer.blocks_at_once, stop=scorer.halt
            )
        else:
            yield from map(score_block, blocks)

    def usage(self) -> dict[str, int]:
        """Return what a server has used so far; empty for local models."""
        return {} if self._scorer is None else self._scorer.usage()

    def close(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
        self._scorer = None
