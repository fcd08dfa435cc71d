"""Figure 8: a base model against aligned, instructed or otherwise trained versions of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from clinometer.errors import SettingsError
from clinometer.models.catalog.suites import ZooEntry
from clinometer.runs import AuditSettings
from clinometer.studies.framework import (
    Findings,
    Models,
    Plan,
    PlannedRun,
    Results,
    only,
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
    families: Sequence[Models],
    *,
    topic: Topic,
    contexts: str | None,
    settings: AuditSettings,
) -> Plan:
    """Of each family the base first, then its versions, all in the same contexts without a
    template; if `settings` ask for chat, the versions also inside their chat template. A single
    model with chat is its own version."""
    audits: list[PlannedRun] = []
    for models in families:
        if len(models) < 2 and not settings.load.chat:
            raise SettingsError(
                "study alignment: expected a base model and at least one version of it, or one "
                "model and --chat"
            )
        base, *others = planned_runs(models, topic, study_contexts(topic, contexts), settings)
        kept = [a for a in others if a.model != base.model or len(models) == 1]
        audits += [replace(a, role=base.label) for a in (base, *kept)]
    return Plan("alignment", audits)


def by_base(entries: Sequence[ZooEntry]) -> list[list[ZooEntry]]:
    """The models of a suite, each base with its version for chats."""
    return [
        [base, *(e for e in entries if e.name == f"{base.name}-chat")]
        for base in entries
        if not base.name.endswith("-chat")
    ]


def alignment_findings(results: Results) -> Findings:
    """Each version against its base: paired differences, and the groups whose leaning flipped."""
    families = [
        family
        for role in dict.fromkeys(planned.role for planned, _ in results)
        if len(family := only(results, role)) > 1 and family[0][0] == role
    ]
    if not families:
        raise SettingsError(
            "study alignment: the base or all of its versions could not be scored; correct the "
            "errors above and rerun the same command"
        )
    return version_findings(
        "alignment",
        f"{', '.join(family[0][0] for family in families)} and their versions (Figure 8)"
        if len(families) > 1
        else f"{families[0][0][0]} and its versions (Figure 8)",
        families,
        risks="Risks",
        change="Before and after alignment",
        after=_MAY,
    )
