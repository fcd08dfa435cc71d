"""The gate as an assertion, for a test suite."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from clinometer.errors import SettingsError
from clinometer.gate.decision import GateDecision, decide
from clinometer.runs import Run


def assert_not_worse(
    run: Run | str | Path,
    baseline: Run | str | Path,
    *,
    cannot_tell: Literal["fail", "pass"] = "fail",
    **how: Any,
) -> GateDecision:
    """Raise AssertionError unless the run is not worse than its baseline by more than the margin.

    Args:
        run, baseline: runs or their folders, of the same topic and contexts.
        cannot_tell: what an interval on both sides of the margin does: "fail", because it does not
            show that the run is not worse, or "pass".
        how: margin, margin_points, margin_rate, measures, align and clusters, as in
            `clinometer gate`.

    Returns the decision, whose `verdict` is "not worse", or "cannot tell" where that passes.
    """
    if cannot_tell not in ("fail", "pass"):
        raise SettingsError(
            f"cannot_tell: expected fail or pass, found {cannot_tell!r}"
        )
    decision = decide(run, baseline, **how)
    verdict = decision.verdict
    if verdict == "worse" or (verdict == "cannot tell" and cannot_tell == "fail"):
        raise AssertionError(
            f"{decision.run} against {decision.baseline}: {verdict}: {decision.reason}"
        )
    return decision
