"""Cells that this machine has scored before, by model, words and prompt, as one audit sees them."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from json.encoder import encode_basestring as json_string
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from clinometer.models import ModelInfo, WordReport, WordScores, revision_of
from clinometer.models.options import KINDS
from clinometer.runs.audited_model import AuditedModel
from clinometer.runs.folder.record import versions
from clinometer.storage.cache import Cache
from clinometer.storage.record import ModelRecord
from clinometer.topics import Prompt

SCORING = 1
"""Increment when the same model, words and prompt are scored differently."""

_DESCRIPTION = TypeAdapter(tuple[ModelInfo, WordReport])

_RESOLVED = {"load.kind", "load.dtype", "load.revision"}
"""Settings that a model record states as they were resolved."""


class ScoreCache:
    """The cache of the machine, as one audit sees it.

    Only models whose weights are pinned are cached: folders, GGUF files, hub commits. A row is
    stored as computed. Log-probabilities change in the fifth digit with the rest of their batch, so
    a run with cached and fresh cells equals an uncached run up to rounding.
    """

    def __init__(
        self, model: AuditedModel, scoring: dict[str, Any], *, use: bool = True
    ) -> None:
        self.model = model
        self.scoring = scoring
        self.cache = Cache(limit=None if use else 0)
        self._revision: str | None = None

    def _pinned_revision(self) -> str | None:
        if self._revision is None and self.cache.on:
            self._revision = revision_of(self.model.spec, self.model.load)
        return self._revision

    def describe(self, *, space: bool) -> tuple[ModelInfo, WordReport]:
        """Return what the model is, and how it tokenises the words.

        It is taken from the last time that the model was opened here with these settings, or from
        opening it.
        """
        key = self._description_key(space=space)
        note = None if key is None else self.cache.note(key)
        if note is not None:
            return _DESCRIPTION.validate_python(note)
        scorer = self.model.scorer
        info = scorer.info
        report = scorer.word_report(self.model.words, space=space)
        if key is not None and self._scope(ModelRecord(**info.to_dict())) is not None:
            self.cache.keep_note(key, [asdict(info), asdict(report)])
        return info, report

    def _description_key(self, *, space: bool) -> dict[str, Any] | None:
        """Return everything a description may depend on; "auto" settings depend on the machine."""
        revision = self._pinned_revision()
        if revision is None:
            return None
        return {
            "model": self.model.spec.name,
            "revision": revision,
            "load": asdict(self.model.load),
            "scoring": self.scoring,
            "words": self.model.words,
            **self.model.readout.table.tables(),
            "space": space,
            "versions": versions(),
            "machine": [platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES")],
        }

    def holds(self, model: ModelRecord, counts: NDArray[np.float64]) -> bool:
        """Whether any prompt of this model and these words is cached."""
        scope = self._scope(model)
        if scope is None:
            return False
        return self.cache.holds(self._with_counts(scope, counts))

    def get(
        self, model: ModelRecord, prompts: Sequence[Prompt], counts: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], WordScores] | None:
        """Return the positions of cached prompts, and their scores; None if there are none.

        `counts` [V, Y] is how much each word counts for each category.
        """
        scope = self._scope(model)
        if scope is None:
            return None
        keys = [_key(prompt) for prompt in prompts]
        n_columns = len(self.model.words) + 2
        positions, values = self.cache.get(
            self._with_counts(scope, counts), keys, n_columns
        )
        if not positions.size:
            return None
        rows = values.astype(np.float64)
        return positions, WordScores(rows[:, :-2], rows[:, -2], rows[:, -1])

    def put(
        self,
        model: ModelRecord,
        prompts: Sequence[Prompt],
        scores: WordScores,
        counts: NDArray[np.float64],
    ) -> None:
        """Add scores; not bounds and samples, which are not reproducible."""
        reproducible = scores.log_upper is None and scores.draws is None
        scope = self._scope(model)
        if scope is None or not reproducible:
            return
        keys = [_key(prompt) for prompt in prompts]
        rows = np.column_stack([scores.log_probs, scores.log_coverage, scores.skipped])
        self.cache.put(self._with_counts(scope, counts), keys, rows)

    def _with_counts(
        self, scope: dict[str, Any], counts: NDArray[np.float64]
    ) -> dict[str, Any]:
        """Return a scope with the categories, if these decide which words are expanded."""
        all_expanded = self.scoring["words.tolerance"] == 0
        none_expanded = self.scoring["words.single_token"]
        if all_expanded or none_expanded or self.model.readout.table.asks:
            return scope
        digest = hashlib.sha256(repr(counts.tolist()).encode()).hexdigest()
        return {**scope, "counts": digest}

    def _scope(self, model: ModelRecord) -> dict[str, Any] | None:
        """Return everything but the prompt that a score depends on; None for a model that is not
        pinned, or differs from the one described."""
        revision = self._pinned_revision()
        if revision is None or revision != model.revision or model.kind not in KINDS:
            return None
        return {
            "scoring": SCORING,
            "model": model.id,
            "kind": model.kind,
            "dtype": model.dtype,
            "revision": revision,
            "options": {
                name: value
                for name, value in self.scoring.items()
                if name not in _RESOLVED
            },
            "words": self.model.words,
            # Its labels and normalisation change a score.
            **self.model.readout.table.tables(),
        }


def _key(prompt: Prompt) -> str:
    """Return what `json.dumps` writes for [before, after, space], in a fifth of its time.

    >>> _key(Prompt('"I" said', " .", space=True))
    '["\\\\"I\\\\" said", " .", true]'
    """
    before = json_string(prompt.before)
    after = json_string(prompt.after)
    space = "true" if prompt.space else "false"
    return f"[{before}, {after}, {space}]"
