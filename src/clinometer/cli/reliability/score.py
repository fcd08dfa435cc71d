"""clinometer reliability score: tau, context variance, COBIAS and stability of statements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import JSON, LEVEL, REPLICATES
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    ModelsOption,
    StatementsArgument,
    VariantsOption,
    plain_rows,
    read_statements,
    write_frame,
)
from clinometer.cli.table import TerminalTable
from clinometer.display.numbers import between
from clinometer.errors import SettingsError


def score_command(
    source: StatementsArgument,
    variants: VariantsOption,
    models: ModelsOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Run folder: written as it goes, and continued.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Write the statements' scores: a .csv or .parquet file.")
    ] = None,
    variant: Annotated[
        str, typer.Option(help="Reading of the paper: equation, figure or released.")
    ] = "equation",
    masking: Annotated[
        str | None,
        typer.Option(help="within_word_l2r (corrected) or original, instead of the variant's."),
    ] = None,
    normalise: Annotated[
        str | None, typer.Option(help="Per word or token, instead of the variant's.")
    ] = None,
    special_tokens: Annotated[
        bool | None,
        typer.Option(help="With special tokens or without, instead of the variant's."),
    ] = None,
    duplicates: Annotated[
        str, typer.Option(help="A version that occurs twice counts many times, or once.")
    ] = "many",
    versions: Annotated[
        int, number_option(ranges.COUNT, "Use the first so many versions of a statement.")
    ] = 40,
    keep_changed: Annotated[
        bool, typer.Option("--keep-changed", help="Keep versions that lost the target term.")
    ] = False,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of the sample and the bootstrap.")] = 0,
    replicates: REPLICATES = 1000,
    level: LEVEL = 0.95,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    dtype: Annotated[
        str, typer.Option(help="auto, float32, bfloat16, float16; changes scores slightly.")
    ] = "auto",
    batch_tokens: Annotated[int | None, number_option(ranges.COUNT, "Tokens in a batch.")] = None,
    top: Annotated[
        int, number_option(ranges.COUNT_OR_0, "Show so many of the least stable statements.")
    ] = 5,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over instead of continuing the run in --out.")
    ] = False,
    fail_below: Annotated[
        float | None, number_option(ranges.SHARE, "Exit with 1 when the mean stability is lower.")
    ] = None,
    json_output: JSON = False,
) -> None:
    """Score how much plausible context changes each statement.

    stability = 1 - COBIAS: 1 when context changes nothing. An interrupted run continues with the
    same command.
    """
    from clinometer.models import LoadOptions
    from clinometer.reliability import ReliabilitySettings, read_variants, score_reliability

    settings = ReliabilitySettings(
        variant=variant,
        masking=masking,
        normalise=normalise,
        special_tokens=special_tokens,
        duplicates=duplicates,
        versions=versions,
        keep_changed=keep_changed,
        replicates=replicates,
        level=level,
        seed=seed,
        load=LoadOptions(device=device, dtype=dtype, batch_tokens=batch_tokens),
    )
    statements = read_statements(source, format=format, limit=limit, seed=seed)
    asked = models or ["pocket:bert"]
    loading = f"loading {', '.join(asked)}"
    with progress("scoring", unit="texts", start=loading, kept=Kept(out)) as watch:
        run = score_reliability(
            statements,
            read_variants(variants),
            models=asked,
            out=out,
            settings=settings,
            fresh=fresh,
            progress=watch,
        )
    frame = run.statements
    if table is not None:
        write_frame(frame, table)
    if json_output:
        names = ("models", "settings", "summary", "length", "agreement", "counts")
        print_json({n: run.record[n] for n in names} | {"statements": plain_rows(frame)})
    else:
        _print(run, frame, top)
    summary = run.record["summary"]["stability"]
    if summary is None:
        raise SettingsError("no statement has a score: see the counts, and the ids of --variants")
    if fail_below is not None and summary["value"] < fail_below:
        typer.echo(f"stability = {summary['value']:.4f} is below {fail_below}", err=True)
        raise typer.Exit(1)


def _print(run: Any, frame: Any, top: int) -> None:
    names = ", ".join(m["id"] for m in run.record["models"])
    table = TerminalTable(f"{len(frame)} statements, {names}")
    table.add_text("").add_numbers("mean", "interval")
    for name, found in run.record["summary"].items():
        if found is None:
            continue
        interval = between(found["low"], found["high"])
        table.add_row(name, f"{found['value']:.3f}", interval)
    table.print(console())
    worst = frame[frame["stability"].notna()].sort_values("stability").head(top)
    if len(worst):
        rows = (
            TerminalTable("Least stable")
            .add_text("id")
            .add_numbers("stability")
            .add_text("statement")
        )
        for row in worst.itertuples():
            rows.add_row(row.id, f"{row.stability:.3f}", row.text)
        rows.print(console())
    for line in notes(run.record):
        console().print(line, markup=False, soft_wrap=True)


def notes(record: dict[str, Any]) -> list[str]:
    """What a reader must know beside the means."""
    lines = []
    for pair in record["agreement"]:
        if pair["rho"] is not None:
            lines.append(
                f"{pair['a']} and {pair['b']} rank the statements alike to rho = "
                f"{pair['rho']['value']:.2f}: read a rank as that of these models."
            )
    if len(record["models"]) == 1:
        lines.append(
            "One scoring model: another may rank these statements in another order (--model twice "
            "shows how far)."
        )
    odd = {k: n for k, n in record["counts"].items() if isinstance(n, int) and n}
    known = {"statements", "versions", "flag_"}
    told = [f"{k.replace('_', ' ')} {n}" for k, n in odd.items() if k not in known]
    for model, counts in record["counts"]["by_model"].items():
        told += [f"{model}: {k.replace('_', ' ')} {n}" for k, n in counts.items() if n]
    if told:
        lines.append("Counted: " + ", ".join(told) + ".")
    return lines
