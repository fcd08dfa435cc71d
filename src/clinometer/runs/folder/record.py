"""The content of a new run.json, and which settings make an audit a different one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from clinometer.contexts import ContextSet
from clinometer.models import ModelInfo, WordReport
from clinometer.runs.folder.provenance import git_revision, versions
from clinometer.runs.folder.record_schema import (
    SEED_OF_DRAWS,
    ContextsRecord,
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
    """Everything known before the first answer."""
    return RunRecord(
        schema_version=SCHEMA_VERSION,
        status="running",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        model=ModelRecord(**info.to_dict()),
        topic=TopicRecord(
            **_asked(topic),
            name=topic.name,
            title=topic.title,
            language=topic.language,
            sha256=topic.sha256,
            groups=len(topic),
            attributes={c: list(w) for c, w in topic.attributes.items()},
            reference=None if topic.reference is None else _plain(topic.reference),
            shared=topic.shared,
            left_out=list(topic.left_out),
        ),
        contexts=context_record(contexts),
        scoring=settings.scoring(),
        settings=settings,
        versions=versions(),
        git_revision=git_revision(),
    )


def _asked(topic: Topic) -> dict[str, Any]:
    """The readout of a topic of questions; a topic of words has none to tell."""
    return {} if topic.readout is None else {"readout": topic.readout.model_dump()}


def _plain(
    reference: tuple[float, ...] | Literal["group-mean"],
) -> list[float] | Literal["group-mean"]:
    return reference if isinstance(reference, str) else list(reference)


def context_record(contexts: ContextSet) -> ContextsRecord:
    """The contexts; for a sample also the set it was taken from."""
    return ContextsRecord(
        name=contexts.name,
        sha256=contexts.sha256,
        n=len(contexts),
        n_eff=contexts.n_eff,
        drawn=contexts.metadata.drawn,
        corpus_noise=contexts.sampling.corpus_noise,
        labels=list(contexts.extra),
    )


def word_record(report: WordReport, topic: Topic) -> WordsRecord:
    """How the model tokenises the words, and what happened to those it cannot score."""
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


def audit_identity(
    model: str, topic: Topic, contexts: ContextSet, settings: AuditSettings
) -> dict[str, Any]:
    """What makes an audit a different one. A reference model is computed, not sampled."""
    reference = model.startswith("reference:")
    return {
        "model": model,
        "topic": topic.sha256,
        "contexts": contexts.sha256,
        SEED_OF_DRAWS: None if settings.precision is None or reference else settings.seed,
        **settings.scoring(),
    }


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


def added(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """The sum of two usage counts.

    >>> added({"requests": 2}, {"requests": 3, "retried": 1})
    {'requests': 5, 'retried': 1}
    """
    return {name: before.get(name, 0) + now.get(name, 0) for name in {**before, **now}}
