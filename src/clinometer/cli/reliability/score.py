"""clinometer reliability score: tau, context variance, COBIAS and stability of statements."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from clinometer import ranges
from clinometer.cli.gates import FAIL_BELOW_ON, below, fail
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import grouped
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    ModelsOption,
    StatementsArgument,
    ValidationOption,
    VariantsOption,
    asked_models,
    plain_rows,
    print_run,
    read_statements,
    write_frame,
)
from clinometer.errors import SettingsError
from clinometer.reliability import ReliabilitySettings, read_variants, score_reliability
from clinometer.reliability.standing import read_validation, standing


@grouped
def score_command(
    sources: StatementsArgument,
    variants: VariantsOption,
    models: ModelsOption = None,
    out: Annotated[Path | None, opt("Run folder; written as it goes, and resumed.")] = None,
    table: Annotated[
        Path | None, opt("Write one row per statement: a .csv or .parquet file.")
    ] = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    validation: ValidationOption = None,
    *,
    settings: Annotated[
        ReliabilitySettings,
        "variant",
        "masking",
        "normalise",
        "special_tokens",
        "duplicates",
        "versions",
        "keep_changed",
        "replicates",
        "level",
        "precision",
        "seed",
        "device",
        "dtype",
    ],
    batch_tokens: Annotated[
        int | None, opt("Tokens per batch.", allowed=ranges.COUNT, panel="Model")
    ] = None,
    top: Annotated[
        int, opt("Number of least stable statements to show.", allowed=ranges.COUNT_OR_0)
    ] = 5,
    fresh: Annotated[
        bool, opt("Start over instead of resuming the run in --out.", "--fresh")
    ] = False,
    fail_below: Annotated[
        float | None,
        opt("Exit with status 1 if the mean stability is lower.", allowed=ranges.SHARE),
    ] = None,
    fail_on: FAIL_BELOW_ON = "high",
    json_output: JSON = False,
) -> None:
    """Score how much plausible context changes each statement.

    stability = 1 - COBIAS: 1 if context changes nothing. Rerun the same command to resume an
    interrupted run.
    """
    settings = replace(settings, load=replace(settings.load, batch_tokens=batch_tokens))
    statements = read_statements(sources, format=format, limit=limit, seed=settings.seed)
    asked = asked_models(models)
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
            validation=None if validation is None else read_validation(validation),
        )
    frame = run.statements
    if table is not None:
        write_frame(frame, table)
    if json_output:
        names = ("models", "settings", "summary", "length", "agreement", "counts", "sureness")
        content = run.record.to_dict()
        print_json(
            {n: content[n] for n in names}
            | {"standing": standing(run.record).to_dict(), "statements": plain_rows(frame)}
        )
    else:
        print_run(run, top=top)
        if run.path is not None:
            kept = f"Kept in {run.path}. Next: clinometer report {run.path} --out report.html"
            console().print(kept, soft_wrap=True)
    summary = run.summary["stability"]
    if summary is None:
        raise SettingsError("no statement has a score: see the counts, and the ids of --variants")
    if fail_below is not None:
        fail(below("stability", summary, fail_below, fail_on))
