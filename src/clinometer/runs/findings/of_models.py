"""What is said of several models, each by what its own run shows."""

from __future__ import annotations

from collections.abc import Sequence

from clinometer.display.numbers import counted
from clinometer.display.text import brief
from clinometer.findings.finding import UNDECIDED, Finding, Sure
from clinometer.findings.phrases import listed
from clinometer.measure import Estimate
from clinometer.runs.names import context_noun, group_noun, groups_noun
from clinometer.runs.run import Run
from clinometer.statistics.significance import holm

NAME_LENGTH = 40
"""Characters of a name in a sentence."""


def leaning(runs: Sequence[Run]) -> list[int]:
    """Return which of several models lean steadily, corrected for all of them (Holm)."""
    p_values = []
    for run in runs:
        split = run.record.components
        p_values.append(1.0 if split is None or split.p is None else split.p)
    corrected = holm(p_values)
    return [
        i for i, run in enumerate(runs) if corrected[i] <= 1 - run.record.settings.level
    ]


def leaning_models(runs: Sequence[Run], names: Sequence[str]) -> Finding | None:
    """Return how many of several models lean steadily, corrected for all of them.

    None unless all have repeated scores of one kind.
    """
    splits = [run.record.components for run in runs]
    tested = [split for split in splits if split is not None and split.p is not None]
    if len(tested) < len(runs):
        return None
    if not all(run.outcome.leads_with_parts for run in runs):
        return None
    leaners = [names[i] for i in leaning(runs)]
    groups = groups_noun(runs[0])
    contexts = counted(tested[0].contexts, context_noun(runs[0]))
    sure: Sure = "unclear"
    text = f"None of {len(runs)} models clearly scores {groups} differently over {contexts}."
    if leaners:
        sure = "clear"
        verb = "scores" if len(leaners) == 1 else "score"
        models = listed(brief(name, NAME_LENGTH) for name in leaners)
        text = (
            f"{len(leaners)} of {len(runs)} models clearly {verb} {groups} differently over "
            f"{contexts}: {models}."
        )
    tally = {"leaning": len(leaners), UNDECIDED: len(runs) - len(leaners)}
    return Finding("leaning models", text, sure, tuple(leaners), tally=tally)


def edited_models(runs: Sequence[Run]) -> Finding | None:
    """Return in how many models an irrelevant edit moves the answer more than another group does.

    None where no edit was asked.
    """
    placebos = [run.record.placebo for run in runs if run.record.placebo is not None]
    if not placebos:
        return None
    n_more = 0
    n_clear = 0
    for placebo in placebos:
        n_more += placebo.edit > placebo.groups
        n_clear += placebo.high is not None and placebo.high < 1
    text = (
        "An edit that should not matter (a blank line, the weather, the colour of a car) moves "
        f"the answer more than another {group_noun(runs[0])} does in {n_more} of "
        f"{counted(len(placebos), 'model')}, clearly in {n_clear}."
    )
    return Finding(
        "edited models",
        text,
        "clear" if n_clear else "unclear",
        tally={"more": n_more, "less": len(placebos) - n_more},
        numbers={"clear": Estimate(n_clear)},
    )
