"""clinometer reliability view: benchmarks side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer import ranges
from clinometer.cli.option import JSON, opt
from clinometer.cli.printing import console, print_json
from clinometer.cli.reliability.common import write_frame
from clinometer.cli.table import TerminalTable

NOT_COMPARABLE = (
    "Caution: these runs have different models or readings of the score; only rows of one run can "
    "be compared."
)


def view_command(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders of clinometer reliability score."),
    ],
    dissimilarity: Annotated[
        bool, opt("Also measure how far context changes the meaning (Eq. 1).", "--dissimilarity")
    ] = False,
    sentence_model: Annotated[
        str, opt("The sentence-transformers model for --dissimilarity.")
    ] = "all-MiniLM-L6-v2",
    table: Annotated[
        Path | None, opt("Write one row per statement: a .csv or .parquet file.")
    ] = None,
    top: Annotated[
        int, opt("Number of worst and best statements to show.", allowed=ranges.COUNT_OR_0)
    ] = 3,
    json_output: JSON = False,
) -> None:
    """Table 2 of the paper for your runs: mean, interval, distribution, categories, worst, best."""
    from clinometer.reliability import ReliabilityRun
    from clinometer.reliability.benchmark_table import (
        add_dissimilarity,
        benchmark_view,
        scored_alike,
        side_by_side,
    )

    loaded = [ReliabilityRun.load(path) for path in runs]
    if dissimilarity:
        from clinometer.models.texts.embeddings import SentenceEncoder

        encoder = SentenceEncoder(sentence_model)
        frame = side_by_side(loaded, [add_dissimilarity(run, encoder.embed) for run in loaded])
    else:
        frame = side_by_side(loaded)
    if table is not None:
        write_frame(frame, table)
    view = benchmark_view(frame, top=top)
    comparable = scored_alike(loaded)
    if json_output:
        found = view.to_dict()
        print_json({"summary": found["benchmarks"], **found, "comparable": comparable})
        return
    names = ["run", "source"] if "run" in frame else ["source"]
    _table("Benchmarks, the most stable first", view.benchmarks, names).print(console())
    if view.categories["category"].notna().any():
        _table("By category", view.categories, [*names, "category"]).print(console())
    for title, part in (("Least stable", view.worst), ("Most stable", view.best)):
        rows = TerminalTable(title).add_text(*names).add_numbers("stability").add_text("statement")
        for row in part.to_dict(orient="records"):
            rows.add_row(*(row[n] for n in names), f"{row['stability']:.3f}", row["text"])
        rows.print(console())
    if not comparable:
        console().print(NOT_COMPARABLE, soft_wrap=True)


def _table(title: str, frame: Any, names: list[str]) -> TerminalTable:
    numbers = ["stability", "cobias", "cobias_low", "cobias_high"]
    numbers += [n for n in ("dissimilarity",) if n in frame]
    rows = TerminalTable(title).add_text(*names).add_numbers("n", *numbers)
    alike = "like" in frame and len(frame) > 1
    if alike:
        rows.add_numbers("rank").add_text("cannot be told from")
    for row in frame.to_dict(orient="records"):
        cells = ["–" if row[n] != row[n] or row[n] is None else row[n] for n in names]
        values = ["–" if v is None or v != v else f"{v:.3f}" for v in (row[n] for n in numbers)]
        like = [_rank(row), row["like"]] if alike else []
        rows.add_row(*cells, f"{row['scored']}/{row['statements']}", *values, *like)
    return rows


def _rank(row: dict[str, Any]) -> str:
    """A rank with its interval: 1 is what context changes most."""
    low, high = (round(row[name]) for name in ("rank_low", "rank_high"))
    return f"{row['rank']:g}" if low == high else f"{row['rank']:g} ({low} to {high})"
