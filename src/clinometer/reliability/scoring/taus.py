"""tau (Eq. 2) of every text under every model: ask what is missing, keep what was answered."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import RunError
from clinometer.models import ModelInfo, Scorer, open_model
from clinometer.models.texts.types import TextScores
from clinometer.reliability.scoring.folder import ReliabilityFolder
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.scoring.texts_to_score import TextsToScore
from clinometer.storage.record import ModelRecord

#: Called with (texts done, texts in all) as a run goes on.
Progress = Callable[[int, int], None]

#: Seconds of work that a killed run may lose, and texts that are pooled at a time.
_FLUSH_SECONDS = 10.0
_POOL = {"cpu": 256, "cuda": 10_240}

NOT_ASKED = "not_asked"


@dataclass
class ModelTaus:
    """Answers of one model: a TextScores with a row for every text of the run."""

    name: str
    model: ModelRecord
    scores: TextScores

    def taus(self, asked: TextsToScore, *, per_word: bool) -> NDArray[np.float64]:
        """tau of every text [T]; NaN where there is no score, or no word to divide by."""
        words = np.array([t.words for t in asked.texts], dtype=np.float64)
        per = words if per_word else self.scores.tokens.astype(np.float64)
        return np.asarray(np.abs(self.scores.log_prob) / np.where(per > 0, per, np.nan))

    def counts(self) -> dict[str, int]:
        """Texts without a score by reason, and tokens that the model cannot write."""
        reasons = [p for p in self.scores.problem if p and p != NOT_ASKED]
        found = {f"texts_{p}": reasons.count(p) for p in sorted(set(reasons))}
        return {
            "texts_too_long": 0,
            "texts_nothing_to_score": 0,
            **found,
            "texts_with_unknown_tokens": int((self.scores.unknown > 0).sum()),
        }


def fingerprint(asked: TextsToScore) -> str:
    """What a run's scores depend on beside model and options: its texts in their order."""
    texts = [[t.marked.text, t.marked.targets, t.left_out] for t in asked.texts]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def model_taus(
    model: str,
    asked: TextsToScore,
    settings: ReliabilitySettings,
    *,
    folder: ReliabilityFolder | None,
    known: ModelRecord | None,
    begin: Callable[[ModelInfo], None],
    progress: Progress | None,
) -> ModelTaus:
    """Answers of one model, from the folder where they are there.

    `known` is what an earlier attempt wrote down of the model; `begin` is told of a model that has
    been opened, before it is asked.
    """
    found = _blank(len(asked.texts))
    if folder:
        for rows, scores in folder.read_scores(model):
            _put(found, rows, scores)
    missing = np.array(
        [i for i, t in enumerate(asked.texts) if t.is_asked and found.problem[i] == NOT_ASKED],
        dtype=np.int64,
    )
    if len(missing) or known is None:
        scorer = open_model(model, load=settings.load)
        if known is not None and known.revision != scorer.info.revision:
            raise RunError(
                f"the run was begun with revision {known.revision} of {model}, found "
                f"{scorer.info.revision} now: --fresh starts over"
            )
        begin(scorer.info)
        known = ModelRecord(**scorer.info.to_dict())
        _score(scorer, asked, missing, settings, found, folder=folder, progress=progress)
    return ModelTaus(model, known, found.frozen())


def _score(
    scorer: Scorer,
    asked: TextsToScore,
    missing: NDArray[np.int64],
    settings: ReliabilitySettings,
    found: _Growing,
    *,
    folder: ReliabilityFolder | None,
    progress: Progress | None,
) -> None:
    from clinometer.models.texts.likelihood import score_chunks

    size = _POOL.get(scorer.info.device.split(":")[0], _POOL["cpu"])
    pools = np.split(missing, range(size, len(missing), size))
    texts = ([asked.texts[i].marked for i in pool] for pool in pools)
    waiting: list[tuple[NDArray[np.int64], TextScores]] = []
    written, done = time.monotonic(), 0
    total = sum(t.is_asked for t in asked.texts)
    already = total - len(missing)
    if progress:  # the model is open: what follows is scoring
        progress(already, total)
    try:
        for pool, scores in zip(
            pools, score_chunks(scorer, texts, settings.text_options), strict=True
        ):
            _put(found, pool, scores)
            waiting.append((pool, scores))
            done += len(pool)
            if folder and time.monotonic() - written > _FLUSH_SECONDS:
                _flush(folder, scorer.info.name, waiting)
                written = time.monotonic()
            if progress:
                progress(already + done, total)
    finally:
        if folder:  # an interrupted run keeps what it has
            _flush(folder, scorer.info.name, waiting)


def _flush(
    folder: ReliabilityFolder, model: str, waiting: list[tuple[NDArray[np.int64], TextScores]]
) -> None:
    if waiting:
        rows = np.concatenate([pool for pool, _ in waiting])
        folder.write_scores(model, rows, _joined([scores for _, scores in waiting]))
        waiting.clear()


@dataclass
class _Growing:
    """Scores that arrive in pieces."""

    log_prob: NDArray[np.float64]
    tokens: NDArray[np.int64]
    unknown: NDArray[np.int64]
    problem: list[str]

    def frozen(self) -> TextScores:
        return TextScores(self.log_prob, self.tokens, self.unknown, tuple(self.problem))


def _blank(n: int) -> _Growing:
    zeros = np.zeros(n, dtype=np.int64)
    return _Growing(np.full(n, np.nan), zeros, zeros.copy(), [NOT_ASKED] * n)


def _put(found: _Growing, rows: NDArray[np.int64], scores: TextScores) -> None:
    found.log_prob[rows] = scores.log_prob
    found.tokens[rows] = scores.tokens
    found.unknown[rows] = scores.unknown
    for row, problem in zip(rows.tolist(), scores.problem, strict=True):
        found.problem[row] = problem


def _joined(parts: Sequence[TextScores]) -> TextScores:
    return TextScores(
        np.concatenate([p.log_prob for p in parts]),
        np.concatenate([p.tokens for p in parts]),
        np.concatenate([p.unknown for p in parts]),
        tuple(problem for p in parts for problem in p.problem),
    )
