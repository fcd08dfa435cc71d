"""The table of models and their risks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from clinometer.cli.printing import print_rows
from clinometer.display.numbers import between, risk
from clinometer.measure import Estimate, RiskReport
from clinometer.measure.risks import CONTEXT_RISKS, MEASURES, RISKS


def number(estimate: Estimate) -> str:
    """Return 0.482, with its interval on the next line, 0.455–0.507."""
    return f"{risk(estimate.value)}\n{between(estimate.low, estimate.high)}".rstrip()


def print_risks(
    named: Sequence[tuple[str, RiskReport]],
    *,
    title: str,
    bounds: Mapping[str, Any] | None = None,
    floors: Mapping[str, Any] | None = None,
) -> None:
    """Print the models: R, its two components, and the number of contexts.

    Under a model: how much of R its groups share and how much differs between them; by label, the
    `floors` from shuffled words and the `bounds` of models whose rare words are only bounded.
    """
    rows: list[tuple[str, ...]] = []
    dim: list[int] = []
    for label, report in named:
        numbers = [number(getattr(report, name)) for name in MEASURES]
        rows.append((label, *numbers, str(report.n_contexts), f"{report.n_eff:.1f}"))
        for mean in CONTEXT_RISKS:
            estimate = report.summary.get(mean.name)
            if estimate is not None:
                rows.append((f"  {mean.label}", number(estimate), "", "", "", ""))
        floor = (floors or {}).get(label)
        if floor is not None:
            dim.append(len(rows))
            by_chance = [number(getattr(floor, name)) for name in MEASURES]
            rows.append(("  shuffled words", *by_chance, "", ""))
        bound = (bounds or {}).get(label)
        if bound is not None:
            ends = [between(*getattr(bound, name)) for name in MEASURES]
            rows.append(("  between", *ends, "", ""))
    headings = [RISKS[name].narrow_heading for name in MEASURES]
    print_rows(title, ["model", *headings, "n", "n_eff"], rows, dim=dim)
