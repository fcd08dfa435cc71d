"""clinometer study: the papers' experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinometer import ranges
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import SEED
from clinometer.cli.printing import console, number, print_json
from clinometer.cli.progress import Kept, progress
from clinometer.cli.table import TerminalTable
from clinometer.display.names import NARROW_HEADINGS, SYMBOLS
from clinometer.display.numbers import p_value, risk

RUN = Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")]


def factors_command(
    run: RUN,
    measure: Annotated[str, opt("r, r_bias or r_volatility.")] = "r",
    factors: Annotated[
        Path | None,
        opt(
            "Your own csv file: a column group, then one column per factor.",
            unset="built-in US labor statistics",
        ),
    ] = None,
    unweighted: Annotated[
        bool, opt("Do not weight the groups by employment.", "--unweighted")
    ] = False,
    paper_weights: Annotated[
        bool,
        typer.Option(
            "--paper-weights", help="Weight by employment alone, ignoring the error of each risk."
        ),
    ] = False,
    json_output: JSON = False,
) -> None:
    """Regress group risk on pay, education, share of women and word frequency.

    Weighted least squares with robust (HC3) errors; a correlation over occupations, not a cause.
    """
    from clinometer.runs import Run
    from clinometer.studies import factor_study, read_factors

    table = None if factors is None else read_factors(factors)
    found = factor_study(
        Run.load(run),
        table=table,
        measure=measure,
        weighted=not unweighted,
        errors=not paper_weights,
    )
    if json_output:
        print_json(found.to_dict())
        return
    weight = f", weighted by {found.weight}" if found.weight else ""
    shown = TerminalTable(f"{measure} on each factor alone{weight}").add_text("factor")
    shown.add_numbers("coef.", "se", "p", "p (Holm)", "R²", "n")
    for name, fit in found.each.items():
        c = fit[name]
        shown.add_row(
            name,
            _g(c.value),
            _g(c.se),
            p_value(c.p),
            p_value(c.p_holm),
            risk(fit.r_squared),
            str(fit.n),
        )
    shown.print(console())
    console().print(found.weights_in_words, markup=False, soft_wrap=True)
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


def controls_command(
    run: RUN,
    stored: Annotated[bool, opt("Use only stored scores; load no model.", "--stored")] = False,
    shuffles: Annotated[
        int, opt("Number of shuffles of the words.", allowed=ranges.SHUFFLES)
    ] = 200,
    reference: Annotated[
        Path | None,
        opt(
            "A csv file with the real-world share of each category: a column group, then one "
            "column per category.",
            unset="US labor statistics, for male and female",
        ),
    ] = None,
    seed: SEED = 0,
    json_output: JSON = False,
) -> None:
    """Compare the risks with chance and with other references.

    Shuffles attribute words, takes the model's own prior and real-world shares as references, and
    adds placebo groups ("person", "someone", first names), scored once and kept in RUN/controls.
    """
    from clinometer.runs import Run
    from clinometer.studies import controls, read_factors

    table = None if reference is None else read_factors(reference)
    loaded = Run.load(run)
    start = f"loading {loaded.model}"
    with progress("placebo groups", start=start, kept=Kept(run / "controls")) as watch:
        found = controls(
            loaded,
            ask=not stored,
            shuffles=shuffles,
            reference=table,
            seed=seed,
            progress=watch,
        )
    if json_output:
        print_json(found.to_dict())
        return
    shown = _risk_rows(f"{found.model}: compared with chance and other references", "control")
    for row in found.rows:
        cells = ["–" if e is None else number(e) for e in (row.R, row.R_bias, row.R_volatility)]
        shown.add_row(f"{row.control}\n  {row.option}" if row.option else row.control, *cells)
    shown.print(console())
    for row in found.rows:
        if row.p is not None:
            console().print(
                f"Words shuffled ({row.option}, {row.note}): Rᵛ is at least as high as measured in "
                f"a share of {row.p:.3f}",
                soft_wrap=True,
            )
        elif row.note:
            _print_note(row.option or row.control, row.note)


def sensitivity_command(
    run: RUN,
    seed: SEED = 0,
    json_output: JSON = False,
) -> None:
    """R, Rᵇ and Rᵛ under every defensible analysis choice; no model is loaded.

    Changes one choice at a time: weights, words, scale, criterion, coverage, correction.
    """
    from clinometer.runs import Run
    from clinometer.studies import sensitivity

    found = sensitivity(Run.load(run), seed=seed)
    if json_output:
        print_json(found.to_dict())
        return
    shown = _risk_rows(f"{found.model}: the same answers under other choices", "choice")
    for row in found.rows:
        cells = [risk(v) for v in (row.R, row.R_bias, row.R_volatility)]
        shown.add_row(f"{row.choice}: {row.option}", *cells)
    shown.print(console())
    spans = [f"{SYMBOLS[n]} {low:.3f} to {high:.3f}" for n, (low, high) in found.span().items()]
    console().print(f"Range on this scale: {', '.join(spans)}", soft_wrap=True)
    for row in found.rows:
        if row.note:
            _print_note(f"{row.choice}, {row.option}", row.note)


def _risk_rows(title: str, first: str) -> TerminalTable:
    return TerminalTable(title).add_text(first).add_numbers(*NARROW_HEADINGS)


def _print_note(what: str, note: str) -> None:
    console().print(f"{what}: {note}", soft_wrap=True)


def _g(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"
