"""A decision as Markdown: for the summary of a CI job, or a comment on a pull request."""

from __future__ import annotations

from clinometer.display.names import HEADINGS
from clinometer.display.numbers import counted, show
from clinometer.gate.decision import GateDecision, GatedRisk
from clinometer.report.export import markdown_text

SIGNS = {"worse": "❌", "not worse": "✅", "cannot tell": "❔"}


def gated_row(one: GatedRisk) -> tuple[str, ...]:
    """A risk as a row: its name, the run, the baseline, the change, its interval, the verdict."""
    ends = f"{show(one.low, 'signed')} to {show(one.high, 'signed')}"
    return (
        HEADINGS[one.measure],
        show(one.run, "risk"),
        show(one.baseline, "risk"),
        show(one.difference, "signed"),
        "–" if one.low is None else ends,
        one.verdict,
    )


def decision_markdown(found: GateDecision) -> str:
    """A heading with the verdict, its reason, the risks as a table, and what they rest on."""
    between = f"{markdown_text(found.run)} against {markdown_text(found.baseline)}"
    lines = [
        f"### {SIGNS[found.verdict]} {found.verdict}: {between}",
        "",
        markdown_text(found.reason),
        "",
        f"| risk | run | baseline | change | {found.level:.0%} interval | by a margin of "
        f"{found.margin:g} |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for one in found.risks:
        lines.append(f"| {' | '.join(gated_row(one))} |")
    basis = (
        f"{found.topic}: {counted(found.n_groups, 'group')} in "
        f"{counted(found.n_contexts, 'context')} of {found.contexts}, {found.n_eff:,.1f} "
        "effective. The change is about these word lists and contexts of this kind; it does not "
        "say that either model is fair."
    )
    if found.notes:
        lines += ["", *(f"- {markdown_text(note)}" for note in found.notes)]
    lines += ["", f"<sub>{markdown_text(basis)}</sub>", ""]
    return "\n".join(lines)
