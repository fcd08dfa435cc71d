"""Run an audit: score every cell, store the scores as they arrive, and measure."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial, wraps
from itertools import count
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, overload

from clinometer.errors import RunError, Unmeasurable
from clinometer.measure import Preferences
from clinometer.measure.bounds import risk_error
from clinometer.measure.reference_models import random_outcomes, reference_preferences
from clinometer.models import ModelInfo, ModelSource, ModelSpec, revision_of
from clinometer.models.catalog.spec import APPLICATION
from clinometer.models.replies import ReadoutQuery
from clinometer.runs.answers import require_answers
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import (
    UNMEASURABLE,
    ProtocolRecord,
    RunRecord,
    added,
    begun_load,
    cost_record,
    new_record,
    versions,
    word_record,
)
from clinometer.runs.placebo import FOLDER as PLACEBO
from clinometer.runs.placebo import EditedQuestions, placebo_of
from clinometer.runs.protocol import LATE, ProtocolFile, followed, planned_settings
from clinometer.runs.run import Run
from clinometer.runs.scores.accumulate import CellGrid, PreferenceTable, word_counts
from clinometer.runs.scores.scoring import AuditedModel, ScoreCache, Scoring
from clinometer.runs.settings import AuditSettings, Contexts, ResolvedAudit, find_contexts, resolve
from clinometer.storage.resumable import Progress, ReplyLog, differences
from clinometer.storage.untrusted import folder_name
from clinometer.topics import Topic, load_topic

P = ParamSpec("P")


class AuditCall(Protocol[P]):
    """`audit`: one model gives a run, several give a list of runs."""

    @overload
    def __call__(self, model: str | ModelSpec, *args: P.args, **kwargs: P.kwargs) -> Run: ...
    @overload
    def __call__(
        self,
        model: list[str] | list[ModelSpec] | tuple[str | ModelSpec, ...],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> list[Run]: ...


def _of_each(audit_one: Callable[Concatenate[str | ModelSpec, P], Run]) -> AuditCall[P]:
    @wraps(audit_one)
    def audit(model: Any, *args: P.args, **kwargs: P.kwargs) -> Any:
        if isinstance(model, str | ModelSpec):
            return audit_one(model, *args, **kwargs)
        out: Any = kwargs.pop("out", None)
        runs = []
        for each in model:
            name = each.name if isinstance(each, ModelSpec) else each
            place: Any = {} if out is None else {"out": Path(out) / folder_name(name)}
            runs.append(audit_one(each, *args, **kwargs, **place))
        return runs

    return audit


@_of_each
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
    folder = None
    if out is not None:
        # The function of an application may change the current folder.
        moves = spec.place is ModelSource.APP
        folder = RunFolder(Path(out).absolute() if moves else Path(out))
    with ExitStack() as stack:
        held = None
        if folder:
            stack.enter_context(folder.locked())
            held = _read_before(folder, fresh=fresh)
        record = None if fresh else held
        before = None if record is None else record.identity
        begun = None if record is None else record.protocol  # which a later plan cannot replace
        planned = None
        if begun is not None:
            planned = planned_settings(begun)
        elif plan is not None:
            planned = plan.protocol.settings
        resolved = resolve(
            options,
            topic if isinstance(topic, Topic) else load_topic("gender" if topic is None else topic),
            contexts,
            settings=settings,
            model=model,
            planned=planned,
            earlier=before,
        )
        settings = resolved.settings
        spec = spec.asked_with(settings.load)
        readout = ReadoutQuery.of(resolved.topic)
        if folder:
            folder.resume(resolved.identity(spec.name), before, fresh=fresh)
        if spec.place is ModelSource.REFERENCE:
            known = None if plan is None else plan.record(begun, late=None)
            return _audit_reference(spec, resolved, folder, known or begun)
        if readout is not None:
            readout.check(settings.load)
        beside: dict[str, int] = {}  # what the edited questions have used
        if folder and (edited := RunFolder(folder.path / PLACEBO)).exists():
            beside = edited.read_record().usage
        keeps = folder.replies if folder else None
        if record is not None and keeps is not None and not beside:
            used = ReplyLog(keeps).used  # a kill may have come before it was recorded
            record.usage = {k: max(n, used.get(k, 0)) for k, n in {**used, **record.usage}.items()}
        load = settings.load
        if record is not None:
            load = begun_load(load, record, added(record.usage, beside))
        asked = AuditedModel(spec, load, settings.words, resolved.topic.words, readout, keeps)
        stack.enter_context(closing(asked))
        # What was answered before a plan was made is no answer to it.
        use = cache and plan is None and begun is None
        scores = ScoreCache(asked, settings.scoring(), use=use)
        unplanned = held is not None and (
            held.protocol is None or (plan is not None and held.protocol.sha256 != plan.sha256)
        )
        if record is not None:
            # Refuse other weights under the same name, also where every cell is scored already.
            revision = revision_of(spec, load)
            if revision is not None and record.model.revision != "unknown":
                now = record.model.model_copy(update={"revision": revision})
                if folder and not record.finished and folder.unanswered:  # mended, unasked
                    record.model = now
                record.model.check_same(now)
        else:
            record = _begin(scores, resolved)
            cost = resolved.cost(spec)
            record.cost = None if cost is None else cost_record(cost)
        if plan is not None:
            record.protocol = plan.record(record.protocol, late=LATE if unplanned else None)
        scoring = Scoring(scores, folder, progress, last=resolved.edited is None)
        return _audit_model(record, resolved, folder, scoring, fresh=fresh)


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
    """`base`/MODEL-TOPIC-CONTEXTS, with the number of contexts if they are sampled.

    The same audit gets the same folder again, and so resumes. If it contains another run (other
    groups, another weight precision), -2, -3 … follow: no run overwrites another. Settings are
    given as to `resolve`.
    """
    source = find_contexts(topic, contexts)
    resolved = partial(
        resolve, options, topic, source, settings=settings, model=model, planned=planned
    )
    audit = resolved()
    name = ModelSpec.parse(model).asked_with(audit.settings.load).name
    limit = audit.settings.max_contexts
    size = [] if limit is None else [str(limit)]
    stem = "-".join(folder_name(part) for part in (name, topic.name, audit.contexts.name, *size))
    names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))

    def is_free(path: Path) -> bool:
        """Whether the folder is empty, or holds this audit."""
        folder = RunFolder(path)
        if not folder.exists():
            return True
        try:
            before = folder.read_record().identity
            return not differences(before, resolved(earlier=before).identity(name))
        except RunError:
            return False  # damaged, or of another version: not ours to overwrite

    return next(base / folder for folder in names if is_free(base / folder))


# --- reference models -------------------------------------------------------------------------


def _audit_reference(
    spec: ModelSpec, audit: ResolvedAudit, folder: RunFolder | None, protocol: ProtocolRecord | None
) -> Run:
    """A model with known preferences. For the random one each outcome is a separate context with
    its probability as weight, so that the risks are exact, without sampling noise."""
    topic, contexts = audit.topic, audit.contexts
    shape = (len(topic), len(contexts), len(topic.categories))
    reference = topic.reference
    ids, weights, each = contexts.ids, contexts.weights, [*range(len(contexts))]
    if spec.target == "random":
        outcomes = random_outcomes(shape, reference=reference, context_weights=weights)
        values, weights = outcomes.p, outcomes.context_weights
        ids = tuple(f"{i}#{y}" for i in ids for y in topic.categories)
        each = [c for c in each for _ in topic.categories]
    else:
        name: Any = spec.target
        values = reference_preferences(name, shape, reference=reference)
    preferences = Preferences(
        values=values,
        groups=topic.group_names,
        contexts=ids,
        categories=topic.categories,
        context_weights=weights,
        group_weights=topic.group_weights,
        reference=reference,
        templates=tuple(contexts.templates[c] for c in each),
        labels={name: tuple(of[c] for c in each) for name, of in contexts.extra.items()},
    )
    info = ModelInfo(name=spec.name, kind="reference", revision="closed form")
    record = new_record(info, topic, contexts, audit.settings)
    record.protocol = followed(protocol, spec.name, audit, info.revision)
    return Run.measured(record, preferences, folder=folder)


# --- models that are scored -------------------------------------------------------------------


def _read_before(folder: RunFolder, *, fresh: bool) -> RunRecord | None:
    """The record of an earlier attempt, read once, under the lock; one that cannot be read does not
    keep `fresh` from starting over."""
    try:
        return folder.read_record() if folder.exists() else None
    except RunError:
        if fresh:
            return None
        raise


def _begin(cache: ScoreCache, audit: ResolvedAudit) -> RunRecord:
    """The record of a new run."""
    topic = audit.topic
    space = topic.render(audit.contexts.templates[0], topic.groups[0]).space
    info, report = cache.describe(space=space)
    record = new_record(info, topic, audit.contexts, audit.settings)
    record.chunk_size = _chunk_size(info.device)
    record.words = word_record(report, topic)
    return record


def _audit_model(
    record: RunRecord,
    audit: ResolvedAudit,
    folder: RunFolder | None,
    scoring: Scoring,
    *,
    fresh: bool = False,
) -> Run:
    """Measure the content of the folder, after `scoring` has added the missing cells, and those of
    irrelevant edits, which `fresh` asks again."""
    topic, settings = audit.topic, audit.settings
    record.protocol = followed(record.protocol, record.model.id, audit, record.model.revision)
    counts = word_counts(record)
    grid = CellGrid(topic, audit.contexts, record.chunk_size)
    table = PreferenceTable(grid, counts)
    if folder:
        for cells, scores in folder.read_scores(words=len(topic.words), cells=len(grid)):
            table.add(cells, scores)
    if not table.complete():
        scoring.fill(table, record)
    if table.outcomes:
        record.replies = dict(table.outcomes)
    preferences = table.preferences(settings)
    try:
        require_answers(record, preferences)
    except Unmeasurable as error:
        if folder:  # the record says so
            why = record.model_copy(update={"unmeasurable": str(error)})
            folder.write_record(why, status=UNMEASURABLE)
        raise
    record.settings, record.versions = settings, versions()
    bounds = table.bounds()
    del table, grid  # large, and the preferences are a copy
    record.preference_bound = float(bounds.max())
    if record.preference_bound > 0 and preferences.low is None:
        record.risk_bound = risk_error(preferences.grid, bounds)
    del bounds
    record.placebo = None
    if audit.edited is not None:
        beside = _ask_edited(audit.edited, record, folder, scoring, fresh=fresh)
        record.placebo = placebo_of(
            preferences,
            audit.edited.preferences(preferences, beside.preferences),
            record.chosen_criterion,
            level=settings.level,
            clusters=settings.clusters,
        )
        if record.cost is not None:
            record.cost = record.cost.after(added(record.usage, beside.record.usage))
    return Run.measured(record, preferences, folder=folder)


def _ask_edited(
    edited: EditedQuestions,
    record: RunRecord,
    folder: RunFolder | None,
    scoring: Scoring,
    *,
    fresh: bool,
) -> Run:
    """The audit of the edited questions, by the model that is open, in a folder inside that of the
    run."""
    alone: dict[str, Any] = {"placebo": False, "max_contexts": None, "clusters": None}
    settings = replace(record.settings, **alone)
    about = ResolvedAudit(edited.topic, edited.contexts, edited.contexts, settings)
    with ExitStack() as stack:
        inside, own = None, None
        if folder is not None:
            inside = RunFolder(folder.path / PLACEBO)
            stack.enter_context(inside.locked())
            own = None if fresh else _read_before(inside, fresh=False)
            before = None if own is None else own.identity
            inside.resume(about.identity(record.model.id), before, fresh=fresh)
        if own is not None:
            own.model.check_same(record.model)
        else:
            own = new_record(record.model, edited.topic, edited.contexts, settings)
            own.chunk_size, own.words = record.chunk_size, record.words
        return _audit_model(own, about, inside, scoring.beside(inside))


def _chunk_size(device: str) -> int:
    """Cells per chunk: a few seconds of work, so that an interruption loses little, but enough to
    keep a GPU busy while batches are prepared and read back."""
    return {"cpu": 256, "server": 16, APPLICATION: 16}.get(device, 32_768)
