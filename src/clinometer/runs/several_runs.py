"""What several runs are called, and whether they were asked alike."""

from __future__ import annotations

from collections.abc import Sequence

from clinometer.runs.run import Run


def run_names(runs: Sequence[Run]) -> list[str]:
    """Return the names of runs in a comparison.

    These are their models; where they repeat, with the context sets, the folders or numbers,
    whichever tells them apart.
    """
    names = [run.model for run in runs]
    numbers = [str(i + 1) for i in range(len(runs))]
    distinctions = [
        [run.record.contexts.name for run in runs],
        [run.path.name if run.path else str(i) for i, run in enumerate(runs)],
        numbers,
    ]
    for distinction in distinctions:
        if len(set(names)) == len(names):
            break
        names = [
            f"{run.model} ({text})" for run, text in zip(runs, distinction, strict=True)
        ]
    return names


def resampling_note(runs: Sequence[tuple[str, Run]]) -> str:
    """Return a warning if the intervals of runs use different resampling units; "" otherwise.

    `runs` are (name, run). Runs without intervals, and reference models, have no unit.
    """
    units: dict[str, str] = {}
    for name, run in runs:
        if run.record.model.kind == "reference":
            continue
        label = run.record.settings.clusters
        units[name] = (
            "contexts" if label is None else f"clusters of contexts by {label}"
        )
    if len(set(units.values())) < 2:
        return ""
    unit_of_each = ", ".join(f"{unit} for {name}" for name, unit in units.items())
    return (
        f"The intervals of these runs use different resampling units ({unit_of_each}): one may be "
        "wider than another for that reason alone. Use the same --clusters in every audit to make "
        "them comparable."
    )


def same_contexts(*runs: Run) -> bool:
    """Whether runs used the same contexts, or nested samples from the same set."""
    contexts = [run.record.contexts for run in runs]
    seeds = {record.drawn.seed for record in contexts if record.drawn is not None}
    nested = len(seeds) == 1 and None not in seeds
    sets = {
        record.drawn.source if nested and record.drawn else record.sha256
        for record in contexts
    }
    return len(sets) == 1


def only_contexts_differ(runs: Sequence[Run]) -> bool:
    """Whether runs have the same topic but were asked in different contexts."""
    topics = {run.record.topic.sha256 for run in runs}
    return len(topics) == 1 and not same_contexts(*runs)
