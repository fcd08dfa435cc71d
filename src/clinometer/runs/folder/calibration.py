"""Correct a run that a judge read by what people say of the same replies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from clinometer.errors import RunError, SettingsError
from clinometer.measure import RiskReport
from clinometer.measure.judge.calibrated import calibrated_risks
from clinometer.measure.judge.confusion import Confusion, unlike
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record_schema import CalibrationRecord, RunRecord, SummaryRecord
from clinometer.runs.run import Run


def labelled(
    people: Mapping[str, str],
    judge: Mapping[str, str],
    categories: Sequence[str],
    *,
    groups: Mapping[str, str] | None = None,
) -> tuple[Confusion, float | None]:
    """People's labels against the judge's, by id of the reply, ignoring case.

    Returns:
        Their confusion, and the p-value of equal errors in all groups of replies (`groups`, by
        id); None without groups, or where a group has too few labels.
    """
    if strange := [key for key in people if key not in judge]:
        raise SettingsError(
            f"labels: expected ids of the replies, found {strange[0]!r}; give the table of replies "
            "that was annotated"
        )
    names = {name.casefold(): name for name in categories}
    pairs = {key: (_name(people[key], names), _name(judge[key], names)) for key in people}
    confusion = Confusion.of(*_sides(pairs.values()), categories)
    if not groups:
        return confusion, None
    try:
        parts = [
            Confusion.of(*_sides(p for key, p in pairs.items() if groups.get(key) == g), categories)
            for g in sorted({groups[key] for key in pairs if key in groups})
        ]
    except SettingsError:
        return confusion, None
    return confusion, unlike(parts) if len(parts) > 1 else None


def calibrate(run: Run, confusion: Confusion, *, groups_alike: float | None = None) -> Run:
    """The run with its calibration, which is written to its folder.

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
    report = calibrated_report(run, confusion)
    record = CalibrationRecord(
        labels=int(confusion.counts.sum()),
        left_out=confusion.left_out,
        categories=list(confusion.categories),
        counts=confusion.counts.tolist(),
        agreement=confusion.agreement,
        kappa=confusion.kappa,
        groups_alike=groups_alike,
        summary=SummaryRecord(R=report.R, R_bias=report.R_bias, R_volatility=report.R_volatility),
    )
    run.record.calibration = record
    if run.path is not None:
        run.write(RunFolder(run.path))
    return run


def calibrated_report(run: Run, confusion: Confusion) -> RiskReport:
    """The risks of a run as people would have assigned its replies."""
    settings, p = run.record.settings, run.preferences
    clusters = settings.clusters
    return calibrated_risks(
        p.grid,
        confusion,
        samples=p.samples,
        norm=settings.norm,
        normalize=settings.normalize,
        level=settings.level,
        clusters=None if clusters is None else p.label(clusters),
    )


def judge_sentence(record: RunRecord) -> str:
    """For the first screen: the risks after calibration, or that a judge is not calibrated."""
    if record.calibration is not None:
        return calibration_sentence(record.calibration)
    readout = record.topic.readout or {}
    if readout.get("by") != "judge":
        return ""
    return (
        f"The judge {readout.get('model')} assigned the categories and is not calibrated: no "
        "labels of people say how often it errs, and its errors are part of these numbers "
        "(clinometer calibrate)."
    )


def calibration_sentence(found: CalibrationRecord) -> str:
    """What people's labels make of the risks."""
    s, before = found.summary, f"{found.labels:,} replies labelled by people"
    more = ""
    if found.groups_alike is not None and found.groups_alike < 0.05:
        more = (
            " The judge errs differently about different groups "
            f"(p = {found.groups_alike:.2g}): one correction for all of them is not enough."
        )
    return (
        f"Corrected for the judge's errors by {before} (agreement {found.agreement:.0%}): R "
        f"{s.R!r}, bias risk {s.R_bias!r}, volatility risk {s.R_volatility!r}.{more}"
    )


def _name(label: str, names: Mapping[str, str]) -> str:
    return names.get(label.strip().casefold(), "")


def _sides(pairs: Iterable[tuple[str, str]]) -> tuple[list[str], list[str]]:
    both = list(pairs)
    return [a for a, _ in both], [b for _, b in both]
