"""Cells that this machine has scored before, in any run, by model, words and prompt."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from json.encoder import encode_basestring as _quoted
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

_TOLERANCE = "words.tolerance"
#: At which cached scores are looked for besides the one that is asked for: the default of 0.1.0,
#: and exact.
_COMMON_TOLERANCES = (1e-4, 0.0)


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

    def holds(self, info: ModelInfo, counts: NDArray[np.float64]) -> bool:
        """Whether any prompt of this model and these words is known."""
        scope = self._scope(info)
        return scope is not None and any(
            self.cache.holds(sufficient) for sufficient in self._as_fine(scope, counts)
        )

    def get(
        self, info: ModelInfo, prompts: Sequence[Prompt], counts: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], WordScores] | None:
        """The positions of known prompts, and their scores; `counts` [V, Y] is how much each word
        counts for each category."""
        scope = self._scope(info)
        if scope is None:
            return None
        width = len(self.question.words) + 2
        items = [_item(p) for p in prompts]
        rows = np.empty((len(items), width))
        known = np.zeros(len(items), dtype=bool)
        for sufficient in self._as_fine(scope, counts):
            left = np.flatnonzero(~known)
            if not len(left):
                break
            places, found = self.cache.get(sufficient, [items[i] for i in left], width)
            rows[left[places]], known[left[places]] = found, True
        if not known.any():
            return None
        values = rows[known]
        return np.flatnonzero(known), WordScores(values[:, :-2], values[:, -2], values[:, -1])

    def put(
        self,
        info: ModelInfo,
        prompts: Sequence[Prompt],
        scores: WordScores,
        counts: NDArray[np.float64],
    ) -> None:
        scope = self._scope(info)
        if scope is None or scores.log_upper is not None or scores.draws is not None:
            return  # bounds and samples are not reproducible
        rows = np.column_stack([scores.log_probs, scores.log_coverage, scores.skipped])
        self.cache.put(self._counted(scope, counts), [_item(p) for p in prompts], rows)

    def _counted(self, scope: dict[str, Any], counts: NDArray[np.float64]) -> dict[str, Any]:
        """With the categories, if these decide which words are expanded."""
        plain = self.scoring[_TOLERANCE] == 0 or self.scoring["words.single_token"]
        if plain or self.question.readout is not None:
            return scope
        digest = hashlib.sha256(repr(counts.tolist()).encode()).hexdigest()
        return {**scope, "counts": digest}

    def _as_fine(
        self, scope: dict[str, Any], counts: NDArray[np.float64]
    ) -> Iterator[dict[str, Any]]:
        """The scopes whose scores serve: what is asked for, and what is finer; without categories,
        as before 0.2.0, no word was skipped that could matter to any."""
        yield self._counted(scope, counts)
        asked = self.scoring[_TOLERANCE]
        for tolerance in (asked, *(t for t in _COMMON_TOLERANCES if t < asked)):
            yield {**scope, "options": {**scope["options"], _TOLERANCE: tolerance}}

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
    """As `json.dumps` writes [before, after, space], in a fifth of its time.

    >>> _item(Prompt('"I" said', " .", space=True))
    '["\\\\"I\\\\" said", " .", true]'
    """
    before, after = _quoted(prompt.before), _quoted(prompt.after)
    return f"[{before}, {after}, {'true' if prompt.space else 'false'}]"
