"""Score statements and their versions with models, store as it goes, and measure the result.

The texts of a run are every statement and version once. Each model gives a tau (Eq. 2) for each
text; from these come context variance, COBIAS and stability of every statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clinometer.errors import RunError, SettingsError
from clinometer.reliability.dissimilarity import Embed, nearby
from clinometer.reliability.folder import ReliabilityFolder
from clinometer.reliability.record import ReliabilityRecord
from clinometer.reliability.results import measure
from clinometer.reliability.run import ReliabilityRun
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.statement import Statement, Versions
from clinometer.reliability.taus import model_taus
from clinometer.reliability.texts import TextsToScore
from clinometer.settings import with_settings
from clinometer.storage.record import SCHEMA_VERSION
from clinometer.storage.resumable import (
    Progress,
    differences,
    part_of,
)


def score_reliability(
    statements: Sequence[Statement | str],
    variants: Versions,
    *,
    models: Sequence[str] = ("pocket:bert",),
    out: str | Path | None = None,
    settings: ReliabilitySettings | None = None,
    fresh: bool = False,
    renew: bool = False,
    progress: Progress | None = None,
    embed: Embed | None = None,
    **options: Any,
) -> ReliabilityRun:
    """Score how much context changes each statement for the models, and their mean.

    `variants` contains context-added versions by statement id; a statement given as a plain string
    is its own id. With `out` the run is written there as it progresses, and the same call resumes
    an interrupted run; a finished one is measured again without loading a model. Statements and
    versions that have changed since are scored, and nothing else. A run of other scoring, or that
    shares no text, is refused, or with `renew` replaced.

    `embed`, or the model that the setting `dissimilarity` names, adds columns that say how far the
    versions move the meaning (Eq. 1): `dissimilarity_pairwise` among them, and
    `dissimilarity_to_statement`. Versions farther from their statement than `max_dissimilarity`
    are left out and counted.

    Settings are given by name (`level=0.9`, `device="cpu"`): every field of
    `ReliabilitySettings` and of the `load` in it, on top of `settings` if that is given.
    """
    settings = with_settings(settings or ReliabilitySettings(), options)
    names = list(models)
    if not names or len(set(names)) != len(names):
        raise SettingsError(
            f"models: expected one or several, each once; found {names}"
        )
    complete = [_as_statement(statement) for statement in statements]
    versions: Versions = {
        key: tuple(map(str.strip, texts)) for key, texts in variants.items()
    }
    embed = embed or _encoder(settings)
    versions_too_far = 0
    if settings.max_dissimilarity is not None:
        if embed is None:
            raise SettingsError(
                "max_dissimilarity: expected what measures it (dissimilarity)"
            )
        for statement in complete:
            versions_too_far += len(versions.get(statement.id, ()))
        versions = nearby(complete, versions, embed, limit=settings.max_dissimilarity)
        versions_too_far -= sum(map(len, versions.values()))
    texts = TextsToScore.of(complete, versions, settings)
    record = ReliabilityRecord(
        schema_version=SCHEMA_VERSION,
        kind=ReliabilityFolder.kind,
        status="running",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        models=[],
        texts=texts.digest(),
        scoring=settings.scoring(),
        settings=settings.to_dict(),
    )
    folder = None if out is None else ReliabilityFolder(Path(out))
    with ExitStack() as stack:
        if folder:
            fresh = fresh or (renew and _is_of_other_scoring(folder, record))
            stack.enter_context(folder.opened(record.identity, fresh=fresh))
            record = _resumed(folder, record, texts, renew=renew)
        answers = []
        for number, model in enumerate(names):
            answer = model_taus(
                model,
                texts,
                settings,
                record,
                folder=folder,
                progress=part_of(progress, number, len(names)),
            )
            answers.append(answer)
        record.models = [answer.model for answer in answers]
        record.settings = settings.to_dict()
        tables = measure(
            record,
            texts,
            answers,
            settings,
            embed=embed,
            versions_too_far=versions_too_far,
        )
        if folder:
            folder.write_finished(record, tables)
    return ReliabilityRun(record, tables, None if folder is None else folder.path)


def _as_statement(statement: Statement | str) -> Statement:
    if isinstance(statement, Statement):
        return statement
    return Statement(id=statement, text=statement)


def _encoder(settings: ReliabilitySettings) -> Embed | None:
    """Return the encoder that the settings name, if they name one."""
    if settings.dissimilarity is None:
        return None
    from clinometer.models.embeddings import SentenceEncoder  # loads torch

    return SentenceEncoder(settings.dissimilarity, device=settings.load.device).embed


def _is_of_other_scoring(folder: ReliabilityFolder, record: ReliabilityRecord) -> bool:
    earlier = folder.earlier()
    return earlier is not None and bool(differences(earlier, record.identity))


def _resumed(
    folder: ReliabilityFolder,
    record: ReliabilityRecord,
    texts: TextsToScore,
    *,
    renew: bool,
) -> ReliabilityRecord:
    """Return the record of the run in a folder, if there is one, as that of these texts.

    Unless it is renewed, a folder in which none of these texts was scored is refused: it is
    another benchmark's.
    """
    if not folder.exists():
        return record
    earlier = folder.read_record()
    if earlier.texts != record.texts and not renew:
        scored: set[str] = set()
        for model in earlier.models:
            for keys, _ in folder.read_scores(model.id):
                scored.update(keys)
        if scored and scored.isdisjoint(texts.keys):
            raise RunError(
                f"{folder.path}: has the scores of another set of statements; choose another "
                "--out, or --fresh to start over"
            )
    earlier.texts = record.texts
    return earlier
