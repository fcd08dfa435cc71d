"""What is asked for the ledger of fixes: the base, then every fix and its control.

Every fix has its control, and both are asked what the base is asked; the fixes also about topics
that they were not made for, and for facts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError
from clinometer.models import ModelSource, ModelSpec
from clinometer.models.catalog.pretrained import check_adapter
from clinometer.models.catalog.spec import APPLICATIONS
from clinometer.models.options import AUTOMATIC_REPLIES
from clinometer.runs import AuditSettings, Run
from clinometer.settings import with_settings
from clinometer.storage.untrusted import folder_name, folder_names
from clinometer.studies.fix import (
    ADAPTED,
    BASE,
    KINDS,
    MODEL,
    PROMPTS,
    RUN,
    STEER,
    SYSTEM,
    Fix,
    vector_file,
    with_controls,
)
from clinometer.studies.framework import Plan, PlannedRun
from clinometer.studies.knowledge import Relation
from clinometer.topics import Topic
from clinometer.topics.conversation import END, is_conversation, joined, messages_of
from clinometer.topics.prompt import Y

TOPIC = "topic"
"""The role of the topic that the fixes were made for."""

ALSO = "also "
"""How the role of another topic begins."""

FACTS = "facts "
"""How the role of a relation of facts begins."""


def fixes_plan(
    model: str,
    fixes: Sequence[Fix],
    out: Path,
    topics: Sequence[tuple[Topic, ContextSet]],
    settings: AuditSettings,
    facts: Sequence[Relation] = (),
) -> Plan:
    """Plan the base, then every fix and its control.

    After the first topic come those that the fixes were not made for. Contexts are drawn once,
    before a prompt is added to them, so that all are asked the same ones.
    """
    stored = model.startswith(f"{RUN}:")
    served = not stored and _is_served(model)
    for fix in fixes:
        _check_fix(fix, model)
    if served and settings.load.sampled is None:
        settings = with_settings(settings, {"replies": AUTOMATIC_REPLIES})

    of_base = _audits_of_topics(model, topics, settings)
    if not (stored or served):
        of_base += _audits_of_facts(model, facts, settings)
    asked = [fix for fix in with_controls(fixes, out) if fix.kind != RUN]
    asked.sort(key=lambda fix: [*KINDS].index(fix.kind))
    if not stored:
        asked.insert(0, Fix(BASE, MODEL, model))

    in_chat = settings.load.chat or served
    folders = folder_names(fix.name for fix in asked)
    audits = []
    for fix in asked:
        # A control is asked about the first topic alone.
        for audit in of_base[:1] if fix.of else of_base:
            folder = f"{folders[fix.name]}-{folder_name(audit.role)}"
            labelled = replace(audit, label=fix.name, folder=folder)
            audits.append(_with_fix(labelled, fix, out, in_chat=in_chat))
    return Plan("fixes", audits)


def _is_served(model: str) -> bool:
    """Return whether a model is asked over the network, and not on this machine."""
    return ModelSpec.parse(model).place in (ModelSource.SERVER, *APPLICATIONS)


def _check_fix(fix: Fix, model: str) -> None:
    """Refuse a fix that cannot be done to the model, or is not there, before anything is asked."""
    stored = model.startswith(f"{RUN}:")
    if fix.kind in PROMPTS and stored:
        raise SettingsError(f"--fix {fix.name}: expected a model to ask, found {model}")
    if fix.kind == STEER and (stored or not _has_weights_here(model)):
        raise SettingsError(
            f"--fix {fix.name}: expected a model on this machine, found {model}"
        )
    if fix.kind == ADAPTED:
        check_adapter(Path(fix.value))
    if fix.kind == RUN:
        Run.load(fix.value)


def _has_weights_here(model: str) -> bool:
    """Return whether a model is loaded on this machine: neither served, nor made of formulas."""
    return not _is_served(model) and (
        ModelSpec.parse(model).place is not ModelSource.REFERENCE
    )


def _audits_of_topics(
    model: str,
    topics: Sequence[tuple[Topic, ContextSet]],
    settings: AuditSettings,
) -> list[PlannedRun]:
    """Return the audits of the base about every topic, the first one first."""
    most = settings.max_contexts
    settings = replace(settings, max_contexts=None)
    audits = []
    for number, (topic, contexts) in enumerate(topics):
        role = TOPIC if number == 0 else ALSO + topic.name
        drawn = contexts
        if most is not None:
            drawn = contexts.draw(most, seed=settings.seed)
        audits.append(PlannedRun(BASE, model, topic, drawn, settings, "", role=role))
    return audits


def _audits_of_facts(
    model: str, facts: Sequence[Relation], settings: AuditSettings
) -> list[PlannedRun]:
    """Return the audits of the base about facts, whose probabilities are always read."""
    load = replace(settings.load, sampled=None)
    exact = replace(settings, max_contexts=None, load=load)
    return [
        PlannedRun(
            BASE,
            model,
            relation.topic,
            relation.contexts,
            exact,
            "",
            role=f"{FACTS}{relation.name}",
        )
        for relation in facts
    ]


def _with_fix(planned: PlannedRun, fix: Fix, out: Path, *, in_chat: bool) -> PlannedRun:
    """Return the same audit of the fixed model.

    A prompt is the system message where the model is asked in a chat, and else stands before the
    sentence, as a prefix always does.
    """
    if fix.kind in (ADAPTED, MODEL):
        return replace(planned, model=fix.value)
    if fix.kind == STEER:
        return _with_load(planned, steer=str(vector_file(out, fix)))
    is_message = fix.kind == SYSTEM and in_chat
    if is_message and not planned.topic.readout.asks:
        # Before the request to write a sentence.
        request = planned.settings.load.chat_request
        messages = joined(((SYSTEM, fix.value), ("user", request)))
        return _with_load(planned, chat_request=messages)
    templates = [
        _with_prompt(template, fix.value, is_message=is_message)
        for template in planned.contexts.templates
    ]
    return replace(planned, contexts=replace(planned.contexts, templates=templates))


def _with_load(planned: PlannedRun, **options: str) -> PlannedRun:
    """Return an audit with other options of loading its model."""
    settings = with_settings(planned.settings, options)
    return replace(planned, settings=settings)


def _with_prompt(template: str, text: str, *, is_message: bool) -> str:
    """Return a template with a prompt before it: a system message, or the beginning of the first
    message of the user."""
    if not is_message and not is_conversation(template):
        return f"{text} {template}"
    messages = messages_of(template.removesuffix(Y).rstrip())
    role = SYSTEM if is_message else "user"
    first = next((message for message in messages if message["role"] == role), None)
    if first is None:
        messages.insert(0, {"role": role, "content": text})
    else:
        first["content"] = f"{text}\n\n{first['content']}"
    pairs = [(message["role"], message["content"]) for message in messages]
    return joined(pairs) + END + Y
