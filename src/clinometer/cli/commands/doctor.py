"""clinometer doctor: what this machine has, and what each missing thing would enable."""

from __future__ import annotations

from clinometer.cli.option import JSON
from clinometer.cli.printing import console, print_json


def doctor_command(json_output: JSON = False) -> None:
    """Show what is installed, what is missing, and the command that installs it.

    Changes nothing. Always exits with status 0: every missing package is optional.
    """
    from clinometer import __version__
    from clinometer.machine import survey

    found = survey()
    if json_output:
        sections = {name: [f.to_dict() for f in findings] for name, findings in found.items()}
        print_json({"version": __version__, **sections})
        return
    out = console()
    for section, findings in found.items():
        out.print(section, style="bold")
        for finding in findings:
            mark, style = ("✓", "green") if finding else ("–", "yellow")
            out.print(f"  {mark} ", style=style, end="")
            out.print(f"{finding.name:<14}", end="")
            out.print(finding.found or f"missing: {finding.enables}", soft_wrap=True)
            if not finding and finding.command:
                out.print(f"{'':<18}{finding.command}", style="dim", soft_wrap=True)
