"""run.json: what was asked of whom, and whether a folder holds the same run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from clinometer.contexts import ContextSet
from clinometer.errors import RunError
from clinometer.models import ModelInfo, WordReport
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.provenance import git_revision, versions
from clinometer.runs.folder.record_schema import (
    ContextsRecord,
    DrawRecord,
    RunRecord,
    TopicRecord,
    WordsRecord,
)
from clinometer.runs.settings import AuditSettings
from clinometer.storage.record import SCHEMA_VERSION, ModelRecord
from clinometer.topics import Topic


def new_record(
    info: ModelInfo, topic: Topic, contexts: ContextSet, settings: AuditSettings
) -> RunRecord:
    """All that is known before the first answer."""
    return RunRecord(
        schema_version=SCHEMA_VERSION,
        status="running",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        model=ModelRecord(**info.to_dict()),
        topic=TopicRecord(
            name=topic.name,
            title=topic.title,
            language=topic.language,
            sha256=topic.sha256,
            groups=len(topic),
            attributes={c: list(w) for c, w in topic.attributes.items()},
            reference=None if topic.reference is None else list(topic.reference),
            shared=topic.shared,
            left_out=list(topic.left_out),
        ),
        contexts=context_record(contexts),
        scoring=settings.scoring(),
        settings=settings,
        versions=versions(),
        git_revision=git_revision(),
    )


def context_record(contexts: ContextSet) -> ContextsRecord:
    """Which contexts are asked; for a draw also what it was drawn from."""
    drawn: Any = contexts.metadata.get("drawn")
    return ContextsRecord(
        name=contexts.name,
        sha256=contexts.sha256,
        n=len(contexts),
        n_eff=contexts.n_eff,
        drawn=None if drawn is None else DrawRecord(**drawn),
        labels=list(contexts.extra),
    )


def word_record(report: WordReport, topic: Topic) -> WordsRecord:
    """How the model writes the words, and what became of those it cannot be asked about."""
    return WordsRecord(
        words=list(topic.words),
        tokens={w: list(t) for w, t in report.tokens.items()},
        unwritable=list(report.unwritable),
        same_tokens=dict(report.same_tokens),
        restricted=list(report.restricted),
        prefixes={w: list(p) for w, p in report.prefixes.items()},
        shared={w: list(c) for w, c in topic.shared_words.items()},
        counts={**report.counts(), "words_shared": len(topic.shared_words)},
    )


def earlier_record(
    folder: RunFolder | None,
    model: str,
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
) -> RunRecord | None:
    """The record of the run that stands in the folder, if it is the same run."""
    if folder is None or not folder.exists():
        return None
    record = folder.read_record()
    changed = differences(record, model, topic, contexts, settings)
    if changed:
        raise RunError(
            f"{folder.path}: holds a run with another {' and '.join(changed)}; choose another "
            "--out, or --fresh to start over"
        )
    return record


def differences(
    record: RunRecord,
    model: str,
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
) -> list[str]:
    """What makes a recorded run another one than this, by name; [] for the same run."""
    # Drawn to a precision, a run is known by what it draws from: how much it draws may grow.
    precision = record.precision
    earlier = {
        "model": record.model.id,
        "topic": record.topic.sha256,
        "contexts": precision.source if precision else record.contexts.sha256,
        "seed of the draws (--precision, --seed)": precision.seed if precision else None,
        **record.scoring,
    }
    now = {
        "model": model,
        "topic": topic.sha256,
        "contexts": contexts.sha256,
        "seed of the draws (--precision, --seed)": (
            None if settings.precision is None else settings.seed
        ),
        **settings.scoring(),
    }
    names = dict.fromkeys([*now, *earlier])
    return [name for name in names if now.get(name) != earlier.get(name)]


def model_info(record: RunRecord) -> ModelInfo:
    """The model that a record names."""
    model = record.model
    return ModelInfo(
        name=model.id,
        kind=model.kind,
        revision=model.revision,
        dtype=model.dtype,
        device=model.device,
        parameters=model.parameters,
        notes=tuple(model.notes),
    )


def check_same_model(record: RunRecord, info: ModelInfo) -> None:
    """Refuse to go on with other weights, or in another precision, than the run was begun with."""
    for what in ("revision", "kind", "dtype"):
        begun, found = getattr(record.model, what), getattr(info, what)
        if begun != found:
            raise RunError(
                f"the run was begun with {what} {begun} of {info.name}, found {found} now: "
                "--fresh starts over"
            )


def added(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Two accounts as one.

    >>> added({"requests": 2}, {"requests": 3, "retried": 1})
    {'requests': 5, 'retried': 1}
    """
    return {name: before.get(name, 0) + now.get(name, 0) for name in {**before, **now}}
