"""A data card of a benchmark's reliability: a page of Markdown to publish beside the data."""

from __future__ import annotations

from clinometer import __version__
from clinometer.display.numbers import between, risk
from clinometer.reliability.scoring.notes import reading_notes
from clinometer.reliability.scoring.result import ReliabilityRun


def data_card(run: ReliabilityRun) -> str:
    """What was scored, by what, with what result, and what it does not say."""
    record, frame = run.record, run.statements
    sources = frame["source"].replace("", "not named").value_counts()
    lines = [
        "# Contextual reliability",
        "",
        f"Clinometer {__version__}, {record.created[:10]}. COBIAS (Govil et al.) of "
        f"{len(frame):,} statements; {int(frame['cobias'].notna().sum()):,} have a score.",
        "",
        "| | |",
        "|---|---|",
        f"| statements | {'; '.join(f'{_cell(str(k))}: {n:,}' for k, n in sources.items())} |",
        f"| scoring models | {'; '.join(_cell(m.id) for m in record.models)} |",
        f"| versions written by | {_cell(record.versions_by or 'not known')} |",
        f"| versions scored | {int(frame['scored'].sum()):,} |",
    ]
    for name, found in record.summary.items():
        if found is not None:
            ends = between(found.low, found.high, to=" to ")
            lines.append(f"| mean {name} | {risk(found.value)}{f' ({ends})' if ends else ''} |")
    lines += ["", "## How to read it", ""]
    lines += [f"- {note}" for note in reading_notes(record)]
    lines += [
        "- COBIAS is how much added context changes what these models make of a statement; that a "
        "change shows missing context is the method's premise. A score says nothing about whether "
        "a statement is true, harmful or a stereotype.",
        "- Statements are quoted as published and may be offensive.",
        "",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text from elsewhere in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
