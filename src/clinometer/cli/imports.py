"""clinometer import: what other harnesses measured, as runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from clinometer.cli.audit_output import as_json, print_runs, where_next
from clinometer.cli.help import JSON, opt
from clinometer.cli.limits import FAIL_ABOVE, FAIL_ON, exceeded, fail, parse_limits
from clinometer.cli.options import grouped
from clinometer.cli.printing import TerminalTable, console, print_json, risk_table
from clinometer.display.text import visible
from clinometer.errors import SettingsError, TableError
from clinometer.measure import verdict
from clinometer.measure.correction import in_words
from clinometer.runs import AuditSettings, Run, read_table
from clinometer.runs.group_sentences import split_sentence
from clinometer.runs.settings import INFERENCE

# --- clinometer import: what other harnesses measured, as runs -----------------------------------


OUT = Annotated[Path, opt("Run folder to write.", "--out", "-o")]
MAPPING = Annotated[
    str | None,
    opt(
        "Which fields are the group, the context and the category: a ready mapping or a .toml file "
        "(docs/bridges.md).",
        unset="that of the task",
    ),
]
MODEL = Annotated[
    str | None, opt("What to call the model.", unset="the name that the harness gives it")
]
MEASURED = Annotated[AuditSettings, ("coverage_threshold", *INFERENCE)]
FRESH = Annotated[bool, opt("Replace another run in --out.", "--fresh")]


@grouped
def lm_eval_command(
    samples: Annotated[
        Path,
        typer.Argument(
            metavar="SAMPLES.jsonl",
            help="A file samples_TASK_DATE.jsonl that lm_eval --log_samples wrote.",
        ),
    ],
    out: OUT,
    mapping: MAPPING = None,
    task: Annotated[
        Path | None,
        opt("The folder of 'clinometer export lm-eval' that the samples belong to."),
    ] = None,
    tokenizer: Annotated[
        str | None,
        opt("With --task: the model's tokenizer, which tells what words are written alike."),
    ] = None,
    model: MODEL = None,
    *,
    settings: MEASURED,
    fresh: FRESH = False,
    json_output: JSON = False,
) -> None:
    """Read the samples of a log-likelihood task of lm-evaluation-harness as a run."""
    from clinometer.bridges.lm_eval import import_lm_eval

    run = import_lm_eval(
        samples,
        mapping=mapping,
        task=task,
        tokenizer=tokenizer,
        model=model,
        out=out,
        settings=settings,
        fresh=fresh,
    )
    _show(run, json_output)


@grouped
def inspect_command(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="A log of Inspect, a file .eval or .json.")
    ],
    out: OUT,
    mapping: Annotated[
        str | None,
        opt(
            "Which fields of a sample are the group, the context and the category: a .toml file "
            "(docs/bridges.md).",
            unset="none, for logs of clinometer/audit",
        ),
    ] = None,
    model: MODEL = None,
    *,
    settings: MEASURED,
    fresh: FRESH = False,
    json_output: JSON = False,
) -> None:
    """Read a log of Inspect as a run: epochs are replies, which are counted."""
    from clinometer.bridges.inspect import import_inspect

    run = import_inspect(log, mapping=mapping, model=model, out=out, settings=settings, fresh=fresh)
    _show(run, json_output)


def _show(run: Run, json_output: bool) -> None:
    if json_output:
        print_json(as_json([run], []))
    else:
        print_runs([run])
    stream = sys.stderr if json_output else sys.stdout
    stream.write(visible(where_next([run.path] if run.path else [])) + "\n")


# --- clinometer risk: the risks of any table of preferences; no model needed ---------------------


@grouped
def risk_command(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A csv or parquet file with the columns group, context, attribute and p; "
            "optionally context_weight, group_weight and reference.",
        ),
    ],
    *,
    settings: Annotated[AuditSettings, INFERENCE],
    fail_above: FAIL_ABOVE = None,
    fail_on: FAIL_ON = "low",
    json_output: JSON = False,
) -> None:
    """Split the risk of any table of preferences into bias and volatility; no model is needed."""
    limits = parse_limits(fail_above, fail_on)
    preferences = read_table(
        table, labels=() if settings.clusters is None else (settings.clusters,)
    )
    try:
        if settings.replicates == 0:
            report = preferences.decompose(**settings.scaling)
        else:
            report = preferences.estimate(**settings.inference())
    except SettingsError as error:  # the options are in range: the table cannot answer them
        raise TableError(f"{table}: {error}") from error
    if json_output:
        print_json(
            {**report.to_dict(), "population": settings.population, "verdict": verdict(report)}
        )
    else:
        reference = preferences.reference
        given = reference if isinstance(reference, np.ndarray) else None
        shared = given if given is not None and given.ndim == 1 else None
        known = len(preferences.categories) if shared is None else shared
        title = (
            f"{table.name}: {len(report.groups)} groups, {len(report.categories)} categories; "
            f"{in_words(report.R, settings.population)}"
        )
        risk_table([(table.stem, report)], title=title, reference=known).print(console())
        groups = TerminalTable().add_text("group").add_numbers("r", "rᵇ", "rᵛ").add_text("leans to")
        for row in report.groups_table():
            cells = [
                "missing" if row[k] is None else f"{row[k]:.3f}"
                for k in ("r", "r_bias", "r_volatility")
            ]
            groups.add_row(row["group"], *cells, row["leaning"] or "–")
        groups.print(console())
        if split := split_sentence(report):
            console().print(f"{split[0].upper()}{split[1:]}.", soft_wrap=True)
        console().print(verdict(report), soft_wrap=True)
        if report.missing_cells:
            console().print(f"{report.missing_cells} cells are missing")
    fail(exceeded(table.name, report, limits, fail_on))
