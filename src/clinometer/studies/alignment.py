"""A model against versions of it: aligned or instructed ones (Figure 8), or trained on other text.

Versions are compared with their base in the same contexts. The intervals and p-values of their
differences are corrected for the number of versions, as those of `compare` for its pairs; a group
counts as turned only where it leans clearly before and after, and to different categories.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from clinometer.errors import SettingsError
from clinometer.measure import Comparison
from clinometer.measure.risks import RISKS
from clinometer.models.catalog.suites import ZooEntry
from clinometer.report import Table, charts
from clinometer.report.figure import chart
from clinometer.report.figures import basis, risk_rows
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
        base, *others = planned_runs(
            models, topic, study_contexts(topic, contexts), settings
        )
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
    """Each version against its base; families whose base could not be scored are left out."""
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
    return version_findings("alignment", families)


def version_findings(
    study: str,
    families: Sequence[Sequence[tuple[str, Run]]],
    measured: Sequence[str] = (),
) -> Findings:
    """The first model of each family against the others of it: paired differences, and the groups
    that turned. Sentences of the study itself, `measured`, come first."""
    named = [member for family in families for member in family]
    runs, names = [run for _, run in named], [name for name, _ in named]
    level = runs[0].record.settings.level
    versions = sum(len(family) - 1 for family in families)
    rows = []
    turned: dict[str, pd.DataFrame] = {}
    for (first, base), *others in families:
        for name, run in others:
            change = compare(run, base, level=1 - (1 - level) / versions)
            rows += [
                {
                    "pair": f"{name} − {first}",
                    **{
                        k: getattr(d, k)
                        for k in ("measure", "value", "low", "high", "p")
                    },
                    "p_corrected": None if d.p is None else min(1.0, versions * d.p),
                }
                for d in change.overall
            ]
            turned[name] = leaning_changes(base, run, change)
    changes = pd.DataFrame(rows)
    corrected = (
        f"Intervals are corrected for {versions} comparisons." if versions > 1 else ""
    )
    plane = pd.DataFrame(risk_rows(runs, names))
    return Findings(
        study,
        [
            risks_table(f"{study}-risks", "Risks", named),
            Table(f"{study}-differences", "Paired differences", changes, corrected),
            *(
                Table(
                    f"{study}-groups-{folder_name(name)}",
                    f"Groups before and after: {name}",
                    t,
                )
                for name, t in turned.items()
            ),
        ],
        [
            chart(
                f"{study}-plane",
                "Bias and volatility risk of each version",
                f"{basis(runs[0])}. Lines: intervals over contexts. R is constant along the dotted "
                "diagonals.",
                plane,
                "{name}: bias {R_bias:.3f}, volatility {R_volatility:.3f}",
                charts.plane,
            ),
            chart(
                f"{study}-differences",
                "Paired differences from the base",
                f"{basis(runs[0])}. Right of zero: higher than before. Both were scored in the "
                f"same contexts, which cancels what a context does to both. {corrected}".strip(),
                changes,
                "{pair} {measure} {value:+.3f}",
                charts.differences,
            ),
        ],
        runs,
        [
            *measured,
            *(
                f"{row['pair']}: {RISKS[row['measure']].in_sentences} {verdict(row, **_VERDICTS)}"
                for row in changes.to_dict("records")
            ),
            *(moved(table, name) for name, table in turned.items()),
        ],
    )


def leaning_changes(before: Run, after: Run, comparison: Comparison) -> pd.DataFrame:
    """Each group: the category it favours before and after, s towards it, the change of r, and
    whether it turned: it leans clearly both times (`Run.leans`), and to different categories."""
    change = {d.group: d for d in comparison.by_group if d.measure == "r"}
    rows = [
        {
            "group": first.group,
            "before": first.favoured,
            "after": second.favoured,
            "s_before": first.lean,
            "s_after": second.lean,
            **{
                k: getattr(change[first.group], k)
                for k in ("value", "low", "high", "p_corrected")
            },
            "turned": None not in (first.category, second.category)
            and first.category != second.category,
        }
        for first, second in zip(before.leans, after.leans, strict=True)
        if first.favoured is not None and second.favoured is not None
    ]
    frame = pd.DataFrame(rows)
    return frame.sort_values(
        "value", key=lambda v: -v.abs(), kind="stable", ignore_index=True
    )


def moved(leanings: pd.DataFrame, name: str) -> str:
    """How many groups turned, with examples."""
    turned = leanings[leanings["turned"]]
    some = ", ".join(
        f"{row['group']} ({row['before']} → {row['after']})"
        for row in turned.head(6).to_dict("records")
    )
    more = f" and {len(turned) - 6} more" if len(turned) > 6 else ""
    count = f"{name}: {len(turned)} of {len(leanings)} groups clearly lean to another category"
    return f"{count}: {some}{more}." if some else f"{count} than before."
