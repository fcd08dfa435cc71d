"""Run an audit: score every cell, store the scores as they arrive, and measure.

An audit is prepared from its settings and what an earlier attempt left, asks the model for what is
not scored yet, and measures the answers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, overload

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import RunError, Unmeasurable
from clinometer.measure import Preferences
from clinometer.measure.bounds import risk_error
from clinometer.measure.placebo import Placebo, placebo_of
from clinometer.models import ModelSource, ModelSpec, revision_of
from clinometer.models.catalog.spec import APPLICATION
from clinometer.models.replies import ReadoutQuery
from clinometer.runs.answers import require_answers
from clinometer.runs.attempt import Attempt
from clinometer.runs.audited_model import AuditedModel
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import (
    UNMEASURABLE,
    RunRecord,
    added,
    begun_load,
    cost_record,
    new_record,
    versions,
    word_record,
)
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.placebo import EditedQuestions
from clinometer.runs.protocol import LATE, ProtocolFile, followed, planned_settings
from clinometer.runs.reference import audit_reference
from clinometer.runs.resolve import Contexts, ResolvedAudit, find_contexts, resolve
from clinometer.runs.run import Run
from clinometer.runs.score_cache import ScoreCache
from clinometer.runs.scores import CellGrid, PreferenceTable, word_counts
from clinometer.runs.scoring import Scoring
from clinometer.runs.settings import AuditSettings
from clinometer.storage.resumable import Progress, differences
from clinometer.storage.untrusted import folder_name
from clinometer.topics import Topic, load_topic

P = ParamSpec("P")

CELLS_PER_CHUNK = {"cpu": 256, "server": 16, APPLICATION: 16}
"""Cells that are scored together, by device: a few seconds of work, so that an interruption loses
little."""

CELLS_PER_GPU_CHUNK = 32_768
"""Enough to keep a GPU busy while batches are prepared and read back."""


class AuditCall(Protocol[P]):
    """`audit`: one model gives a run, several give a list of runs."""

    @overload
    def __call__(
        self, model: str | ModelSpec, *args: P.args, **kwargs: P.kwargs
    ) -> Run: ...
    @overload
    def __call__(
        self,
        model: list[str] | list[ModelSpec] | tuple[str | ModelSpec, ...],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[Run]: ...


def _of_one_or_several(
    audit_one: Callable[Concatenate[str | ModelSpec, P], Run],
) -> AuditCall[P]:
    """Return `audit_one` as a function that also takes a list of models."""

    @wraps(audit_one)
    def audit(model: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        if isinstance(model, str | ModelSpec):
            return audit_one(model, *args, **kwargs)
        out: Any = kwargs.pop("out", None)
        runs = []
        for spec in model:
            name = spec.name if isinstance(spec, ModelSpec) else spec
            subfolder: Any = (
                {} if out is None else {"out": Path(out) / folder_name(name)}
            )
            runs.append(audit_one(spec, *args, **kwargs, **subfolder))
        return runs

    return audit


@_of_one_or_several
def audit(
    model: str | ModelSpec,
    /,
    *,
    topic: str | os.PathLike[str] | Topic | Mapping[str, Any] | None = None,
    contexts: Contexts = None,
    out: str | Path | None = None,
    settings: AuditSettings | None = None,
    fresh: bool = False,
    cache: bool = True,
    protocol: str | Path | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Run:
    """Score `model` on every group of `topic` in every context and measure its risks.

    A list of models gives a list of runs, each in its own subfolder of `out`. Without `topic` it is
    gender, without `contexts` the set made for the topic. Contexts can also be a list of sentences,
    or a frame with the columns template, count and labels.

    Settings are given by name (`max_contexts=200`, `device="cpu"`, `replies=20`): every field of
    `AuditSettings` and of the `load` and `words` in it, on top of `settings` if that is given.

    With `out` the run is written there as it progresses, and the same call resumes an interrupted
    run; a finished one is measured again from its stored scores without loading the model.
    `fresh` starts over. Without `out` everything stays in memory.

    `cache` reuses what this machine has scored before.

    `protocol` is a file with a plan: it gives the topic, contexts and settings that are not given
    here, and run.json lists where those given here deviate from it.

    >>> [run.model for run in audit(["reference:unbiased", "reference:random"])]
    ['reference:unbiased', 'reference:random']
    >>> topic = Topic(groups=["nurse", "pilot"], attributes={"male": ["he"], "female": ["she"]})
    >>> run = audit("reference:stereotyped", topic=topic, contexts=["The [X] said that [Y]"])
    >>> float(run.R), f"{run.R_bias:.2f}"
    (1.0, '1.00')
    """
    plan = None if protocol is None else ProtocolFile.read(protocol)
    if plan is not None:
        topic = plan.protocol.load_topic() if topic is None else topic
        contexts = plan.protocol.contexts if contexts is None else contexts
    spec = model if isinstance(model, ModelSpec) else ModelSpec.parse(model)
    folder = None if out is None else _run_folder(out, spec)
    with ExitStack() as stack:
        if folder:
            stack.enter_context(folder.locked())
        earlier = Attempt.read(folder, fresh=fresh)
        resolved = resolve(
            options,
            _loaded_topic(topic),
            contexts,
            settings=settings,
            model=model,
            planned=_planned_settings(earlier, plan),
            earlier=earlier.identity,
        )
        spec = spec.asked_with(resolved.settings.load)
        if folder:
            folder.resume(resolved.identity(spec.name), earlier.identity, fresh=fresh)
        if spec.place is ModelSource.REFERENCE:
            planned = earlier.plan
            if plan is not None:
                planned = plan.record(earlier.plan, late=None)
            return audit_reference(spec, resolved, folder, planned)
        audited = _audited_model(spec, resolved, folder, earlier)
        stack.enter_context(closing(audited))
        # What was answered before a plan was made is no answer to it.
        unplanned = plan is None and earlier.plan is None
        scores = ScoreCache(
            audited, resolved.settings.scoring(), use=cache and unplanned
        )
        scoring = Scoring(scores, folder, progress, last=resolved.edited is None)
        this = Audit.prepare(resolved, scoring, earlier, plan, fresh=fresh)
        return this.measure(this.ask())


def _run_folder(out: str | Path, spec: ModelSpec) -> RunFolder:
    """Return the folder of a run; the function of an application may change the current folder."""
    path = Path(out)
    return RunFolder(path.absolute() if spec.place is ModelSource.APP else path)


def _loaded_topic(
    topic: str | os.PathLike[str] | Topic | Mapping[str, Any] | None,
) -> Topic:
    if isinstance(topic, Topic):
        return topic
    return load_topic("gender" if topic is None else topic)


def _planned_settings(
    earlier: Attempt, plan: ProtocolFile | None
) -> Mapping[str, Any] | None:
    """Return the settings of the plan that the run was begun with, or else of the one given."""
    if earlier.plan is not None:
        return planned_settings(earlier.plan)
    return None if plan is None else plan.protocol.settings


def _audited_model(
    spec: ModelSpec, audit: ResolvedAudit, folder: RunFolder | None, earlier: Attempt
) -> AuditedModel:
    """Return the model, which an attempt that is resumed opens as it was opened before."""
    load = audit.settings.load
    readout = ReadoutQuery.of(audit.topic)
    readout.check(load)
    if earlier.record is not None:
        load = begun_load(load, earlier.record, earlier.usage)
    return AuditedModel(
        spec,
        load,
        audit.settings.words,
        audit.topic.words,
        readout,
        folder.replies if folder else None,
    )


@dataclass(eq=False)
class Audit:
    """One audit of one model: it is prepared, asks, and measures what was answered."""

    record: RunRecord
    resolved: ResolvedAudit

    scoring: Scoring
    """What fills the table and the folder of the run."""

    fresh: bool = False
    """Whether irrelevant edits are asked again, also where an earlier attempt asked them."""

    @property
    def folder(self) -> RunFolder | None:
        return self.scoring.folder

    @classmethod
    def prepare(
        cls,
        resolved: ResolvedAudit,
        scoring: Scoring,
        earlier: Attempt,
        plan: ProtocolFile | None,
        *,
        fresh: bool,
    ) -> Audit:
        """Begin a record, or go on with that of an earlier attempt, and take the plan into it."""
        if earlier.record is None:
            record = _begun_record(resolved, scoring.cache)
        else:
            record = earlier.record
            _check_weights(record, scoring)
        if plan is not None:
            late = LATE if earlier.is_unplanned_by(plan) else None
            record.protocol = plan.record(record.protocol, late=late)
        return cls(record, resolved, scoring, fresh)

    def ask(self) -> Preferences:
        """Return the preferences in every cell: as stored in the folder, else from the model."""
        record = self.record
        record.protocol = followed(
            record.protocol, record.model.id, self.resolved, record.model.revision
        )
        table = self._stored_table()
        if not table.complete():
            self.scoring.fill(table, record)
        if table.outcomes:
            record.replies = dict(table.outcomes)
        preferences = table.preferences(self.resolved.settings)
        self._require_answers(preferences)
        bounds = table.bounds()
        del table  # large, and the preferences are a copy
        self._record_bounds(preferences, bounds)
        return preferences

    def measure(self, preferences: Preferences) -> Run:
        """Measure the preferences, beside those of irrelevant edits where they are asked."""
        record = self.record
        record.settings = self.resolved.settings
        record.versions = versions()
        record.placebo = None
        if self.resolved.edited is not None:
            record.placebo = self._placebo(self.resolved.edited, preferences)
        return Run.measured(record, preferences, folder=self.folder)

    def _stored_table(self) -> PreferenceTable:
        """Return the table of all cells with the scores that the folder has."""
        topic = self.resolved.topic
        counts = word_counts(self.record)
        grid = CellGrid(topic, self.resolved.contexts, self.record.chunk_size)
        table = PreferenceTable(grid, counts)
        if self.folder:
            stored = self.folder.read_scores(words=len(topic.words), cells=len(grid))
            for cells, scores in stored:
                table.add(cells, scores)
        return table

    def _require_answers(self, preferences: Preferences) -> None:
        """Refuse answers that are hardly ever categories; run.json says so too."""
        try:
            require_answers(self.record, preferences)
        except Unmeasurable as error:
            if self.folder:
                record = self.record.model_copy(update={"unmeasurable": str(error)})
                self.folder.write_record(record, status=UNMEASURABLE)
            raise

    def _record_bounds(
        self, preferences: Preferences, bounds: NDArray[np.float64]
    ) -> None:
        """Record how far preferences and risks may be off for words that were not expanded."""
        record = self.record
        record.preference_bound = float(bounds.max())
        if record.preference_bound > 0 and preferences.low is None:
            record.risk_bound = risk_error(preferences.grid, bounds)

    def _placebo(self, edited: EditedQuestions, preferences: Preferences) -> Placebo:
        """Ask the edited questions, and return how far their edits move an answer."""
        record = self.record
        run = self._ask_edited(edited)
        if record.cost is not None:
            record.cost = record.cost.after(added(record.usage, run.record.usage))
        return placebo_of(
            preferences,
            edited.preferences(preferences, run.preferences),
            record.chosen_criterion,
            level=record.settings.level,
            clusters=record.settings.clusters,
        )

    def _ask_edited(self, edited: EditedQuestions) -> Run:
        """Return the audit of the edited questions, by the model that is open.

        It has a folder inside that of the run.
        """
        model = self.record.model
        unedited: dict[str, Any] = {
            "placebo": False,
            "max_contexts": None,
            "clusters": None,
        }
        settings = replace(self.record.settings, **unedited)
        resolved = ResolvedAudit(
            edited.topic, edited.contexts, edited.contexts, settings
        )
        folder = RunFolder(self.folder.path / PLACEBO) if self.folder else None
        with ExitStack() as stack:
            record = None
            if folder is not None:
                stack.enter_context(folder.locked())
                if folder.exists() and not self.fresh:
                    record = folder.read_record()
                identity = None if record is None else record.identity
                folder.resume(resolved.identity(model.id), identity, fresh=self.fresh)
            if record is not None:
                record.model.check_same(model)
            else:
                record = new_record(model, edited.topic, edited.contexts, settings)
                record.chunk_size = self.record.chunk_size
                record.words = self.record.words
            audit = Audit(record, resolved, self.scoring.of_edits(folder))
            return audit.measure(audit.ask())


def _begun_record(audit: ResolvedAudit, cache: ScoreCache) -> RunRecord:
    """Return the record of a new run."""
    topic = audit.topic
    prompt = topic.render(audit.contexts.templates[0], topic.groups[0])
    info, words = cache.describe(space=prompt.space)
    record = new_record(info, topic, audit.contexts, audit.settings)
    record.chunk_size = _chunk_size(info.device)
    record.words = word_record(words, topic)
    cost = audit.cost(cache.model.spec)
    record.cost = None if cost is None else cost_record(cost)
    return record


def _chunk_size(device: str) -> int:
    """Return how many cells are scored together."""
    return CELLS_PER_CHUNK.get(device, CELLS_PER_GPU_CHUNK)


def _check_weights(record: RunRecord, scoring: Scoring) -> None:
    """Refuse other weights under the same name, also where every cell is scored already.

    A model that was mended before it answered anything is the run's model.
    """
    revision = revision_of(scoring.model.spec, scoring.model.load)
    if revision is None or record.model.revision == "unknown":
        return
    model = record.model.model_copy(update={"revision": revision})
    if scoring.folder and not record.finished and scoring.folder.unanswered:
        record.model = model
    record.model.check_same(model)


def default_folder(
    base: Path,
    model: str,
    topic: Topic,
    contexts: Contexts,
    settings: AuditSettings | None = None,
    *,
    planned: Mapping[str, Any] | None = None,
    **options: Any,
) -> Path:
    """Return `base`/MODEL-TOPIC-CONTEXTS, with the number of contexts if they are sampled.

    The same audit gets the same folder again, and so resumes. If it contains another run (other
    groups, another weight precision), -2, -3 … follow: no run overwrites another. Settings are
    given as to `resolve`.
    """
    source = find_contexts(topic, contexts)

    def resolved(earlier: Mapping[str, Any] | None = None) -> ResolvedAudit:
        return resolve(
            options,
            topic,
            source,
            settings=settings,
            model=model,
            planned=planned,
            earlier=earlier,
        )

    audit = resolved()
    name = ModelSpec.parse(model).asked_with(audit.settings.load).name

    def is_free(folder: RunFolder) -> bool:
        """Whether the folder is empty, or holds this audit."""
        if not folder.exists():
            return True
        try:
            identity = folder.read_record().identity
            return not differences(identity, resolved(identity).identity(name))
        except RunError:
            return False  # damaged, or of another version: not ours to overwrite

    parts = [name, topic.name, audit.contexts.name]
    if audit.settings.max_contexts is not None:
        parts.append(str(audit.settings.max_contexts))
    stem = "-".join(folder_name(part) for part in parts)
    path = base / stem
    number = 1
    while not is_free(RunFolder(path)):
        number += 1
        path = base / f"{stem}-{number}"
    return path
