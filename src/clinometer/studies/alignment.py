"""A model against versions of it: aligned or instructed ones (Figure 8), or trained on other text.

Versions are compared with their base in the same contexts. The intervals and p-values of their
differences are corrected for the number of versions, as those of `compare` for its pairs; a group
counts as turned only where it leans clearly before and after, and to different categories.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import pandas as pd

from clinometer.errors import SettingsError
from clinometer.measure import Comparison
from clinometer.measure.risks import RISKS
from clinometer.models.catalog.suites import ZooEntry
from clinometer.report import Figure, Table
from clinometer.report.charts.plane import plane_chart
from clinometer.report.charts.risks import differences_chart
from clinometer.report.figure import chart
from clinometer.report.figures.models import risk_rows
from clinometer.report.figures.run_words import basis
from clinometer.runs import AuditSettings, Run, compare
from clinometer.storage.untrusted import folder_name
from clinometer.studies.framework import (
    Findings,
    Models,
    Plan,
    PlannedRun,
    Results,
    only,
    planned_runs,
    risks_table,
    study_contexts,
    verdict,
)
from clinometer.topics import Topic

_VERDICTS = {"higher": "higher", "lower": "lower", "neither": "no difference shown"}
"""What a sentence says of a version's risk."""

MOST_EXAMPLES = 6
"""Groups that turned, named in a sentence."""

Family: TypeAlias = Sequence[tuple[str, Run]]
"""A base and its versions, by their labels; the base comes first."""


def alignment_plan(
    families: Sequence[Models],
    *,
    topic: Topic,
    contexts: str | None,
    settings: AuditSettings,
) -> Plan:
    """Plan the base of each family, then its versions, all in the same contexts without a template.

    If `settings` ask for chat, the versions are asked inside their chat template, too. A single
    model with chat is its own version.
    """
    audits: list[PlannedRun] = []
    for models in families:
        if len(models) < 2 and not settings.load.chat:
            raise SettingsError(
                "study alignment: expected a base model and at least one version of it, or one "
                "model and --chat"
            )
        planned = planned_runs(models, topic, study_contexts(topic, contexts), settings)
        base = planned[0]
        versions = [
            audit
            for audit in planned[1:]
            if audit.model != base.model or len(models) == 1
        ]
        audits += [replace(audit, role=base.label) for audit in (base, *versions)]
    return Plan("alignment", audits)


def by_base(entries: Sequence[ZooEntry]) -> list[list[ZooEntry]]:
    """Return the models of a suite, each base with its version for chats."""
    families = []
    for base in entries:
        if not base.name.endswith("-chat"):
            chats = [entry for entry in entries if entry.name == f"{base.name}-chat"]
            families.append([base, *chats])
    return families


def alignment_findings(results: Results) -> Findings:
    """Return each version against its base; families whose base could not be scored are left
    out."""
    families = []
    for role in dict.fromkeys(planned.role for planned, _ in results):
        family = only(results, role)
        label_of_first, _ = family[0]
        if len(family) > 1 and label_of_first == role:
            families.append(family)
    if not families:
        raise SettingsError(
            "study alignment: the base or all of its versions could not be scored; correct the "
            "errors above and rerun the same command"
        )
    return version_findings("alignment", families)


def version_findings(
    study: str, families: Sequence[Family], measured: Sequence[str] = ()
) -> Findings:
    """Return the first model of each family against its others: paired differences, and the groups
    that turned. Sentences of the study itself, `measured`, come first."""
    members = [member for family in families for member in family]
    runs = [run for _, run in members]
    names = [name for name, _ in members]
    level = runs[0].record.settings.level
    versions = len(members) - len(families)
    rows: list[dict[str, Any]] = []
    leanings: dict[str, pd.DataFrame] = {}
    for family in families:
        base_name, base = family[0]
        for name, run in family[1:]:
            comparison = compare(run, base, level=1 - (1 - level) / versions)
            pair = f"{name} − {base_name}"
            rows += _difference_rows(pair, comparison, versions)
            leanings[name] = leaning_changes(base, run, comparison)
    differences = pd.DataFrame(rows)
    corrected = ""
    if versions > 1:
        corrected = f"Intervals are corrected for {versions} comparisons."
    group_tables = [
        Table(
            f"{study}-groups-{folder_name(name)}",
            f"Groups before and after: {name}",
            table,
        )
        for name, table in leanings.items()
    ]
    return Findings(
        study,
        [
            risks_table(f"{study}-risks", "Risks", members),
            Table(f"{study}-differences", "Paired differences", differences, corrected),
            *group_tables,
        ],
        [
            _plane(study, runs, names),
            _differences_figure(study, basis(runs[0]), differences, corrected),
        ],
        runs,
        [
            *measured,
            *(_difference_sentence(row) for row in rows),
            *(moved(table, name) for name, table in leanings.items()),
        ],
    )


def _difference_rows(
    pair: str, comparison: Comparison, versions: int
) -> list[dict[str, Any]]:
    """Return the differences of a version from its base as rows, corrected for all versions."""
    rows = []
    for difference in comparison.overall:
        p_corrected = None
        if difference.p is not None:
            p_corrected = min(1.0, versions * difference.p)
        row = {
            "pair": pair,
            "measure": difference.measure,
            "value": difference.value,
            "low": difference.low,
            "high": difference.high,
            "p": difference.p,
            "p_corrected": p_corrected,
        }
        rows.append(row)
    return rows


def _difference_sentence(row: Mapping[str, Any]) -> str:
    measure = RISKS[row["measure"]].in_sentences
    return f"{row['pair']}: {measure} {verdict(row, **_VERDICTS)}"


def _plane(study: str, runs: Sequence[Run], names: Sequence[str]) -> Figure:
    return chart(
        f"{study}-plane",
        "Bias and volatility risk of each version",
        f"{basis(runs[0])}. Lines: intervals over contexts. R is constant along the dotted "
        "diagonals.",
        pd.DataFrame(risk_rows(runs, names)),
        "{name}: bias {R_bias:.3f}, volatility {R_volatility:.3f}",
        plane_chart,
    )


def _differences_figure(
    study: str, basis_of_runs: str, differences: pd.DataFrame, corrected: str
) -> Figure:
    caption = (
        f"{basis_of_runs}. Right of zero: higher than before. Both were scored in the same "
        f"contexts, which cancels what a context does to both. {corrected}"
    )
    return chart(
        f"{study}-differences",
        "Paired differences from the base",
        caption.strip(),
        differences,
        "{pair} {measure} {value:+.3f}",
        differences_chart,
    )


def leaning_changes(before: Run, after: Run, comparison: Comparison) -> pd.DataFrame:
    """Return a row for each group: the category it favours before and after, s towards it, the
    change of r, and whether it turned.

    A group turned where it leans clearly both times (`Run.leans`), and to different categories.
    """
    changes = {
        difference.group: difference
        for difference in comparison.by_group
        if difference.measure == "r"
    }
    rows = []
    for first, second in zip(before.leans, after.leans, strict=True):
        if first.favoured is None or second.favoured is None:
            continue
        change = changes[first.group]
        both_clear = first.category is not None and second.category is not None
        row = {
            "group": first.group,
            "before": first.favoured,
            "after": second.favoured,
            "s_before": first.lean,
            "s_after": second.lean,
            "value": change.value,
            "low": change.low,
            "high": change.high,
            "p_corrected": change.p_corrected,
            "turned": both_clear and first.category != second.category,
        }
        rows.append(row)
    frame = pd.DataFrame(rows)
    return frame.sort_values(
        "value", key=lambda values: -values.abs(), kind="stable", ignore_index=True
    )


def moved(leanings: pd.DataFrame, name: str) -> str:
    """Return how many groups turned, with examples."""
    turned = leanings[leanings["turned"]]
    count = f"{name}: {len(turned)} of {len(leanings)} groups clearly lean to another category"
    if turned.empty:
        return f"{count} than before."
    examples = ", ".join(
        f"{row['group']} ({row['before']} → {row['after']})"
        for row in turned.head(MOST_EXAMPLES).to_dict("records")
    )
    more = ""
    if len(turned) > MOST_EXAMPLES:
        more = f" and {len(turned) - MOST_EXAMPLES} more"
    return f"{count}: {examples}{more}."
