"""The gate as an assertion, for a test suite."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from clinometer.errors import SettingsError
from clinometer.gate.decision import MARGIN, GateDecision, decide
from clinometer.gate.watchers import WATCHERS
from clinometer.runs import Run


def assert_not_worse(
    run: Run | str | Path,
    baseline: Run | str | Path,
    *,
    margin: float = MARGIN,
    measures: Sequence[str] = ("R",),
    cannot_tell: Literal["fail", "pass"] = "fail",
    clusters: str | None = None,
) -> GateDecision:
    """Raise AssertionError unless the run is not worse than its baseline by more than the margin.

    Args:
        run, baseline: runs or their folders, of the same topic and contexts.
        margin, measures, clusters: as in `clinometer gate`.
        cannot_tell: what an interval on both sides of the margin does: "fail", because it does not
            show that the run is not worse, or "pass".

    Returns the decision, whose `verdict` is "not worse", or "cannot tell" where that passes.
    """
    if cannot_tell not in ("fail", "pass"):
        raise SettingsError(f"cannot_tell: expected fail or pass, found {cannot_tell!r}")
    found = decide(run, baseline, margin=margin, measures=measures, clusters=clusters)
    for watcher in WATCHERS:
        watcher(found)
    if found.verdict == "worse" or (found.verdict == "cannot tell" and cannot_tell == "fail"):
        raise AssertionError(
            f"{found.run} against {found.baseline}: {found.verdict}: {found.reason}"
        )
    return found
