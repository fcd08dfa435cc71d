"""The baseline that context has to beat: random words in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from difflib import SequenceMatcher

import numpy as np

from clinometer.errors import SettingsError
from clinometer.reliability.folder import RANDOM_FOLDER
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.scoring import score_reliability
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement
from clinometer.storage.resumable import Progress

_SIGNS = ".,;:!?\"'()[]“”’…-"


def random_control(
    run: ReliabilityRun, *, seed: int = 0, progress: Progress | None = None
) -> ReliabilityRun:
    """Return the run again with random words for its context, scored by the same models and kept
    in its folder, if it has one."""
    statements = []
    texts = []
    versions = []
    counted = run.counted_versions
    for row in run.statements.to_dict(orient="records"):
        targets = (row["target"] or "").split("; ")
        statement = Statement(row["id"], row["text"], tuple(filter(None, targets)))
        statements.append(statement)
        texts.append(statement.text)
        versions.append(counted.get(statement.id, []))
    controls = random_words(texts, versions, seed=seed)
    ids = [statement.id for statement in statements]
    return score_reliability(
        statements,
        dict(zip(ids, controls, strict=True)),
        models=[model.id for model in run.record.models],
        out=None if run.path is None else run.path / RANDOM_FOLDER,
        settings=_settings_of(run),
        renew=True,
        progress=progress,
    )


def _settings_of(run: ReliabilityRun) -> ReliabilitySettings:
    """Return the settings of a run; how its models were loaded is not among them."""
    settings = {}
    for field in fields(ReliabilitySettings):
        if field.name != "load" and field.name in run.record.settings:
            settings[field.name] = run.record.settings[field.name]
    try:
        return ReliabilitySettings(**settings)
    except (TypeError, SettingsError) as error:
        raise SettingsError(
            f"{run.path}: its settings cannot be used again: {error}"
        ) from error


def random_words(
    texts: Sequence[str], versions: Sequence[Sequence[str]], *, seed: int = 0
) -> list[tuple[str, ...]]:
    """Return the versions with every word that they add to their statement replaced by a random
    word of all these texts: as much added text, at the same positions, that means nothing.

    >>> random_words(["Women sing."], [["Women often sing.", "Women sing today."]])
    [('Women today sing.', 'Women sing sing.')]
    """
    rng = np.random.default_rng(seed)
    vocabulary = set()
    for some_texts in [texts, *versions]:
        for word in " ".join(some_texts).split():
            bare = word.strip(_SIGNS)
            if bare.isalpha():
                vocabulary.add(bare)
    pool = sorted(vocabulary)
    controls = []
    for text, of_text in zip(texts, versions, strict=True):
        controls.append(
            tuple(_with_random_words(text, version, pool, rng) for version in of_text)
        )
    return controls


def _with_random_words(
    text: str, version: str, pool: Sequence[str], rng: np.random.Generator
) -> str:
    """Return a version of a text with random words from the pool for those that it adds."""
    words = version.split()
    matcher = SequenceMatcher(None, _bare(text), _bare(version), autojunk=False)
    for operation, _, _, start, stop in matcher.get_opcodes():
        if operation not in ("insert", "replace"):
            continue
        for k in range(start, stop):
            bare = words[k].strip(_SIGNS)
            random_word = str(rng.choice(pool))
            if bare:
                words[k] = words[k].replace(bare, random_word, 1)
    return " ".join(words)


def _bare(text: str) -> list[str]:
    """Return the words of a text without signs around them, ignoring case."""
    return [word.strip(_SIGNS).casefold() for word in text.split()]
