"""clinometer reliability audit: a benchmark from its files to a report, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from clinometer import ranges
from clinometer.cli.gates import FAIL_BELOW_ON, below, fail
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import DEVICE, LEVEL, SEED, derived
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    ModelsOption,
    StatementsArgument,
    ValidationOption,
    asked_models,
    plain_rows,
    print_run,
    read_statements,
    write_frame,
)
from clinometer.cli.table import TerminalTable
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.reliability import ReliabilitySettings
from clinometer.reliability.blanks import PointSettings
from clinometer.reliability.standing import read_validation, standing
from clinometer.reliability.variants import VariantSettings

if TYPE_CHECKING:
    from clinometer.reliability.audit import BenchmarkAudit


def audit_command(
    sources: StatementsArgument,
    out: Annotated[Path, opt("Folder for every step's file and the report; resumed.")],
    models: ModelsOption = None,
    writer: Annotated[
        str | None,
        opt(
            "A model that proposes blanks and writes versions (openai:URL#MODEL is recommended).",
            unset="rules and filler, offline",
        ),
    ] = None,
    filler: Annotated[str | None, derived(VariantSettings, "filler")] = None,
    n: Annotated[int, derived(VariantSettings, "n")] = VariantSettings.n,
    variants: Annotated[
        Path | None, opt("Use these versions instead of writing new ones.", unset="write them")
    ] = None,
    validation: ValidationOption = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    fix: Annotated[
        int,
        opt("Look at the blanks of this many least stable statements.", allowed=ranges.COUNT_OR_0),
    ] = 10,
    level: LEVEL = ReliabilitySettings.level,
    precision: Annotated[float | None, derived(ReliabilitySettings, "precision")] = None,
    seed: SEED = 0,
    device: DEVICE = LoadOptions.device,
    top: Annotated[
        int, opt("Number of least stable statements to show.", allowed=ranges.COUNT_OR_0)
    ] = 5,
    fresh: Annotated[bool, opt("Start over instead of resuming --out.", "--fresh")] = False,
    fail_below: Annotated[
        float | None,
        opt("Exit with status 1 if the mean stability is lower.", allowed=ranges.SHARE),
    ] = None,
    fail_on: FAIL_BELOW_ON = "high",
    json_output: JSON = False,
) -> None:
    """From a benchmark's files to a report: pairs, target terms, blanks, versions, scores, ranks.

    Every step leaves its file in --out, to look at or to edit. Rerun the same command to resume,
    and to redo what depends on an edited file. Benchmarks contain offensive sentences.
    """
    from clinometer.reliability import read_variants
    from clinometer.reliability.audit import BenchmarkSettings, audit_benchmark
    from clinometer.reliability.scoring.card import data_card
    from clinometer.report.export import write_files
    from clinometer.report.reliability.page import write_reliability_report

    load = LoadOptions(device=device)
    settings = BenchmarkSettings(
        points=PointSettings(model=writer, seed=seed, load=load),
        variants=VariantSettings(n=n, model=writer, filler=filler, seed=seed, load=load),
        scoring=ReliabilitySettings(
            versions=None, level=level, precision=precision, seed=seed, load=load
        ),
        fix=fix,
    )
    statements = read_statements(sources, format=format, limit=limit, seed=seed)
    asked = asked_models(models)
    with progress("audit", unit="statements", start="reading", kept=Kept(out)) as watch:
        found = audit_benchmark(
            statements,
            out,
            models=asked,
            variants=None if variants is None else read_variants(variants),
            settings=settings,
            fresh=fresh,
            stage=watch.stage,
            validation=None if validation is None else read_validation(validation),
        )
    write_frame(found.run.statements, out / "scores.csv")
    write_frame(found.fix, out / "fix.csv")
    weights = found.run.statements[["id", "source", "text", "stability"]]
    write_frame(weights.rename(columns={"stability": "weight"}), out / "weights.csv")
    write_files({out / "card.md": data_card(found.run).encode()})
    write_reliability_report([found.run], out / "report.html")
    if json_output:
        _print_json(found)
    else:
        print_run(found.run, top=top)
        _print_fix(found, out)
    summary = found.run.summary["stability"]
    if summary is None:
        raise SettingsError(
            "statements: expected one with a score, found none; check the counts above"
        )
    if fail_below is not None:
        fail(below("stability", summary, fail_below, fail_on))


def _print_json(found: BenchmarkAudit) -> None:
    content = found.run.record.to_dict()
    names = ("models", "summary", "length", "agreement", "counts", "sureness")
    print_json(
        {n: content[n] for n in names}
        | {
            "standing": standing(found.run.record).to_dict(),
            "steps": found.counts,
            "statements": plain_rows(found.run.statements),
            "fix": plain_rows(found.fix),
        }
    )


def _print_fix(found: BenchmarkAudit, out: Path) -> None:
    if len(found.fix):
        rows = TerminalTable("What to specify first").add_text("id", "question", "say it after")
        row: Any
        for row in found.fix.head(5).itertuples():
            rows.add_row(row.id, row.question, row.blank)
        rows.print(console())
    made = "statements.csv, points.jsonl, versions.jsonl, run/, scores.csv, fix.csv, weights.csv"
    console().print(f"In {out}: {made}, card.md. Next: open {out / 'report.html'}", soft_wrap=True)
