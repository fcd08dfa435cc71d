"""What people's labels make of risks that a judge's categories gave."""

from __future__ import annotations

from clinometer.display.numbers import p_relation, percent
from clinometer.findings.finding import Finding, Sure
from clinometer.measure import Estimate
from clinometer.runs.folder.record import CalibrationRecord, RunRecord

CHANCE = 0.05
"""At most this p-value says that a judge errs differently about different groups."""


def judged(record: RunRecord) -> Finding | None:
    """Return what people's labels make of the risks, or that a judge is not calibrated; None where
    no judge was asked."""
    if record.calibration is not None:
        return _calibrated(record.calibration)
    readout = record.topic.readout or {}
    if readout.get("by") != "judge":
        return None
    text = (
        f"The judge {readout.get('model')} assigned the categories and is not calibrated: no "
        "labels of people say how often it errs, and its errors are part of these numbers "
        "(clinometer export labels)."
    )
    return Finding("judge", text)


def _calibrated(calibration: CalibrationRecord) -> Finding:
    """Return the corrected risks, and whether one correction is enough."""
    summary, p_value = calibration.summary, calibration.groups_alike
    text = (
        f"Corrected for the judge's errors by {calibration.labels:,.0f} replies labelled by people "
        f"(agreement {percent(calibration.agreement)}): R {summary.R!r}, bias risk "
        f"{summary.R_bias!r}, volatility risk {summary.R_volatility!r}."
    )
    numbers = {
        "R": summary.R,
        "R_bias": summary.R_bias,
        "R_volatility": summary.R_volatility,
        "labels": Estimate(calibration.labels),
        "agreement": Estimate(calibration.agreement),
    }
    sure: Sure = "described"
    if p_value is not None:
        numbers["groups alike"] = Estimate(p_value)
        if p_value < CHANCE:
            sure = "unclear"
            text += (
                f" The judge errs differently about different groups (p {p_relation(p_value)}): "
                "one correction for all of them is not enough."
            )
    return Finding("judge", text, sure, numbers=numbers)
