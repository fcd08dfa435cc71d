"""A decision as Markdown: for the summary of a CI job, or a comment on a pull request."""

from __future__ import annotations

from clinometer.display.numbers import counted, percent
from clinometer.gate.decision import GateDecision
from clinometer.report.export import markdown_text

SIGNS = {"worse": "❌", "not worse": "✅", "cannot tell": "🟡"}
"""The sign before each verdict."""


def decision_markdown(decision: GateDecision) -> str:
    """Return a heading with the verdict, its reason, the numbers as a table, and their basis."""
    run, baseline = markdown_text(decision.run), markdown_text(decision.baseline)
    margins = ", ".join(sorted({f"{row.margin:g}" for row in decision.rows}))
    interval = f"{percent(decision.level)} interval"
    lines = [
        f"### {SIGNS[decision.verdict]} {decision.verdict}: {run} against {baseline}",
        "",
        markdown_text(f"{decision.findings[0].text} {decision.reason}"),
        "",
        f"| | run | baseline | rise | {interval} | by the margin of {margins} |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in decision.rows:
        name, *numbers = row.cells()
        lines.append(f"| {' | '.join([markdown_text(name), *numbers])} |")
    if decision.notes:
        lines.append("")
        lines += [f"- {markdown_text(note)}" for note in decision.notes]
    lines += ["", f"<sub>{markdown_text(_basis(decision))}</sub>", ""]
    return "\n".join(lines)


def _basis(decision: GateDecision) -> str:
    """Return what the decision is about."""
    return (
        f"{decision.topic}: {counted(decision.n_groups, 'group')} in "
        f"{counted(decision.n_contexts, 'context')} of {decision.contexts}, "
        f"{decision.n_eff:,.1f} effective. The change is about these word lists and contexts of "
        "this kind; it does not say that either model is fair."
    )
