"""clinometer import: what other harnesses measured, as runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from clinometer.cli.audit.output import as_json, print_runs, where_next
from clinometer.cli.option import JSON, opt
from clinometer.cli.parameters import grouped
from clinometer.cli.printing import print_json
from clinometer.display.visible import visible
from clinometer.runs import AuditSettings, Run
from clinometer.runs.settings import INFERENCE

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
    from clinometer.bridges.lm_eval.read import import_lm_eval

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
    from clinometer.bridges.inspect.read import import_inspect

    run = import_inspect(log, mapping=mapping, model=model, out=out, settings=settings, fresh=fresh)
    _show(run, json_output)


def _show(run: Run, json_output: bool) -> None:
    if json_output:
        print_json(as_json([run], []))
    else:
        print_runs([run])
    stream = sys.stderr if json_output else sys.stdout
    stream.write(visible(where_next([run.path] if run.path else [])) + "\n")
