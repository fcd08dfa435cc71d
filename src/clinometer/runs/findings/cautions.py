"""What a reader must know beside the findings of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clinometer.display.numbers import counted
from clinometer.display.text import brief

if TYPE_CHECKING:
    from clinometer.runs.run import Run

MANY = 0.01
"""The share of cells with little probability that is worth a line."""

MOST_WORDS = 8
"""Words of a list that the model cannot write, of which so many are named."""


def cautions(run: Run) -> list[str]:
    """Return what a reader must know before using the numbers."""
    record, counts = run.record, run.record.counts
    n_cells = counts.get("cells", 0)
    cells = counted(n_cells, "cell")
    lines = []
    without = len(run.risks.missing_groups)
    if without:
        lines.append(f"groups without any answer: {without} of {len(run.risks.groups)}")
    missing = counts.get("cells_missing")
    if missing:
        lines.append(f"no answer in {missing:,} of {cells}")
    low = counts.get("cells_low_coverage", 0)
    if low > MANY * n_cells:
        lines.append(
            f"less than {record.settings.coverage_threshold:g} of the probability in {low:,} of "
            f"{cells}; there the model hardly ever gives any of the words, and the preference is "
            "close to noise"
        )
    if record.words and record.words.unwritable:
        words = [brief(word, 30) for word in record.words.unwritable[:MOST_WORDS]]
        lines.append(f"not in the model's vocabulary: {', '.join(words)}")
    if record.words and record.words.restricted:
        left_out = counted(len(record.words.restricted), "word")
        lines.append(f"{left_out} of several tokens left out, as asked")
    return [f"Caution: {line}." for line in lines]
