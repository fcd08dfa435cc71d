"""The baseline that context has to beat: random words in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from difflib import SequenceMatcher

import numpy as np

from clinometer.errors import SettingsError
from clinometer.reliability.scoring.result import ReliabilityRun
from clinometer.reliability.scoring.run import score_reliability
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, VariantSet
from clinometer.storage.resumable import Progress

_SIGNS = ".,;:!?\"'()[]“”’…-"


def random_control(
    run: ReliabilityRun, *, seed: int = 0, progress: Progress | None = None
) -> ReliabilityRun:
    """The run again with random words for its context, scored by the same models and kept in its
    folder, if it has one."""
    frame, versions = run.statements, run.versions
    used = versions[versions["left_out"] == ""].groupby("id")["text"].agg(list)
    texts = frame["text"].tolist()
    made = random_words(texts, [used.get(i, []) for i in frame["id"]], seed=seed)
    statements = [
        Statement(row["id"], row["text"], tuple(t for t in (row["target"] or "").split("; ") if t))
        for row in frame.to_dict(orient="records")
    ]
    return score_reliability(
        statements,
        VariantSet(dict(zip(frame["id"], made, strict=True)), "random words"),
        models=[m.id for m in run.record.models],
        out=None if run.path is None else run.path / "random-words",
        settings=_settings(run),
        renew=True,
        progress=progress,
    )


def _settings(run: ReliabilityRun) -> ReliabilitySettings:
    """Scored as the run was."""
    kept = {f.name for f in fields(ReliabilitySettings)} - {"load", "precision"}
    try:
        return ReliabilitySettings(**{k: v for k, v in run.record.settings.items() if k in kept})
    except (TypeError, SettingsError) as error:
        raise SettingsError(f"{run.path}: its settings cannot be used again: {error}") from error


def random_words(
    texts: Sequence[str], versions: Sequence[Sequence[str]], *, seed: int = 0
) -> list[tuple[str, ...]]:
    """The versions with every word that they add to their statement replaced by a random word of
    all these texts: as much added text, at the same positions, that means nothing.

    >>> random_words(["Women sing."], [["Women often sing.", "Women sing today."]])
    [('Women today sing.', 'Women sing sing.')]
    """
    rng = np.random.default_rng(seed)
    every = (word for some in [texts, *versions] for text in some for word in text.split())
    pool = sorted({bare for word in every if (bare := word.strip(_SIGNS)).isalpha()})
    found = []
    for text, some in zip(texts, versions, strict=True):
        own = [_bare(word) for word in text.split()]
        made = []
        for version in some:
            words = version.split()
            matcher = SequenceMatcher(None, own, [_bare(w) for w in words], autojunk=False)
            for op, _, _, start, stop in matcher.get_opcodes():
                if op in ("insert", "replace"):
                    for k in range(start, stop):
                        words[k] = _exchanged(words[k], str(rng.choice(pool)))
            made.append(" ".join(words))
        found.append(tuple(made))
    return found


def _bare(word: str) -> str:
    return word.strip(_SIGNS).casefold()


def _exchanged(word: str, other: str) -> str:
    """Another word between the same punctuation."""
    bare = word.strip(_SIGNS)
    return word.replace(bare, other, 1) if bare else word
