"""clinometer reliability: one module per subcommand."""

from __future__ import annotations

import typer

from clinometer.cli.reliability.agreement import agreement_command
from clinometer.cli.reliability.audit import audit_command
from clinometer.cli.reliability.blanks import blanks_command
from clinometer.cli.reliability.pairs import pairs_command
from clinometer.cli.reliability.points import points_command
from clinometer.cli.reliability.score import score_command
from clinometer.cli.reliability.statements import statements_command
from clinometer.cli.reliability.tune import tune_command
from clinometer.cli.reliability.validate import validate_command
from clinometer.cli.reliability.variants import variants_command
from clinometer.cli.reliability.view import view_command

reliability_app = typer.Typer(
    help="How reliable are the statements of a bias benchmark? (COBIAS)", no_args_is_help=True
)
reliability_app.command("audit")(audit_command)
reliability_app.command("statements")(statements_command)
reliability_app.command("points")(points_command)
reliability_app.command("tune")(tune_command)
reliability_app.command("variants")(variants_command)
reliability_app.command("score")(score_command)
reliability_app.command("blanks")(blanks_command)
reliability_app.command("view")(view_command)
reliability_app.command("pairs")(pairs_command)
reliability_app.command("agreement")(agreement_command)
reliability_app.command("validate")(validate_command)

__all__ = ["reliability_app"]
