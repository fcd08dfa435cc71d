"""Audits of reference models, whose preferences are known: nothing is asked."""

from __future__ import annotations

from typing import Any

from clinometer.measure import Preferences
from clinometer.measure.reference_models import random_outcomes, reference_preferences
from clinometer.models import ModelInfo, ModelSpec
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import ProtocolRecord, new_record
from clinometer.runs.protocol import followed
from clinometer.runs.resolve import ResolvedAudit
from clinometer.runs.run import Run


def audit_reference(
    spec: ModelSpec,
    audit: ResolvedAudit,
    folder: RunFolder | None,
    protocol: ProtocolRecord | None,
) -> Run:
    """Return the run of a reference model, and write it if there is a folder."""
    info = ModelInfo(name=spec.name, kind="reference", revision="closed form")
    record = new_record(info, audit.topic, audit.contexts, audit.settings)
    record.protocol = followed(protocol, spec.name, audit, info.revision)
    if spec.target == "random":
        preferences = _random_preferences(audit)
    else:
        preferences = _constant_preferences(spec.target, audit)
    return Run.measured(record, preferences, folder=folder)


def _constant_preferences(name: Any, audit: ResolvedAudit) -> Preferences:
    """Return the preferences of a reference model that answers alike in every context."""
    topic = audit.topic
    contexts = audit.contexts
    shape = (len(topic), len(contexts), len(topic.categories))
    return Preferences(
        values=reference_preferences(name, shape, reference=topic.reference),
        groups=topic.group_names,
        contexts=contexts.ids,
        categories=topic.categories,
        context_weights=contexts.weights,
        group_weights=topic.group_weights,
        reference=topic.reference,
        templates=tuple(contexts.templates),
        labels={name: tuple(labels) for name, labels in contexts.extra.items()},
    )


def _random_preferences(audit: ResolvedAudit) -> Preferences:
    """Return the preferences of the random model.

    Each outcome is a separate context with its probability as weight, so that the risks are exact,
    without sampling noise.
    """
    topic = audit.topic
    contexts = audit.contexts
    shape = (len(topic), len(contexts), len(topic.categories))
    outcomes = random_outcomes(
        shape, reference=topic.reference, context_weights=contexts.weights
    )
    n_outcomes = len(topic.categories)

    def per_outcome(values: Any) -> tuple[Any, ...]:
        return tuple(value for value in values for _ in range(n_outcomes))

    return Preferences(
        values=outcomes.p,
        groups=topic.group_names,
        contexts=tuple(
            f"{context}#{outcome}"
            for context in contexts.ids
            for outcome in topic.categories
        ),
        categories=topic.categories,
        context_weights=outcomes.context_weights,
        group_weights=topic.group_weights,
        reference=topic.reference,
        templates=per_outcome(contexts.templates),
        labels={name: per_outcome(labels) for name, labels in contexts.extra.items()},
    )
