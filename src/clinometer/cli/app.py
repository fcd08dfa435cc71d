"""The command `clinometer`: its commands, and how errors reach the user."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from clinometer import __version__
from clinometer.cli.audit.bbq import bbq_command
from clinometer.cli.audit.calibrate import calibrate_command
from clinometer.cli.audit.command import audit_command
from clinometer.cli.audit.plan import plan_command
from clinometer.cli.audit.protocol import protocol_app
from clinometer.cli.bridges.export_task import export_lm_eval_command
from clinometer.cli.bridges.import_runs import import_app
from clinometer.cli.commands.annotate import annotate_command
from clinometer.cli.commands.cache import cache_command
from clinometer.cli.commands.check import check_command
from clinometer.cli.commands.compare import compare_command
from clinometer.cli.commands.doctor import doctor_command
from clinometer.cli.commands.mine import mine_command
from clinometer.cli.commands.report import report_command
from clinometer.cli.commands.risk import risk_command
from clinometer.cli.commands.samples import samples_command
from clinometer.cli.commands.show import contexts_command, models_command, topics_command
from clinometer.cli.commands.view import view_command
from clinometer.cli.failure import report_failure
from clinometer.cli.option import opt
from clinometer.cli.publish.export import export_app
from clinometer.cli.publish.gate import gate_command
from clinometer.cli.publish.leaderboard import leaderboard_command
from clinometer.cli.reliability import reliability_app
from clinometer.cli.study.basic import study_app
from clinometer.cli.study.between_models import (
    alignment_command,
    knowledge_command,
    languages_command,
    size_command,
    sources_command,
    table_command,
)
from clinometer.cli.study.cobias import temperature_command, versions_command
from clinometer.cli.study.toxicity import toxicity_command
from clinometer.cli.study.views import distribution_command, heatmap_command, leaning_command
from clinometer.cli.study.vision import vision_command


class _Escaped(Exception):
    """Carries an error past typer, which would exit with status 1."""


class _Commands(TyperGroup):
    """typer takes the end of a file for an abort by the user, as it does Ctrl-C, and silences a
    closed pipe; all with status 1, which means here that a threshold failed."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # detect a closed pipe here, not when Python exits
        except (EOFError, OSError, KeyboardInterrupt) as error:
            raise _Escaped from error
        return result


app = typer.Typer(
    name="clinometer",
    cls=_Commands,
    help="How far does a language model lean, and how much does its lean swing with context?",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("audit")(audit_command)
app.command("plan")(plan_command)
app.command("risk")(risk_command)
app.command("compare")(compare_command)
app.command("gate")(gate_command)
app.command("mine")(mine_command)
app.command("report")(report_command)
app.command("leaderboard")(leaderboard_command)
app.command("view")(view_command)
app.command("bbq")(bbq_command)
app.command("annotate")(annotate_command)
app.command("calibrate")(calibrate_command)
app.command("topics")(topics_command)
app.command("contexts")(contexts_command)
app.command("models")(models_command)
app.command("check")(check_command)
app.command("samples")(samples_command)
study_app.command("versions")(versions_command)
study_app.command("temperature")(temperature_command)
app.command("cache")(cache_command)
app.command("doctor")(doctor_command)
for table, subject in {"1": "Gender", "2": "Race", "3": "Religion and disability"}.items():
    about = f"{subject} risks of models with ranks, next to the paper's Table {table}."
    study_app.command(f"table{table}")(table_command(f"table{table}", about))
study_app.command("leaning")(leaning_command)
study_app.command("toxicity")(toxicity_command)
study_app.command("size")(size_command)
study_app.command("alignment")(alignment_command)
study_app.command("knowledge")(knowledge_command)
study_app.command("sources")(sources_command)
study_app.command("languages")(languages_command)
study_app.command("vision")(vision_command)
study_app.command("distribution")(distribution_command)
study_app.command("heatmap")(heatmap_command)
export_app.command("lm-eval")(export_lm_eval_command)
app.add_typer(import_app, name="import")
app.add_typer(export_app, name="export")
app.add_typer(protocol_app, name="protocol")
app.add_typer(study_app, name="study")
app.add_typer(reliability_app, name="reliability")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"clinometer {__version__}")
        raise typer.Exit


@app.callback()
def options(
    debug: Annotated[bool, opt("Show the traceback of an error.", "--debug")] = False,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Options of every command."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit with its status.

    `failure.STATUSES` lists the statuses. An error is one line on stderr; its traceback shows with
    --debug.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    # Accept --debug anywhere: people append it to the command that has just failed.
    debug = "--debug" in arguments
    rest = [a for a in arguments if a != "--debug"]
    try:
        app(rest, standalone_mode=True)
    except Exception as error:
        cause = error.__cause__ if isinstance(error, _Escaped) else error
        raise SystemExit(report_failure(cause or error, debug=debug)) from None
    except KeyboardInterrupt as error:
        raise SystemExit(report_failure(error, debug=debug)) from None
