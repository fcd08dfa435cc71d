"""Placebo groups scored with a run's model in its contexts: a separate run inside its folder."""

from __future__ import annotations

from dataclasses import replace

from clinometer.contexts import ContextSet, SetMetadata
from clinometer.errors import RunError
from clinometer.runs import Run, audit
from clinometer.runs.scores.recount import has_scores
from clinometer.storage.resumable import Progress
from clinometer.topics import Topic, placebo_groups


def placebo_run(run: Run, *, ask: bool, progress: Progress | None) -> tuple[Run | None, str]:
    """The run of the placebo groups, or why there is none."""
    record = run.record
    if not has_scores(run) or run.path is None:
        return None, "a reference model, or a run in memory, cannot be scored"
    folder = run.path / "controls"
    if not ask and not (folder / "run.json").is_file():
        return None, "placebo groups were not scored (--stored)"
    if record.topic.language.lower().split("-")[0] != "en":
        return None, f"placebo groups are English, the topic is {record.topic.language!r}"
    reference = record.topic.reference
    topic = Topic(
        f"{record.topic.name}-placebo",
        placebo_groups(record.topic.language),
        {c: tuple(words) for c, words in record.topic.attributes.items()},
        language=record.topic.language,
        reference=tuple(reference) if isinstance(reference, list) else reference,
        shared=record.topic.shared,
    )
    settings = replace(
        record.settings,
        max_contexts=None,
        precision=None,
        clusters=None,
        two_way=False,
        target="kind",  # the weights of the run are no longer counts
    )
    found = audit(
        record.model.id,
        topic=topic,
        contexts=_contexts(run),
        out=folder,
        settings=settings,
        progress=progress,
    )
    if found.record.model.revision != record.model.revision:
        raise RunError(
            f"{run.path}: was made with revision {record.model.revision} of {run.model}, the "
            f"placebo groups with {found.record.model.revision}; make the run again"
        )
    return found, ""


def _contexts(run: Run) -> ContextSet:
    """The contexts of a run as a set; a sample stays marked as one."""
    about, p = run.record.contexts, run.preferences
    drawn = SetMetadata(drawn=about.drawn)
    return ContextSet(about.name, p.templates, p.context_weights.tolist(), metadata=drawn)
