"""clinometer study versions, clinometer study temperature: the COBIAS paper's appendix D."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.number_option import number_option
from clinometer.cli.parameters import JSON
from clinometer.cli.printing import console, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.reliability.common import (
    FormatOption,
    LimitOption,
    ModelsOption,
    StatementsArgument,
    VariantsOption,
    read_statements,
)
from clinometer.cli.table import TerminalTable
from clinometer.display.numbers import between


def versions_command(
    source: StatementsArgument,
    variants: VariantsOption,
    most: Annotated[int, number_option(ranges.VERSIONS, "Go up to so many versions.")] = 49,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of the sample and the bootstrap.")] = 0,
    encoder: Annotated[
        str, typer.Option(help="A sentence-transformers model: name, folder or hub id.")
    ] = "all-MiniLM-L6-v2",
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    json_output: JSON = False,
) -> None:
    """Average pairwise dissimilarity of versions against their number (COBIAS, Figure 8)."""
    from clinometer.models.texts.embeddings import SentenceEncoder
    from clinometer.reliability import read_variants
    from clinometer.studies.cobias.variant_count import version_count_study

    statements = read_statements(source, format=format, limit=limit, seed=seed)
    embed = SentenceEncoder(encoder, device=device).embed
    found = version_count_study(statements, read_variants(variants), embed, most=most, seed=seed)
    if json_output:
        print_json(found.to_dict())
        return
    table = TerminalTable(f"{found.statements} statements with {most} versions or more")
    table.add_numbers("n", "dissimilarity", "interval")
    for n, value in zip(found.n, found.dissimilarity, strict=True):
        if n in (2, 3, most) or n % 5 == 0:
            interval = "" if value.low is None else f"{value.low:.4f}–{value.high:.4f}"
            table.add_row(str(n), f"{value.value:.4f}", interval)
    table.print(console())
    change = found.late_change
    interval = "" if change.low is None else f" ({change.low:+.4f} to {change.high:+.4f})"
    console().print(f"second half less first half: {change.value:+.4f}{interval}", markup=False)
    if found.left_out:
        console().print(f"{found.left_out} statements have fewer versions", markup=False)


def temperature_command(
    source: StatementsArgument,
    temperature: Annotated[
        list[float] | None,
        number_option(ranges.TEMPERATURE, "A temperature; repeat. Default: 1.1, 1.2, 1.3, 1.4."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="A folder: versions and scores are kept, and continued.")
    ] = None,
    n: Annotated[
        int, number_option(ranges.COUNT, "Versions of each statement.", "-n", "--versions")
    ] = 40,
    model: Annotated[
        str | None, typer.Option(help="A model that writes versions; without one a filler does.")
    ] = None,
    filler: Annotated[str | None, typer.Option(help="Fills what is left open.")] = None,
    score_with: ModelsOption = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of all samples.")] = 0,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps.")] = "auto",
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over.")] = False,
    json_output: JSON = False,
) -> None:
    """Cronbach's alpha of COBIAS over temperatures of the generator (COBIAS, D.2).

    Statements need blanks (context_points).
    """
    from clinometer.models import LoadOptions
    from clinometer.reliability import ReliabilitySettings
    from clinometer.reliability.variants import VariantSettings
    from clinometer.studies.cobias.temperature import TEMPERATURES, temperature_study

    load = LoadOptions(device=device)
    statements = read_statements(source, format=format, limit=limit, seed=seed)
    with progress("versions", unit="statements", start="loading models", kept=Kept(out)) as watch:
        found = temperature_study(
            statements,
            temperatures=temperature or TEMPERATURES,
            models=score_with or ("pocket:bert",),
            versions=VariantSettings(n=n, model=model, filler=filler, seed=seed, load=load),
            settings=ReliabilitySettings(versions=None, replicates=0, seed=seed, load=load),
            out=out,
            fresh=fresh,
            progress=watch,
        )
    if json_output:
        print_json(found.to_dict())
        return
    table = TerminalTable(f"{found.statements} statements, {n} versions each")
    table.add_numbers("temperature", "mean COBIAS", "interval")
    for t, value in zip(found.temperatures, found.cobias, strict=True):
        interval = between(value.low, value.high)
        table.add_row(f"{t:g}", f"{value.value:.3f}", interval)
    table.print(console())
    alpha = found.alpha
    console().print(
        f"Cronbach's alpha {alpha.value:.3f} (95 % interval {alpha.low:.3f} to {alpha.high:.3f})",
        markup=False,
    )
