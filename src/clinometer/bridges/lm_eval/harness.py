"""Inside lm_eval: the documents of an exported task, and R from their log-likelihoods.

The harness prints R, R_bias and R_volatility as it prints any metric, without intervals; the
import of its samples adds those.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.bridges.lm_eval.task_folder import TaskFolder
from clinometer.bridges.lm_eval.words import HarnessWords
from clinometer.measure import decompose, membership, preference
from clinometer.statistics.arrays import FloatArray

#: (cell, its preferences), as the harness keeps them for a metric.
CellValue = tuple[int, list[float]]


class HarnessTask:
    """The functions of a task's utils.py."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def _folder(self) -> TaskFolder:
        return TaskFolder.read(self._path)

    @cached_property
    def _counts(self) -> FloatArray:
        topic = self._folder.topic
        return membership(topic.words, topic.attributes, shared=topic.shared)

    @cached_property
    def _words(self) -> HarnessWords:
        return HarnessWords(self._folder.topic.words)

    def dataset(self) -> Any:
        """The documents, as the harness takes a dataset."""
        import datasets

        return {"test": datasets.Dataset.from_list(list(self._folder.documents()))}

    def process_results(
        self, doc: dict[str, Any], results: Sequence[tuple[float, bool]]
    ) -> dict[str, CellValue]:
        """A cell's preferences, for each of the metrics."""
        log_probs = np.array([[log_prob for log_prob, _ in results]])
        prompt = self._folder.grid.prompts(range(doc["cell"], doc["cell"] + 1))[0]
        scores = self._words.scores(log_probs, [prompt])
        found = preference(scores.log_probs, self._counts).p[0]
        value = (int(doc["cell"]), found.tolist())
        return {"R": value, "R_bias": value, "R_volatility": value}

    def risk(self, name: str, items: Sequence[CellValue]) -> float:
        """R, R_bias or R_volatility of the cells that were asked (all, but with --limit)."""
        topic, contexts = self._folder.topic, self._folder.contexts
        p = np.full((len(topic), len(contexts), len(topic.categories)), np.nan)
        cells = np.array([cell for cell, _ in items], dtype=np.int64)
        p[self._folder.grid.places(cells)] = [values for _, values in items]
        report = decompose(
            p,
            context_weights=contexts.weights,
            group_weights=topic.group_weights,
            reference=topic.reference if isinstance(topic.reference, tuple) else None,
            mask=~np.isnan(p).any(axis=2),
            categories=topic.categories,
        )
        return float(report.summary[name].value)
