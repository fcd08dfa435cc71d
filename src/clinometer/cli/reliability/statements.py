"""clinometer reliability statements: a benchmark as one plain table."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import SEED
from clinometer.cli.printing import console, print_json
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    StatementsArgument,
    read_statements,
    write_frame,
)
from clinometer.cli.table import TerminalTable


def statements_command(
    sources: StatementsArgument,
    out: Annotated[Path | None, opt("Write the statements to a .csv or .parquet file.")] = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: SEED = 0,
    json_output: JSON = False,
) -> None:
    """Read a benchmark: its statements, target terms and merged pairs.

    Reads CrowS-Pairs, StereoSet, WinoBias, Winogender, RedditBias, COBIAS and your own tables. You
    can edit the table it writes (target_term, context_points) and read it back. Benchmarks contain
    offensive sentences.
    """
    import pandas as pd

    from clinometer.reliability.benchmarks.generic_table import statement_row

    found = read_statements(sources, format=format, limit=limit, seed=seed)
    categories = Counter(s.category or "–" for s in found)
    counts = {
        "statements": len(found),
        "pairs": sum(s.other is not None for s in found),
        "without_target": sum(not s.targets for s in found),
        "target_not_in_sentence": sum(not s.has_its_targets for s in found),
        "with_points": sum(s.points is not None for s in found),
    }
    if out is not None:
        write_frame(pd.DataFrame([statement_row(s) for s in found]), out)
    if json_output:
        print_json({"summary": counts, "categories": dict(categories)})
        return
    names = ", ".join(dict.fromkeys(s.source for s in found))
    table = TerminalTable(f"{names}: {len(found)} statements")
    table.add_text("").add_numbers("count")
    for name, n in [*counts.items(), *categories.most_common()]:
        table.add_row(name.replace("_", " "), n)
    table.print(console())
    if out is not None:
        console().print(f"written: {out}")
