"""Cells that this machine has scored before, in any run, by model, words and prompt."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.models import Identity, ModelInfo, WordReport, WordScores, identity_of
from clinometer.models.options import KINDS
from clinometer.runs.folder.provenance import versions
from clinometer.runs.scores.executors import ModelQuery
from clinometer.storage.cache import Cache
from clinometer.topics import Prompt

#: Increment when the same model, words and prompt are scored differently.
SCORING = 1


class ScoreCache:
    """The cache of the machine, as one audit sees it.

    Only models whose weights are pinned are cached: folders, GGUF files, hub commits. A row is
    stored as computed. Log-probabilities change in the fifth digit with the rest of their batch, so
    a run with cached and fresh cells equals an uncached run up to rounding.
    """

    def __init__(self, question: ModelQuery, scoring: dict[str, Any], *, use: bool = True) -> None:
        self.question = question
        self.scoring = scoring
        self.cache = Cache(limit=None if use else 0)
        self._identity: Identity | None = None

    def close(self) -> None:
        self.cache.close()

    def _pinned(self) -> Identity | None:
        if self._identity is None and self.cache.on:
            self._identity = identity_of(self.question.spec, self.question.load)
        return self._identity

    # --- the description of the model -------------------------------------------------------------

    def described(self, *, space: bool) -> tuple[ModelInfo, WordReport] | None:
        """The model's description from the last time it was opened here with these settings."""
        about = self._about(space=space)
        found = None if about is None else self.cache.note(about)
        if found is None:
            return None
        info, report = found
        return (
            ModelInfo(**{**info, "notes": tuple(info["notes"])}),
            WordReport(
                tokens={w: tuple(t) for w, t in report["tokens"].items()},
                unwritable=tuple(report["unwritable"]),
                same_tokens=report["same_tokens"],
                restricted=tuple(report["restricted"]),
                prefixes={w: tuple(p) for w, p in report["prefixes"].items()},
            ),
        )

    def keep_description(self, info: ModelInfo, report: WordReport, *, space: bool) -> None:
        about = self._about(space=space)
        if about is not None and self._scope(info) is not None:
            self.cache.keep_note(about, [asdict(info), asdict(report)])

    def _about(self, *, space: bool) -> dict[str, Any] | None:
        """Everything the description may depend on; "auto" settings depend on the machine."""
        pinned = self._pinned()
        if pinned is None:
            return None
        return {
            "model": self.question.spec.name,
            "identity": asdict(pinned),
            "load": asdict(self.question.load),
            "scoring": self.scoring,
            "words": self.question.words,
            **self._readout(),
            "space": space,
            "versions": versions(),
            "machine": [platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES")],
        }

    # --- cells ------------------------------------------------------------------------------------

    def get(
        self, info: ModelInfo, prompts: Sequence[Prompt]
    ) -> tuple[NDArray[np.intp], WordScores] | None:
        """The positions of known prompts, and their scores."""
        scope = self._scope(info)
        if scope is None:
            return None
        width = len(self.question.words) + 2
        places, rows = self.cache.get(scope, [_item(p) for p in prompts], width)
        if not len(places):
            return None
        values = rows.astype(np.float64)
        return places, WordScores(values[:, :-2], values[:, -2], values[:, -1])

    def put(self, info: ModelInfo, prompts: Sequence[Prompt], scores: WordScores) -> None:
        scope = self._scope(info)
        if scope is None or scores.log_upper is not None or scores.draws is not None:
            return  # bounds and samples are not reproducible
        rows = np.column_stack([scores.log_probs, scores.log_coverage, scores.skipped])
        self.cache.put(scope, [_item(p) for p in prompts], rows)

    def _scope(self, info: ModelInfo) -> dict[str, Any] | None:
        """Everything but the prompt that a score depends on; None for a model that is not pinned,
        or differs from the one described."""
        pinned = self._pinned()
        if pinned is None or pinned.revision != info.revision or info.kind not in KINDS:
            return None
        resolved = {"load.kind", "load.dtype", "load.revision"}
        return {
            "scoring": SCORING,
            "model": info.name,
            "kind": info.kind,
            "dtype": info.dtype,
            **asdict(pinned),
            "options": {k: v for k, v in self.scoring.items() if k not in resolved},
            "words": self.question.words,
            **self._readout(),
        }

    def _readout(self) -> dict[str, Any]:
        """The readout, whose labels and normalisation change a score; nothing for words, so that
        what was cached before there were readouts is still found."""
        asked = self.question.readout
        return {} if asked is None else {"readout": asked.table.model_dump()}


def _item(prompt: Prompt) -> str:
    return json.dumps([prompt.before, prompt.after, prompt.space], ensure_ascii=False)
