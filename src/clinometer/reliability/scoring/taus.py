"""tau (Eq. 2) of every text under every model: score what is missing, store every score."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.models import Scorer, open_model
from clinometer.models.texts.types import TextScores
from clinometer.reliability.scoring.folder import ReliabilityFolder, Scored
from clinometer.reliability.scoring.record_schema import ReliabilityRecord
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.scoring.texts_to_score import TextsToScore
from clinometer.storage.record import ModelRecord
from clinometer.storage.resumable import FLUSH_S, Progress, store_as_they_come

#: Texts pooled at a time, by device.
_POOL = {"cpu": 256, "cuda": 10_240}

NOT_ASKED = "not_asked"

#: The fields of TextScores, as they are filled.
Columns = dict[str, Any]


@dataclass
class ModelTaus:
    """Scores of one model: a TextScores with a row for every text of the run."""

    name: str
    model: ModelRecord
    scores: TextScores

    def taus(self, asked: TextsToScore, *, per_word: bool) -> NDArray[np.float64]:
        """tau of every text [T]; NaN where there is no score, or no word to divide by."""
        words = np.array([t.words for t in asked.texts], dtype=np.float64)
        per = words if per_word else self.scores.tokens.astype(np.float64)
        return np.asarray(np.abs(self.scores.log_prob) / np.where(per > 0, per, np.nan))

    def counts(self) -> dict[str, int]:
        """Texts without a score by reason, and tokens unknown to the model."""
        reasons = [p for p in self.scores.problem if p and p != NOT_ASKED]
        found = {f"texts_{p}": reasons.count(p) for p in sorted(set(reasons))}
        return {
            "texts_too_long": 0,
            "texts_nothing_to_score": 0,
            **found,
            "texts_with_unknown_tokens": int((self.scores.unknown > 0).sum()),
        }


def fingerprint(asked: TextsToScore) -> str:
    """What a run's scores depend on besides model and options: its texts in order."""
    texts = [[t.marked.text, t.marked.targets, t.left_out] for t in asked.texts]
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def model_taus(
    model: str,
    asked: TextsToScore,
    settings: ReliabilitySettings,
    record: ReliabilityRecord,
    *,
    folder: ReliabilityFolder | None,
    progress: Progress | None,
) -> ModelTaus:
    """Scores of one model, from the folder where available.

    A model that has to be opened is added to `record`, which is stored before scoring starts.
    """
    found = _blank(len(asked.texts))
    if folder:
        for rows, scores in folder.read_scores(model):
            _put(found, rows, scores)
    missing = np.array(
        [i for i, t in enumerate(asked.texts) if t.is_asked and found["problem"][i] == NOT_ASKED],
        dtype=np.int64,
    )
    known = record.model(model)
    if len(missing) or known is None:
        scorer = open_model(model, load=settings.load.resumed(known.dtype if known else "auto"))
        opened = ModelRecord(**scorer.info.to_dict())
        if known is not None:
            known.check_same(opened)
        record.keep_model(opened)
        if folder:
            folder.write_record(record, status="running")
        _score(scorer, asked, missing, settings, found, folder=folder, progress=progress)
        known = opened
    scores = TextScores(**{**found, "problem": tuple(found["problem"])})
    return ModelTaus(model, known, scores)


def _score(
    scorer: Scorer,
    asked: TextsToScore,
    missing: NDArray[np.int64],
    settings: ReliabilitySettings,
    found: Columns,
    *,
    folder: ReliabilityFolder | None,
    progress: Progress | None,
) -> None:
    from clinometer.models.texts.likelihood import score_chunks

    size = _POOL.get(scorer.info.device.split(":")[0], _POOL["cpu"])
    pools = np.split(missing, range(size, len(missing), size))
    texts = ([asked.texts[i].marked for i in pool] for pool in pools)
    total = sum(t.is_asked for t in asked.texts)

    def store(scored: list[Scored]) -> None:
        if folder:
            folder.write_scores(scorer.info.name, scored)

    def scored() -> Iterator[Scored]:
        for rows, scores in zip(
            pools, score_chunks(scorer, texts, settings.text_options), strict=True
        ):
            _put(found, rows, scores)
            yield rows, scores

    store_as_they_come(
        scored(),
        store,
        done=total - len(missing),
        total=total,
        progress=progress,
        size=lambda rows_scores: len(rows_scores[0]),
        every_s=FLUSH_S,
    )


def _blank(n: int) -> Columns:
    return {
        "log_prob": np.full(n, np.nan),
        "tokens": np.zeros(n, dtype=np.int64),
        "unknown": np.zeros(n, dtype=np.int64),
        "problem": np.full(n, NOT_ASKED, dtype=object),
    }


def _put(found: Columns, rows: NDArray[np.int64], scores: TextScores) -> None:
    for name, column in found.items():
        column[rows] = getattr(scores, name)
