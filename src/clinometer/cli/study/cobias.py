"""clinometer study versions, clinometer study temperature: the COBIAS paper's appendix D."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from clinometer import ranges
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import DEVICE, SEED, grouped
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
from clinometer.models import LoadOptions
from clinometer.reliability import ReliabilitySettings, read_variants
from clinometer.reliability.variants import VariantSettings


def versions_command(
    sources: StatementsArgument,
    variants: VariantsOption,
    most: Annotated[int, opt("Maximum number of versions.", allowed=ranges.VERSIONS)] = 49,
    format: FormatOption = None,
    limit: LimitOption = None,
    seed: SEED = 0,
    encoder: Annotated[
        str, opt("A sentence-transformers model: name, folder or hub id.")
    ] = "all-MiniLM-L6-v2",
    device: DEVICE = LoadOptions.device,
    json_output: JSON = False,
) -> None:
    """Average pairwise dissimilarity of versions by their number (COBIAS, Figure 8)."""
    from clinometer.models.texts.embeddings import SentenceEncoder
    from clinometer.studies.cobias.variant_count import version_count_study

    statements = read_statements(sources, format=format, limit=limit, seed=seed)
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
    console().print(f"second half less first half: {change.value:+.4f}{interval}")
    if found.left_out:
        console().print(f"{found.left_out} statements have fewer versions")


@grouped
def temperature_command(
    sources: StatementsArgument,
    temperature: Annotated[
        list[float] | None,
        opt(
            "A temperature; may be repeated.",
            allowed=ranges.TEMPERATURE,
            unset="1.1, 1.2, 1.3, 1.4",
        ),
    ] = None,
    out: Annotated[
        Path | None, opt("Folder for versions and scores; written as it goes, and resumed.")
    ] = None,
    score_with: ModelsOption = None,
    format: FormatOption = None,
    limit: LimitOption = None,
    *,
    settings: Annotated[VariantSettings, "n", "filler", "seed", "device"],
    fresh: Annotated[bool, opt("Start over instead of resuming.", "--fresh")] = False,
    json_output: JSON = False,
) -> None:
    """Cronbach's alpha of COBIAS across sampling temperatures (COBIAS, D.2).

    Statements need blanks (context_points).
    """
    from clinometer.studies.cobias.temperature import TEMPERATURES, temperature_study

    seed, load = settings.seed, settings.load
    statements = read_statements(sources, format=format, limit=limit, seed=seed)
    with progress("versions", unit="statements", start="loading models", kept=Kept(out)) as watch:
        found = temperature_study(
            statements,
            temperatures=temperature or TEMPERATURES,
            models=score_with or ("pocket:bert",),
            versions=settings,
            settings=ReliabilitySettings(versions=None, replicates=0, seed=seed, load=load),
            out=out,
            fresh=fresh,
            progress=watch,
        )
    if json_output:
        print_json(found.to_dict())
        return
    table = TerminalTable(f"{found.statements} statements, {settings.n} versions each")
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
