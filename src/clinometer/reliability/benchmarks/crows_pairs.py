"""CrowS-Pairs (Nangia et al. 2020): crows_pairs_anonymized.csv, and its French translation.

The statement is the sentence about the disadvantaged group, as in COBIAS: `sent_more` of a
stereotype, `sent_less` of an anti-stereotype. The main target term comes from the merged pair.
"""

from __future__ import annotations

from pathlib import Path

from clinometer.reliability.benchmarks.files import need_columns, read_rows
from clinometer.reliability.pair_merge import merge, target_term
from clinometer.reliability.statement import Statement

COLUMNS = ("sent_more", "sent_less", "stereo_antistereo", "bias_type")


def read_crows_pairs(path: Path) -> list[Statement]:
    """One statement per pair."""
    rows = read_rows(path)
    need_columns(path, rows, COLUMNS)
    found = []
    for i, row in enumerate(rows):
        pair = (row["sent_more"], row["sent_less"])
        side = 1 if row["stereo_antistereo"] == "antistereo" else 0
        term = target_term(merge(*pair), side=side)
        found.append(
            Statement(
                id=f"cs_{i}",
                text=pair[side],
                targets=(term,) if term else (),
                category=row["bias_type"],
                source="crows-pairs",
                other=pair[1 - side],
                direction=row["stereo_antistereo"],
            )
        )
    return found
