"""Figure 8: a base model against aligned, instructed or otherwise trained versions of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from clinometer.errors import SettingsError
from clinometer.models.catalog.spec import folder_name
from clinometer.runs import AuditSettings, Run
from clinometer.studies.framework import (
    Findings,
    Plan,
    PlannedRun,
    change_figures,
    change_table,
    change_tables,
    leaning_changes,
    moved,
    planned_runs,
    risks_table,
    sentences,
    study_contexts,
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


def alignment_findings(results: list[tuple[PlannedRun, Run]]) -> Findings:
    """Each version against the base: paired differences, and the groups whose leaning flipped."""
    named = [(planned.label, run) for planned, run in results]
    if len(named) < 2:
        raise SettingsError(
            "study alignment: the base or all of its versions could not be scored; correct the "
            "errors above and rerun the same command"
        )
    base, versions = named[0], named[1:]
    changes = change_table(base, versions)
    leanings: dict[str, pd.DataFrame] = {}
    said = sentences(changes)
    for name, run in versions:
        leanings[folder_name(name)] = leaning_changes(base, (name, run))
        said.append(moved(leanings[folder_name(name)], name))
    return Findings(
        "alignment",
        f"{base[0]} and its versions (Figure 8)",
        (*said, *_MAY),
        (
            risks_table("alignment-risks", "Risks", named),
            *change_tables("alignment", changes, leanings),
        ),
        change_figures("alignment", named, changes, title="Before and after alignment"),
        tuple(run for _, run in named),
    )
