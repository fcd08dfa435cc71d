"""One reliability run from start to end: score with the models, store as it progresses, measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from clinometer.errors import SettingsError
from clinometer.reliability.scoring.folder import (
    ReliabilityFolder,
    ReliabilityRecord,
    ValidationRecord,
)
from clinometer.reliability.scoring.result import ReliabilityRun
from clinometer.reliability.scoring.settings import ReliabilitySettings
from clinometer.reliability.scoring.statement_scores import (
    TextsToScore,
    ask,
    fingerprint,
    model_taus,
)
from clinometer.reliability.statement import Statement, VariantSet
from clinometer.reliability.validation_status import checked_validation
from clinometer.settings import with_settings
from clinometer.storage.record import SCHEMA_VERSION
from clinometer.storage.resumable import Progress, differences, part_of


def score_reliability(
    statements: Sequence[Statement | str],
    variants: VariantSet | Mapping[str, Sequence[str]],
    *,
    models: Sequence[str] = ("pocket:bert",),
    out: str | Path | None = None,
    settings: ReliabilitySettings | None = None,
    fresh: bool = False,
    renew: bool = False,
    progress: Progress | None = None,
    validation: ValidationRecord | None = None,
    **options: Any,
) -> ReliabilityRun:
    """Score how much context changes each statement for the models, and their mean.

    `variants` contains context-added versions by statement id; a statement given as a plain string
    is its own id. With `out` the run is written there as it progresses, and the same call resumes
    an interrupted run; a finished one is measured again without loading a model. A run of other
    texts or scoring in `out` is refused, or with `renew` replaced.

    `validation` is the passed truth test of the same models and versions; without one the result
    is labelled "not validated".

    Settings are given by name (`replicates=0`, `device="cpu"`): every field of
    `ReliabilitySettings` and of the `load` in it, on top of `settings` if that is given.
    """
    settings = with_settings(settings or ReliabilitySettings(), options)
    names = list(models)
    if not names or len(set(names)) != len(names):
        raise SettingsError(f"models: expected one or several, each once; found {names}")
    known = _variants(variants)
    asked = ask(_statements(statements), known, settings)
    folder = None if out is None else ReliabilityFolder(Path(out))
    with ExitStack() as stack:
        record = _new_record(asked, settings)
        if folder:
            before = folder.earlier() if renew else None
            other = before is not None and bool(differences(before, record.identity))
            stack.enter_context(folder.opened(record.identity, fresh=fresh or other))
            record = folder.read_record() if folder.exists() else record
        found = [
            model_taus(
                model,
                asked,
                settings,
                record,
                folder=folder,
                progress=part_of(progress, number, len(names)),
            )
            for number, model in enumerate(names)
        ]
        record.models = [m.model for m in found]
        record.settings = settings.to_dict()
        record.versions_by = known.made_by
        record.validation = checked_validation(record, validation)
        return ReliabilityRun.measured(record, asked, found, settings, folder=folder)


def _statements(given: Sequence[Statement | str]) -> list[Statement]:
    return [s if isinstance(s, Statement) else Statement(id=s, text=s) for s in given]


def _variants(given: VariantSet | Mapping[str, Sequence[str]]) -> VariantSet:
    if isinstance(given, VariantSet):
        return given
    return VariantSet({key: tuple(v.strip() for v in some) for key, some in given.items()})


def _new_record(asked: TextsToScore, settings: ReliabilitySettings) -> ReliabilityRecord:
    return ReliabilityRecord(
        schema_version=SCHEMA_VERSION,
        kind=ReliabilityFolder.kind,
        status="running",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        models=[],
        texts=fingerprint(asked),
        scoring=settings.scoring(),
        settings=settings.to_dict(),
    )
