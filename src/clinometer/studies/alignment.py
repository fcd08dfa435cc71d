"""Figure 8: a base model against aligned, instructed or otherwise trained versions of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clinometer.errors import SettingsError
from clinometer.models.catalog.spec import folder_name
from clinometer.runs import AuditSettings
from clinometer.studies.framework import (
    Findings,
    Plan,
    Results,
    planned_runs,
    study_contexts,
    version_findings,
)
from clinometer.topics import Topic

_MAY = (
    "Versions may differ in more than their alignment: data, length of training, format. A "
    "difference here describes these two models on these contexts.",
)


def alignment_plan(
    models: Sequence[str],
    *,
    topic: Topic,
    contexts: str | None,
    settings: AuditSettings,
    chat: bool = False,
) -> Plan:
    """The base first, then its versions, all in the same contexts without a template; with `chat`
    the versions also inside their chat template. A single model with `chat` is its own version."""
    if len(models) < 2 and not chat:
        raise SettingsError(
            "study alignment: expected a base model and at least one version of it, or one model "
            "and --chat"
        )
    audits = planned_runs(models, topic, study_contexts(topic, contexts), settings)
    if chat:
        inside = replace(settings, load=replace(settings.load, chat=True))
        audits += tuple(
            replace(a, label=f"{a.label} (chat)", folder=f"{a.folder}-chat", settings=inside)
            for a in audits[1:] or audits
        )
    return Plan("alignment", audits)


def alignment_findings(results: Results) -> Findings:
    """Each version against the base: paired differences, and the groups whose leaning flipped."""
    named = [(planned.label, run) for planned, run in results]
    if len(named) < 2:
        raise SettingsError(
            "study alignment: the base or all of its versions could not be scored; correct the "
            "errors above and rerun the same command"
        )
    return version_findings(
        "alignment",
        f"{named[0][0]} and its versions (Figure 8)",
        named,
        [folder_name(name) for name, _ in named[1:]],
        risks="Risks",
        change="Before and after alignment",
        after=_MAY,
    )
