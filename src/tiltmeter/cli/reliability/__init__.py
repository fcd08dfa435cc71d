"""tiltmeter reliability: one module a sub-command."""

from __future__ import annotations

import typer

from tiltmeter.cli.reliability.blanks import blanks_command
from tiltmeter.cli.reliability.pairs import pairs_command
from tiltmeter.cli.reliability.score import score_command
from tiltmeter.cli.reliability.statements import statements_command
from tiltmeter.cli.reliability.view import view_command

reliability_app = typer.Typer(
    help="Is a statement of a bias benchmark a reliable judge? (COBIAS)", no_args_is_help=True
)
reliability_app.command("statements")(statements_command)
reliability_app.command("score")(score_command)
reliability_app.command("blanks")(blanks_command)
reliability_app.command("view")(view_command)
reliability_app.command("pairs")(pairs_command)

__all__ = ["reliability_app"]
