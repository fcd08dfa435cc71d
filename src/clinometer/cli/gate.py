"""clinometer gate: is a run within its limits, and no worse than its baseline?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from clinometer import settings as ranges
from clinometer.cli.limits import FAIL_ABOVE, FAIL_ON, MIN_COVERAGE, fail
from clinometer.cli.options import JSON, argument, derived
from clinometer.cli.printing import print_json, print_rows, say, sentence
from clinometer.display.numbers import percent
from clinometer.errors import SettingsError
from clinometer.gate.decision import MARGIN, GateDecision, decide
from clinometer.gate.limits import Limits
from clinometer.measure.risks import COMPARED
from clinometer.runs import AuditSettings, Run
from clinometer.settings import option

_MEASURE_HELP = (
    f"Which risk decides: {', '.join(COMPARED[:-1])} or {COMPARED[-1]}. May be repeated: one that "
    "is worse decides, not worse takes all."
)


def gate_command(
    run: Path = argument("RUN", "The run folder to judge."),
    baseline: Path | None = option(
        None,
        "--baseline",
        "-b",
        help="The run folder to judge it by: same topic, same contexts.",
    ),
    fail_above: list[str] | None = FAIL_ABOVE,
    fail_on: str = FAIL_ON,
    min_coverage: float | None = MIN_COVERAGE,
    margin: float = option(
        MARGIN,
        help="A rise of a risk below this does not count.",
        allowed=ranges.POSITIVE,
    ),
    margin_points: float | None = option(
        None,
        help="The same of a lean on a scale, in points: of the worst group and kind of people.",
        allowed=ranges.POSITIVE,
        unset="--margin, as a share of the scale",
    ),
    margin_rate: float | None = option(
        None,
        help="The same of a lean in favourable answers, as a share: 0.05 is 5 percentage points.",
        allowed=ranges.POSITIVE,
        unset="--margin",
    ),
    measure: list[str] | None = option(
        None,
        help=_MEASURE_HELP,
        unset="R and R_bias, and the worst group and kind of people",
    ),
    align: str = option(
        "same",
        help="same: require the same topic and contexts; common: compare what the runs share.",
    ),
    clusters: str | None = derived(AuditSettings, "clusters"),
    markdown: Path | None = option(
        None, help="Also write the decision to this file, as Markdown."
    ),
    json_output: bool = JSON,
) -> None:
    """Decide whether a run is within its limits, and not worse than its baseline by a margin.

    Limits that its protocol planned are checked without being typed. Exit status 0: within all
    limits and not worse; 1: beyond one, or worse; 3: an interval reaches to both sides of the
    margin, and more contexts are needed. "Worse" and "not worse" are each wrong in at most 5 %.
    """
    if align not in ("same", "common"):
        raise SettingsError(f"--align: expected same or common, found {align!r}")
    judged = Run.load(run)
    limits = Limits.of_run(judged, fail_above, fail_on)
    if baseline is None and not limits.limits and min_coverage is None:
        raise SettingsError(
            "gate: expected --baseline, --fail-above or --min-coverage, or a run whose protocol "
            "plans limits; found none"
        )
    unmet = limits.unmet(judged, min_coverage=min_coverage)
    decision = None
    if baseline is not None:
        decision = decide(
            judged,
            baseline,
            margin=margin,
            margin_points=margin_points,
            margin_rate=margin_rate,
            measures=measure,
            align="same" if align == "same" else "common",
            clusters=clusters,
        )
    if markdown is not None:
        from clinometer.gate.markdown import decision_markdown
        from clinometer.report.export import markdown_text, write_files

        text = "" if decision is None else decision_markdown(decision)
        lines = "".join(f"- {line}\n" for line in unmet)
        if decision is None and not unmet:
            lines = f"- {markdown_text(_within_limits(judged))}\n"
        write_files({markdown: (text + lines).encode()})
    if json_output:
        content: dict[str, Any] = {"run": judged.model}
        if decision is not None:
            content = decision.to_dict()
        content["limits"] = [str(limit) for limit in limits.limits]
        content["beyond"] = unmet
        print_json(content)
    elif decision is not None:
        _print(decision)
    elif not unmet:
        sentence(_within_limits(judged))
    if decision is not None and decision.exit_status:
        say(f"{decision.verdict}: {decision.reason}")
    fail(unmet)
    if decision is not None and decision.exit_status:
        raise typer.Exit(decision.exit_status)


def _within_limits(run: Run) -> str:
    return f"{run.model} is within its limits."


def _print(decision: GateDecision) -> None:
    """Print the headline, a row for each number that decides, and the reason."""
    title = f"{decision.run} against {decision.baseline}: {decision.verdict}"
    interval = f"{percent(decision.level)} interval"
    verdict = "by the margin"
    sentence(decision.findings[0].text)
    print_rows(
        title,
        ["", "run", "baseline", "rise", interval, verdict],
        [row.cells() for row in decision.rows],
        words=("", verdict),
    )
    for line in (decision.reason, *decision.notes):
        sentence(line)
