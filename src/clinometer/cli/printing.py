"""How results are printed: tables for people, one JSON object for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console

from clinometer.cli.table import TerminalTable
from clinometer.display.names import MEASURES, NARROW_HEADINGS
from clinometer.display.numbers import between, risk
from clinometer.display.visible import CONTROLS, one_line, visible

if TYPE_CHECKING:
    from clinometer.measure import Estimate, RiskReport

REFERENCE_ROWS = (
    ("ideally unbiased", "unbiased"),
    ("stereotyped", "stereotyped"),
    ("randomly stereotyped", "random"),
)


class _Output(Console):
    """Prints other people's text: names of models, groups, files. None of it is markup, and none
    of it moves the cursor."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*(visible(o) if isinstance(o, str) else o for o in objects), **options)

    def on_broken_pipe(self) -> None:
        """rich would exit with status 1, which here means that a threshold failed."""
        raise BrokenPipeError


def console() -> Console:
    """Where results go; colours only on a terminal."""
    return _Output(highlight=False, markup=False, emoji=False)


def say(text: object, *, prefix: str = "clinometer: ") -> None:
    """One line on stderr."""
    sys.stderr.write(f"{prefix}{one_line(text)}\n")


def print_json(result: dict[str, Any]) -> None:
    """One object on stdout; what a terminal would obey is written as JSON's escapes."""
    text = json.dumps(result, ensure_ascii=False, allow_nan=False)
    print(CONTROLS.sub(lambda m: json.dumps(m[0])[1:-1], text))  # noqa: T201


def number(estimate: Estimate) -> str:
    """0.482, with its interval on the next line, 0.455–0.507."""
    return f"{risk(estimate.value)}\n{between(estimate.low, estimate.high)}".rstrip()


def risk_table(
    rows: list[tuple[str, RiskReport]],
    *,
    title: str,
    reference: Any,
    bounds: Mapping[str, Any] | None = None,
    floors: Mapping[str, Any] | None = None,
) -> TerminalTable:
    """The reference models, then the models: R, its two components, and the number of contexts.

    Under a model: how much of R its groups share and how much differs between them; by label, the
    `floors` from shuffled words and the `bounds` of models whose rare words are only bounded.
    """
    from clinometer.measure import reference_risks

    table = TerminalTable(title).add_text("model")
    table.add_numbers(*NARROW_HEADINGS, "n", "n_eff")
    for label, name in REFERENCE_ROWS:
        risks = reference_risks(name, categories=reference)  # type: ignore[arg-type]
        table.add_row(label, *map(risk, risks), "", "", dim=True)
    table.add_section()
    for label, report in rows:
        table.add_row(
            label,
            number(report.R),
            number(report.R_bias),
            number(report.R_volatility),
            str(report.n_contexts),
            f"{report.n_eff:.1f}",
        )
        if report.R_shared is not None and report.R_between is not None:
            table.add_row("  same for all groups", number(report.R_shared), "", "", "", "")
            table.add_row("  between groups", number(report.R_between), "", "", "", "")
        if floors and (floor := floors.get(label)) is not None:
            by_chance = [number(getattr(floor, name)) for name in MEASURES]
            table.add_row("  shuffled words", *by_chance, "", "", dim=True)
        if bounds and label in bounds:
            ends = [between(*getattr(bounds[label], n)) for n in MEASURES]
            table.add_row("  between", *ends, "", "")
    return table
