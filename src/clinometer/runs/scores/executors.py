"""Where the model runs: in this process, or in the workers of a Ray cluster.

Both open the model on first use and answer the same blocks with the same numbers; only the run
writes results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import SettingsError
from clinometer.execution.ahead import ahead
from clinometer.execution.ray_pool import Need, Pool
from clinometer.models import (
    LoadOptions,
    ModelInfo,
    ModelSpec,
    Scorer,
    WordOptions,
    WordReport,
    WordScores,
    open_model,
)
from clinometer.models.generation.readers import open_reader
from clinometer.models.generation.replies import ReadoutQuery, ReplyScorer
from clinometer.topics import Prompt

ExecutorName = Literal["local", "ray"]
EXECUTORS: tuple[ExecutorName, ...] = ("local", "ray")


@dataclass(frozen=True)
class ModelQuery:
    """The model to score, how to open it, the words, and how replies are read."""

    spec: ModelSpec
    load: LoadOptions
    options: WordOptions
    words: tuple[str, ...]
    readout: ReadoutQuery | None = None

    def open(self) -> Scorer:
        asked, options = self.readout, self.options
        if asked is not None and asked.table.normalisation == "per-token":
            options = replace(options, tolerance=0.0)  # no bound survives the root
        scorer = open_model(self.spec, load=self.load, words=options)
        if asked is None:
            return scorer
        reader = open_reader(asked.table, asked.attributes) if self.load.sampled else None
        return ReplyScorer(scorer, asked, chat=self.load.chat, reader=reader)


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Cell indices with their prompts, and how much each word counts for each category [V, Y]."""

    cells: NDArray[np.int64]
    prompts: list[Prompt]
    counts: NDArray[np.float64] | None = None


@dataclass(frozen=True, eq=False)
class BlockScores:
    """Scores of a block, and the model that produced them."""

    cells: NDArray[np.int64]
    scores: WordScores
    info: ModelInfo


class Executor(Protocol):
    """Scores blocks with a model."""

    def describe(self, *, space: bool) -> tuple[ModelInfo, WordReport]:
        """The model's description, and how it tokenises the words."""

    def score(self, blocks: Iterable[CellBlock]) -> Iterator[BlockScores]:
        """Answer every block once, in any order."""

    def usage(self) -> dict[str, int]:
        """Server usage so far; empty for local models."""

    def close(self) -> None: ...


def make_executor(name: str, question: ModelQuery, need: Need | None = None) -> Executor:
    """An executor by name; nothing is opened yet."""
    if name == "local":
        return LocalExecutor(question)
    if name == "ray":
        return RayExecutor(question, need)
    raise SettingsError(f"executor: expected one of {', '.join(EXECUTORS)}; found {name!r}")


class LocalExecutor:
    """The model in this process."""

    def __init__(self, question: ModelQuery) -> None:
        self.question = question
        self._scorer: Scorer | None = None

    def describe(self, *, space: bool) -> tuple[ModelInfo, WordReport]:
        scorer = self._opened()
        return scorer.info, scorer.word_report(self.question.words, space=space)

    def score(self, blocks: Iterable[CellBlock]) -> Iterator[BlockScores]:
        scorer = self._opened()

        def work(block: CellBlock) -> BlockScores:
            scores = scorer.score(block.prompts, self.question.words, block.counts)
            return BlockScores(block.cells, scores, scorer.info)

        # Two, so that one has its first batch ready when the other runs out of batches. A CPU's
        # cores are busy as they are.
        gpu = scorer.info.device.startswith("cuda")
        yield from ahead(work, blocks, by=2) if gpu else map(work, blocks)

    def usage(self) -> dict[str, int]:
        return {} if self._scorer is None else self._scorer.usage()

    def close(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
        self._scorer = None

    def _opened(self) -> Scorer:
        if self._scorer is None:
            self._scorer = self.question.open()
        return self._scorer


@dataclass(frozen=True)
class _Describe:
    """The model's description alone, before the first block."""

    space: bool


class RayExecutor:
    """The model in the workers of a cluster, one copy each."""

    def __init__(self, question: ModelQuery, need: Need | None = None) -> None:
        self.question = question
        self.need = need
        self._stack = ExitStack()
        self._pool: (
            Pool[CellBlock | _Describe, BlockScores | tuple[ModelInfo, WordReport]] | None
        ) = None

    def describe(self, *, space: bool) -> tuple[ModelInfo, WordReport]:
        for _, answer in self._opened().map([_Describe(space)]):
            if isinstance(answer, tuple):
                return answer
        raise AssertionError("a pool answers every block")

    def score(self, blocks: Iterable[CellBlock]) -> Iterator[BlockScores]:
        for _, answer in self._opened().map(blocks):
            if isinstance(answer, BlockScores):
                yield answer

    def usage(self) -> dict[str, int]:
        return {}  # each worker counts for itself, and its counts end with it

    def close(self) -> None:
        self._stack.close()
        self._pool = None

    def _opened(self) -> Pool[CellBlock | _Describe, BlockScores | tuple[ModelInfo, WordReport]]:
        if self._pool is None:
            self._pool = self._stack.enter_context(
                Pool(partial(_worker, self.question), need=self.need)
            )
        return self._pool


def _worker(
    question: ModelQuery,
) -> Callable[[CellBlock | _Describe], BlockScores | tuple[ModelInfo, WordReport]]:
    """What a worker does; it resolves the model's name itself, as files may be elsewhere there."""
    spec = ModelSpec.parse(question.spec.wrote or question.spec.name).asked_with(question.load)
    there = replace(question, spec=spec)
    local = LocalExecutor(there)
    local.describe(space=True)  # open the model now, so that a failure shows at once

    def work(block: CellBlock | _Describe) -> BlockScores | tuple[ModelInfo, WordReport]:
        if isinstance(block, _Describe):
            return local.describe(space=block.space)
        return next(local.score([block]))

    return work
