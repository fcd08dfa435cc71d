"""A run of what another tool asked: the same folder as an audit's, for report, view and compare."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path

from clinometer.bridges.mapping import SampleMapping
from clinometer.errors import TableError
from clinometer.measure import Preferences
from clinometer.runs import AuditSettings, Run, RunFolder
from clinometer.runs.folder.folder import Scored
from clinometer.runs.folder.provenance import git_revision, versions
from clinometer.runs.folder.record_schema import (
    ContextsRecord,
    ImportRecord,
    RunRecord,
    TopicRecord,
)
from clinometer.storage.record import SCHEMA_VERSION, ModelRecord
from clinometer.storage.untrusted import open_binary

#: What run.json says a model of an imported run is: another program scored it.
KIND = "imported"


def measured_import(
    preferences: Preferences,
    mapping: SampleMapping,
    model: ModelRecord,
    source: ImportRecord,
    settings: AuditSettings,
    *,
    out: Path | None,
    fresh: bool = False,
) -> Run:
    """Measure preferences that were read, and write the run to `out` if that is given."""
    record = _record(preferences, mapping, model, source, settings)
    if settings.clusters is not None:
        preferences.label(settings.clusters)  # refuses an unknown one before anything is written
    return written(record, preferences, settings, out=out, fresh=fresh)


def written(
    record: RunRecord,
    preferences: Preferences,
    settings: AuditSettings,
    *,
    out: Path | None,
    fresh: bool,
    scores: Scored | None = None,
) -> Run:
    """The measured run, with the `scores` of words if there are any; a folder of another import is
    refused unless `fresh`."""
    if out is None:
        return Run.measured(record, preferences, settings, folder=None)
    folder = RunFolder(out)
    with folder.opened(record.identity, fresh=fresh):
        if scores is not None:
            folder.clear_scores()
            folder.write_scores([scores])
        return Run.measured(record, preferences, settings, folder=folder)


def file_digest(path: Path) -> str:
    """sha256 of a file of any size."""
    try:
        digest = hashlib.sha256()
        with open_binary(path) as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
        return digest.hexdigest()
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such file; check the path") from error
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}") from error


def _record(
    preferences: Preferences,
    mapping: SampleMapping,
    model: ModelRecord,
    source: ImportRecord,
    settings: AuditSettings,
) -> RunRecord:
    weights = preferences.context_weights
    named = dict(zip(preferences.contexts, weights.tolist(), strict=True))
    return RunRecord(
        schema_version=SCHEMA_VERSION,
        status="running",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        model=model,
        topic=TopicRecord(
            name=mapping.name,
            title=mapping.title,
            language=mapping.language,
            sha256=_digest([sorted(preferences.groups), preferences.categories]),
            groups=len(preferences.groups),
            attributes={category: [category] for category in preferences.categories},
            reference=None
            if mapping.reference is None
            else [mapping.reference[c] for c in preferences.categories],
        ),
        contexts=ContextsRecord(
            name=source.task or mapping.name,
            sha256=_digest(sorted(named.items())),
            n=len(preferences.contexts),
            n_eff=float(1 / (weights**2).sum()),
            labels=list(preferences.labels),
        ),
        scoring={"imported.sha256": source.sha256, "imported.mapping": source.mapping_sha256},
        settings=settings,
        versions=versions() | ({source.tool: source.version} if source.version else {}),
        git_revision=git_revision(),
        imported=source,
    )


def _digest(content: object) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
