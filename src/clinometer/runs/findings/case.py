"""The single answer that shows a lean most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clinometer.findings.finding import Finding
from clinometer.runs.findings.facts import facts_of_run
from clinometer.topics.conversation import CASE
from clinometer.topics.shortened import question_label

if TYPE_CHECKING:
    from clinometer.runs.run import Run


def strongest_case(run: Run) -> Finding | None:
    """Return the answer on a scale that is furthest from what all groups get in the same context;
    None where there is no scale or no difference."""
    preferences = run.preferences

    def case_name(c: int) -> str:
        if CASE in preferences.labels:
            return str(preferences.labels[CASE][c])
        if preferences.templates:
            return question_label(preferences.templates[c])
        return preferences.contexts[c]

    return run.outcome.strongest_case(facts_of_run(run), case_name)
