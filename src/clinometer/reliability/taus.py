"""One model's scores of the texts of a run: from its folder where they are there, from the model
otherwise, stored as they come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from clinometer.models import Scorer, open_model
from clinometer.models.whole_texts import TextScores
from clinometer.reliability.folder import ReliabilityFolder, Scored
from clinometer.reliability.record import ReliabilityRecord
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.texts import TextsToScore
from clinometer.statistics.arrays import FloatArray, IntArray
from clinometer.storage.record import ModelRecord
from clinometer.storage.resumable import (
    FLUSH_S,
    Progress,
    store_as_they_come,
)

POOL_SIZES = {"cpu": 256, "cuda": 10_240}
"""Texts pooled at a time, by device."""

NOT_SCORED = "not_scored"
"""The problem of a text that is not asked about."""

TextScore = tuple[float, int, int, str]
"""The log-probability of one text, its tokens, the unknown ones among them, and its problem."""

NO_SCORE: TextScore = (np.nan, 0, 0, NOT_SCORED)


@dataclass
class ModelTaus:
    """Scores of one model for every text of the run."""

    name: str
    model: ModelRecord
    scores: TextScores

    def taus(self, texts: TextsToScore, *, per: str) -> FloatArray:
        """Return tau of every text [T]; NaN where there is no score, or nothing to divide by."""
        tau = np.abs(self.scores.log_prob)
        if per == "text":
            return np.asarray(tau)
        units = texts.table["words"].to_numpy()
        if per == "token":
            units = self.scores.tokens
        return np.asarray(tau / np.where(units > 0, units, np.nan))

    def counts(self) -> dict[str, int]:
        """Return the texts without a score by reason, and those with tokens unknown to the
        model."""
        counts = {"texts_too_long": 0, "texts_nothing_to_score": 0}
        for reason, n in sorted(Counter(self.scores.problem).items()):
            if reason not in ("", NOT_SCORED):
                counts[f"texts_{reason}"] = n
        with_unknown = int((self.scores.unknown > 0).sum())
        return counts | {"texts_with_unknown_tokens": with_unknown}


def model_taus(
    model: str,
    texts: TextsToScore,
    settings: ReliabilitySettings,
    record: ReliabilityRecord,
    *,
    folder: ReliabilityFolder | None,
    progress: Progress | None,
) -> ModelTaus:
    """Return the scores of one model, from the folder where available.

    A model that has to be opened is added to `record`, which is stored before scoring starts.
    """
    keys = texts.keys
    scores_by_key: dict[str, TextScore] = {}
    if folder:
        for stored_keys, scores in folder.read_scores(model):
            scores_by_key.update(_by_key(stored_keys, scores))
    is_wanted = (texts.table["left_out"] == "").to_numpy()
    is_unknown = np.array([key not in scores_by_key for key in keys])
    missing = np.flatnonzero(is_wanted & is_unknown)
    model_record = record.model(model)
    if len(missing) or model_record is None:
        scorer = _open(model, settings, record)
        model_record = ModelRecord(**scorer.info.to_dict())
        if folder:
            folder.write_record(record, status="running")

        def store(chunks: list[Scored]) -> None:
            for indices, scores in chunks:
                scores_by_key.update(_by_key([keys[i] for i in indices], scores))
            if folder:
                folder.write_scores(scorer.info.name, keys, chunks)

        total = int(is_wanted.sum())
        store_as_they_come(
            _scored(scorer, texts, missing, settings),
            store,
            done=total - len(missing),
            total=total,
            progress=progress,
            size=lambda chunk: len(chunk[0]),
            every_s=FLUSH_S,
        )
    rows = []
    for key, wanted in zip(keys, is_wanted, strict=True):
        rows.append(scores_by_key[key] if wanted else NO_SCORE)
    log_prob, tokens, unknown, problem = zip(*rows, strict=True)
    scores = TextScores(
        np.array(log_prob), np.array(tokens), np.array(unknown), problem
    )
    return ModelTaus(model, model_record, scores)


def _open(
    model: str, settings: ReliabilitySettings, record: ReliabilityRecord
) -> Scorer:
    """Open a model, which must be the one that the run was begun with, and add it to the record."""
    earlier = record.model(model)
    dtype = "auto" if earlier is None else earlier.dtype
    scorer = open_model(model, load=settings.load.resumed(dtype))
    opened = ModelRecord(**scorer.info.to_dict())
    if earlier is not None:
        earlier.check_same(opened)
    record.keep_model(opened)
    return scorer


def _scored(
    scorer: Scorer,
    texts: TextsToScore,
    indices: IntArray,
    settings: ReliabilitySettings,
) -> Iterator[Scored]:
    """Yield the scores of some texts, pool by pool."""
    from clinometer.models.likelihood import score_chunks  # loads torch

    device = scorer.info.device.split(":")[0]
    size = POOL_SIZES.get(device, POOL_SIZES["cpu"])
    pools = np.split(indices, range(size, len(indices), size))
    marked = texts.marked
    questions = ([marked[i] for i in pool] for pool in pools)
    yield from zip(
        pools, score_chunks(scorer, questions, settings.text_options), strict=True
    )


def _by_key(keys: Iterable[str], scores: TextScores) -> dict[str, TextScore]:
    rows = zip(
        scores.log_prob, scores.tokens, scores.unknown, scores.problem, strict=True
    )
    return dict(zip(keys, rows, strict=True))
