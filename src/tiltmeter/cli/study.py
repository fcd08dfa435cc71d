"""tiltmeter study: the papers' experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich import box
from rich.table import Table

from tiltmeter.cli.output import console, p_value, print_json

study_app = typer.Typer(help="The papers' experiments on the models at hand.", no_args_is_help=True)


@study_app.command("factors")
def factors_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    measure: Annotated[str, typer.Option(help="r, r_bias or r_volatility.")] = "r",
    factors: Annotated[
        Path | None,
        typer.Option(help="A csv of your own: a column group, then one column a factor."),
    ] = None,
    unweighted: Annotated[
        bool, typer.Option("--unweighted", help="Do not weight groups by employment.")
    ] = False,
    json_output: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of a table.")
    ] = False,
) -> None:
    """Regress the risk of groups on pay, education, share of women and word frequency.

    Weighted least squares with robust (HC3) errors; a correlation over occupations, not a cause.
    """
    from tiltmeter.runs import Run
    from tiltmeter.studies import factor_study, read_factors

    table = None if factors is None else read_factors(factors)
    found = factor_study(Run.load(run), table=table, measure=measure, weighted=not unweighted)
    if json_output:
        print_json(found.to_dict())
        return
    weight = f", weighted by {found.weight}" if found.weight else ""
    shown = Table(
        title=f"{measure} on each factor alone{weight}",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 0),
        header_style="bold",
    )
    shown.add_column("factor", no_wrap=True)
    for name in ("coef.", "se", "p", "p (Holm)", "R²", "n"):
        shown.add_column(name, justify="right", no_wrap=True)
    for name, fit in found.each.items():
        c = fit[name]
        shown.add_row(
            name,
            _g(c.value),
            _g(c.se),
            p_value(c.p),
            p_value(c.p_holm),
            _share(fit.r_squared),
            str(fit.n),
        )
    console().print(shown)
    if found.together is not None:
        console().print(f"All together ({found.together.n} groups):")
        for name in found.each:
            c = found.together[name]
            console().print(
                f"  {name}: {_g(c.value)} (se {_g(c.se)}, p {p_value(c.p)})", markup=False
            )
    if found.without_figures:
        console().print(
            f"{len(found.without_figures)} groups without any figure: "
            + ", ".join(found.without_figures),
            markup=False,
            soft_wrap=True,
        )


def _g(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
