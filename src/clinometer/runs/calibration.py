"""Correct a run whose replies a judge assigned to categories, by labels of people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.display.text import Plain
from clinometer.errors import RunError, SettingsError
from clinometer.measure.confusion import Confusion, unlike
from clinometer.measure.judge import calibrated_risks
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import CalibrationRecord, SummaryRecord
from clinometer.runs.run import Run
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.shares import share


def labelled(
    people: Mapping[str, str],
    judge: Mapping[str, str],
    categories: Sequence[str],
    *,
    groups: Mapping[str, str] | None = None,
) -> tuple[Confusion, float | None]:
    """Return people's labels against the judge's, by id of the reply, ignoring case.

    Returns:
        Their confusion, and the p-value of equal errors in all groups of replies (`groups`, by
        id); None without groups, or where a group has too few labels.
    """
    unknown = [key for key in people if key not in judge]
    if unknown:
        raise SettingsError(
            f"labels: expected ids of the replies, found {unknown[0]!r}; give the table of replies "
            "that was annotated"
        )
    confusion = _confusion(people, judge, categories, list(people))
    if not groups:
        return confusion, None
    names = sorted({groups[key] for key in people if key in groups})
    try:
        by_group = [
            _confusion(
                people, judge, categories, [k for k in people if groups.get(k) == name]
            )
            for name in names
        ]
    except SettingsError:
        return confusion, None
    return confusion, unlike(by_group) if len(by_group) > 1 else None


def _confusion(
    people: Mapping[str, str],
    judge: Mapping[str, str],
    categories: Sequence[str],
    keys: Collection[str],
) -> Confusion:
    """Return the confusion of some of the replies."""
    names = {name.casefold(): name for name in categories}

    def labels(by_id: Mapping[str, str]) -> list[str]:
        return [names.get(_compared(by_id[key]), "") for key in keys]

    return Confusion.of(labels(people), labels(judge), categories)


def _compared(label: str) -> str:
    """Return a label as it is compared: no case, no spaces around it."""
    return label.strip().casefold()


@dataclass(frozen=True)
class GroupErrors(Plain):
    """How often the judge errs about a group."""

    group: str
    """The group that the replies are about."""

    n: int
    """Its labelled replies."""

    errors: Estimate
    """The share of them that the judge labels otherwise."""

    p: float
    """The p-value of as many errors about all others, times the number of groups."""


def errors_by_group(
    people: Mapping[str, str], judge: Mapping[str, str], groups: Mapping[str, str]
) -> list[GroupErrors]:
    """Return the errors about each group of labelled replies, the most frequent first: one
    correction for all is wrong where a judge errs about a single one."""
    from scipy.stats import fisher_exact  # loads slowly

    by_group: dict[str, Counter[bool]] = defaultdict(Counter)
    for key, label in people.items():
        if key in judge and key in groups:
            is_error = _compared(label) != _compared(judge[key])
            by_group[groups[key]][is_error] += 1
    total = sum(by_group.values(), Counter[bool]())
    rows = []
    for group, counts in by_group.items():
        others = total - counts
        table = np.array([[c[True], c[False]] for c in (counts, others)])
        p_value = float(fisher_exact(table).pvalue) * len(by_group)
        n = counts.total()
        rows.append(GroupErrors(group, n, share(counts[True], n), min(1.0, p_value)))
    return sorted(rows, key=lambda row: -row.errors.value)


def calibrate(
    run: Run, confusion: Confusion, *, groups_alike: float | None = None
) -> Run:
    """Return the run with its calibration, which is written to its folder.

    The categories of the confusion must be those of the run. `groups_alike` is the p-value of
    `labelled`.
    """
    if confusion.categories != run.preferences.categories:
        raise RunError(
            f"{run.model}: expected labels of {', '.join(run.preferences.categories)}, found "
            f"{', '.join(confusion.categories)}"
        )
    if run.record.topic.reference == "group-mean":
        raise RunError(
            f"{run.model}: expected a reference that does not depend on the judge, found "
            'group-mean; audit with reference = "uniform" to calibrate'
        )
    settings = run.record.settings
    p = run.preferences
    report = calibrated_risks(
        p.grid,
        confusion,
        samples=p.samples,
        level=settings.level,
        clusters=None if settings.clusters is None else p.label(settings.clusters),
    )
    record = CalibrationRecord(
        labels=int(confusion.counts.sum()),
        left_out=confusion.left_out,
        categories=list(confusion.categories),
        counts=confusion.counts.tolist(),
        agreement=confusion.agreement,
        kappa=confusion.kappa,
        groups_alike=groups_alike,
        summary=SummaryRecord.model_validate(report.summary),
    )
    run.record.calibration = record
    if run.path is not None:
        run.write(RunFolder(run.path))
    return run
