"""What figures of a run share: the basis of its numbers, and its colours."""

from __future__ import annotations

from clinometer.report.charts.look import DECISION, MARK, category_colours
from clinometer.runs import Run


def basis(run: Run) -> str:
    """Return the basis of every number of a run; every chart shows it."""
    report = run.risks
    n_groups = len(report.groups) - len(report.missing_groups)
    text = (
        f"{n_groups} groups × {report.n_contexts:,} contexts, "
        f"{report.n_eff:,.1f} effective"
    )
    if report.missing_cells:
        text += f", {report.missing_cells:,} cells missing"
    return text


def palette(run: Run) -> list[str]:
    """Return a colour per category; of a decision a hue for the favourable answer, grey for the
    other."""
    favourable = run.outcome.coloured
    if favourable is None:
        return category_colours(len(run.preferences.categories))
    return [DECISION if y == favourable else MARK for y in range(2)]


def is_faint(run: Run) -> bool:
    """Return whether the words carry so little probability that their shares say nothing."""
    return run.findings[0].kind == "improbable"
