"""clinometer gate: is a run worse than its baseline?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from clinometer import settings as ranges
from clinometer.cli.help import JSON, opt
from clinometer.cli.options import CLUSTERS
from clinometer.cli.printing import TerminalTable, console, print_json, say, sentence
from clinometer.errors import SettingsError
from clinometer.gate.decision import MARGIN, GateDecision, decide


def gate_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The run folder to judge.")],
    baseline: Annotated[
        Path, opt("The run folder to judge it by: same topic, same contexts.", "--baseline", "-b")
    ],
    margin: Annotated[
        float, opt("A rise of a risk below this does not count.", allowed=ranges.POSITIVE)
    ] = MARGIN,
    measure: Annotated[
        list[str] | None,
        opt(
            "Which risk decides: R, R_bias, R_volatility or R_between. May be repeated: one that "
            "is worse decides, not worse takes all.",
            unset="R, or R_between where R is not above shuffled words",
        ),
    ] = None,
    align: Annotated[
        str, opt("same: require the same topic and contexts; common: compare what the runs share.")
    ] = "same",
    clusters: CLUSTERS = None,
    markdown: Annotated[
        Path | None, opt("Also write the decision to this file, as Markdown.")
    ] = None,
    json_output: JSON = False,
) -> None:
    """Decide whether a run is worse than its baseline by more than a margin.

    Exit status 0: not worse; 1: worse; 3: the paired 90 % interval reaches to both sides of the
    margin, and more contexts are needed. Each of the first two verdicts is wrong in at most 5 %.
    """
    if align not in ("same", "common"):
        raise SettingsError(f"--align: expected same or common, found {align!r}")
    found = decide(
        run,
        baseline,
        margin=margin,
        measures=measure,
        align="same" if align == "same" else "common",
        clusters=clusters,
    )
    if markdown is not None:
        from clinometer.gate.decision import decision_markdown
        from clinometer.report.export import write_files

        write_files({markdown: decision_markdown(found).encode()})
    if json_output:
        print_json(found.to_dict())
    else:
        _print(found)
    if found.exit_status:
        say(f"{found.verdict}: {found.reason}")
        raise typer.Exit(found.exit_status)


def _print(found: GateDecision) -> None:
    from clinometer.gate.decision import gated_row

    title = f"{found.run} against {found.baseline}: {found.verdict}"
    table = TerminalTable(title).add_text("risk")
    table.add_numbers("run", "baseline", "change", f"{found.level:.0%} interval")
    table.add_text(f"margin {found.margin:g}")
    for one in found.risks:
        table.add_row(*gated_row(one))
    sentence(found.finding)
    table.print(console())
    for line in (found.reason, *found.notes):
        sentence(line)
