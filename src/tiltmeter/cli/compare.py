"""tiltmeter compare: paired differences between runs."""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from tiltmeter import ranges
from tiltmeter.cli.number_option import number_option
from tiltmeter.cli.options import CLUSTER, JSON, LEVEL
from tiltmeter.cli.output import console, p_value, print_json
from tiltmeter.errors import SettingsError


def compare_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders.")],
    align: Annotated[
        str,
        typer.Option(
            help="same: refuse runs of another topic or contexts; common: what they share."
        ),
    ] = "same",
    replicates: Annotated[
        int, number_option(ranges.SOME_REPLICATES, "Bootstrap replicates, at least 100.")
    ] = 2000,
    level: LEVEL = 0.95,
    seed: Annotated[int, number_option(ranges.SEED, "Seed of the bootstrap.")] = 0,
    cluster: CLUSTER = None,
    top: Annotated[
        int, number_option(ranges.COUNT_OR_0, "Show so many groups with the smallest p-values.")
    ] = 10,
    json_output: JSON = False,
) -> None:
    """Compare runs group by group and context by context.

    A difference is first minus second. p (Holm) is corrected for the number of pairs, or of groups.
    """
    from tiltmeter.runs import Run, compare_runs

    if align not in ("same", "common"):
        raise SettingsError(f"--align: expected same or common, found {align!r}")
    found = compare_runs(
        [Run.load(path) for path in runs],
        align="same" if align == "same" else "common",
        replicates=replicates,
        level=level,
        seed=seed,
        clusters=cluster,
    )
    if json_output:
        print_json(found.to_dict())
        return
    title = (
        f"{len(found.groups)} groups, {found.n_contexts} contexts ({found.n_eff:.1f} effective), "
        f"{found.level:.0%} intervals"
    )
    letters = dict(zip(found.models, ascii_uppercase, strict=False))
    for model, letter in letters.items():
        console().print(f"{letter} = {model}", markup=False)
    console().print(_differences(found.overall, letters, title=title, group=False))
    console().print(_ranks(found.ranks))
    ordered = sorted((d for d in found.by_group if d.p is not None), key=lambda d: d.p or 0.0)
    if ordered and top > 0:
        shown = ordered[:top]
        title = f"Groups with the smallest p-values ({len(shown)} of {len(ordered)} differences)"
        console().print(_differences(shown, letters, title=title, group=True))


def _differences(rows, letters: dict[str, str], *, title: str, group: bool) -> Table:  # type: ignore[no-untyped-def]
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, header_style="bold")
    table.add_column("pair", no_wrap=True)
    if group:
        table.add_column("group", no_wrap=True)
    table.add_column("risk", no_wrap=True)
    for name in ("difference", "interval", "p", "p (Holm)"):
        table.add_column(name, justify="right", no_wrap=True)
    for d in rows:
        cells = (
            [f"{letters.get(d.a, d.a)} − {letters.get(d.b, d.b)}"]
            + ([d.group] if group else [])
            + [d.measure]
        )
        table.add_row(
            *cells, _signed(d.value), _interval(d.low, d.high), p_value(d.p), p_value(d.p_holm)
        )
    return table


def _ranks(ranks) -> Table:  # type: ignore[no-untyped-def]
    table = Table(
        title="Ranks, 1 the lowest risk",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        header_style="bold",
    )
    table.add_column("model", no_wrap=True)
    for name in ("risk", "value", "rank", "probability of rank 1, 2, …"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in ranks:
        shares = "  ".join(f"{p:.2f}" for p in r.probability)
        table.add_row(r.model, r.measure, f"{r.value:.3f}", str(r.rank), shares)
    return table


def _signed(value: float | None) -> str:
    return "–" if value is None else f"{value:+.3f}"


def _interval(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:+.3f} to {high:+.3f}"
