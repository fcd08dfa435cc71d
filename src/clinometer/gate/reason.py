"""What a decision of the gate rests on, and what a reader must know besides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

from clinometer.display.numbers import counted, percent
from clinometer.gate.row import GatedRow
from clinometer.gate.silence import Silence
from clinometer.measure import Comparison
from clinometer.runs import Run
from clinometer.runs.several_runs import resampling_note

Verdict = Literal["worse", "not worse", "cannot tell"]

LEAST_SHARED = 0.9
"""The share of the baseline that must have been compared for a run to pass."""

NAMED_GROUPS = 5
"""The most groups that a note names."""


def verdict_of_rows(rows: Sequence[GatedRow]) -> Verdict:
    """Return what several rows say together: one that is worse decides."""
    verdicts = {row.verdict for row in rows}
    if "worse" in verdicts:
        return "worse"
    return "cannot tell" if "cannot tell" in verdicts else "not worse"


def reason(
    verdict: Verdict,
    rows: Sequence[GatedRow],
    comparison: Comparison,
    silence: Silence,
) -> str:
    """Return what the verdict rests on, and what would make it clear."""
    if silence.groups:
        return f"{silence.sentence()}: groups without an answer count against it."
    deciding = [row for row in rows if row.verdict == verdict] or list(rows)
    changes = " ".join(row.sentence for row in deciding)
    if verdict != "cannot tell":
        return changes
    if silence.compared < LEAST_SHARED and verdict_of_rows(rows) == "not worse":
        return (
            f"{changes} But only {percent(silence.compared)} of the baseline was compared, and a "
            f"run passes with {percent(LEAST_SHARED)}: audit both in the same contexts and about "
            "the same groups."
        )
    if any(row.because == "silence" for row in deciding):
        return (
            f"{silence.sentence()}: were all of them the worst, the rise would be above the "
            "margin. Ask for them again, or find out why they cannot be read."
        )
    if any(row.rise is None or row.rise.low is None for row in deciding):
        contexts = f"{comparison.n_eff:.1f} effective contexts"
        return f"{contexts} give no interval: audit both with more contexts."
    return f"{changes} {_what_it_takes(deciding, comparison)}"


def _what_it_takes(deciding: Sequence[GatedRow], comparison: Comparison) -> str:
    """Return how many contexts tell two equal models from one that is worse by the margin.

    The interval of a difference of 0 must end before the margin; its arms shrink with the root of
    the number of contexts.
    """
    times = 0.0
    for row in deciding:
        rise = row.rise
        if rise is None or rise.low is None or rise.high is None:
            continue
        longer_arm = max(rise.high - rise.value, rise.value - rise.low)
        times = max(times, (longer_arm / row.margin) ** 2)
    if times <= 1:
        return "The change is too near the margin for these contexts to place it."
    return (
        f"Equal models would need about {math.ceil(times * comparison.n_eff):,} effective "
        "contexts to be told from one that is worse by the margin; these are "
        f"{counted(comparison.n_contexts, 'context')}, {comparison.n_eff:.1f} effective."
    )


def notes(
    run: Run,
    baseline: Run,
    names: Sequence[str],
    comparison: Comparison,
    silence: Silence,
    rows: Sequence[GatedRow],
) -> list[str]:
    """Return what a reader of the decision must know besides its reason."""
    lines = []
    if any(row.unit and row.run * row.baseline < 0 for row in rows):
        lines.append(
            "A lean across the mean from the baseline's has grown by what is beyond it."
        )
    lines += _scale_notes(run, baseline)
    if silence.compared < 1:
        lines.append(f"{percent(silence.compared)} of the baseline was compared.")
    resampling = resampling_note(list(zip(names, (run, baseline), strict=True)))
    if resampling:
        lines.append(resampling)
    lines += _settings_notes(run, baseline)
    lines += _reply_notes(run, baseline)
    if silence.cells:
        lines.append(f"{silence.sentence()}; the upper end counts them as the worst.")
    lacking = comparison.missing_cells - silence.cells
    if lacking:
        lines.append(f"{counted(lacking, 'cell')} that the baseline lacks left out.")
    groups = baseline.preferences.groups
    omitted = [group for group in groups if group not in comparison.groups]
    if omitted:
        number = counted(len(omitted), "group")
        names_of_some = ", ".join(omitted[:NAMED_GROUPS])
        lines.append(f"{number} of the baseline not compared: {names_of_some}.")
    return lines


def _scale_notes(run: Run, baseline: Run) -> list[str]:
    scales = {run.preferences.categories, baseline.preferences.categories}
    if len(scales) == 1:
        return []
    ends = " and ".join(sorted(f"{scale[0]} … {scale[-1]}" for scale in scales))
    return [f"The runs hold other scores ({ends}); both are compared on one scale."]


def _settings_notes(run: Run, baseline: Run) -> list[str]:
    before, now = baseline.record.scoring, run.record.scoring
    differing = [
        f"{key} ({before.get(key, 'default')}, now {now.get(key, 'default')})"
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
    ]
    if not differing:
        return []
    return [f"The runs were scored with other settings: {', '.join(differing)}."]


def _reply_notes(run: Run, baseline: Run) -> list[str]:
    preferences = (run.preferences, baseline.preferences)
    if any(p.noisy for p in preferences):
        return ["So few replies a cell that most of R may be dice, in either run."]
    if any(p.counted for p in preferences):
        return ["Replies: what counting them adds to R is bracketed in each run."]
    return []
