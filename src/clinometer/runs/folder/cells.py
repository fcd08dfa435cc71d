"""Single cells of a run: what was asked, and how probable each word was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.partial import UNREADABLE_PART
from clinometer.runs.folder.record import find_topic
from clinometer.runs.folder.score_table import Scored, scores_of
from clinometer.runs.run import Run
from clinometer.topics.prompt import Prompt, english_article, render


@dataclass(frozen=True)
class CellWord:
    """One word in one cell."""

    word: str

    categories: tuple[str, ...]
    """The categories that it counts for."""

    probability: float
    """0 for a word whose expansion was skipped, or that cannot be scored."""

    tokens: tuple[str, ...]


def cell_prompt(run: Run, group: str, template: str) -> tuple[Prompt, bool]:
    """Return the text around the slot, and whether it is known to be exactly what was scored.

    It is known for a built-in topic. For a topic file the run contains only the names of the
    groups, and the name takes the position of the group's text.
    """
    topic = find_topic(run.record)
    if topic is not None and group in topic.group_names:
        return topic.render(template, group), True
    article = None
    if run.record.topic.language.lower().startswith("en"):
        article = english_article(group)
    return render(template, group, article=article), False


def cell_words(run: Run, group: int, context: int) -> list[CellWord]:
    """Return the words of one cell, the likeliest first; [] where they are not stored."""
    words = run.record.words
    if run.path is None or words is None:
        return []
    cell = group * len(run.preferences.contexts) + context
    log_probs = _log_probs(RunFolder(run.path), cell, n_words=len(words.words))
    if log_probs is None:
        return []
    attributes = run.record.topic.attributes
    cell_words = []
    for word, log_prob in zip(words.words, log_probs, strict=True):
        categories = [name for name, members in attributes.items() if word in members]
        probability = math.exp(log_prob) if log_prob > -math.inf else 0.0
        tokens = tuple(words.tokens.get(word, ()))
        cell_words.append(CellWord(word, tuple(categories), probability, tokens))
    return sorted(cell_words, key=lambda word: -word.probability)


def _log_probs(folder: RunFolder, cell: int, *, n_words: int) -> list[float] | None:
    """Return the log-probabilities of a cell's words; None if no part has the cell."""
    for file in folder.parts.files():
        try:
            scored = _row_of(file, cell, n_words=n_words)
        except UNREADABLE_PART:
            continue
        if scored is not None:
            _, scores = scored
            return [float(value) for value in scores.log_probs[0]]
    return None


def _row_of(file: Path, cell: int, *, n_words: int) -> Scored | None:
    parquet = pq.ParquetFile(file)
    cells = parquet.read(columns=["cell"])["cell"].to_numpy()
    rows = np.flatnonzero(cells == cell)
    if not rows.size:
        return None
    return scores_of(parquet.read().take(rows[:1]), words=n_words)
