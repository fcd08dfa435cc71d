"""Run an audit: score every cell, store the scores as they arrive, and measure.

`Scoring` asks a `ScoreCache` for what this machine has scored before, and the `AuditedModel` for
the rest; each batch of scores goes to the run's table, its folder and the cache.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial, wraps
from itertools import count
from json.encoder import encode_basestring as _quoted
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from clinometer.errors import ModelError, RunError, Unmeasurable
from clinometer.measure import Preferences
from clinometer.measure.bounds import risk_error
from clinometer.measure.reference_models import random_outcomes, reference_preferences
from clinometer.models import (
    LoadOptions,
    ModelInfo,
    ModelSource,
    ModelSpec,
    Scorer,
    WordOptions,
    WordReport,
    WordScores,
    open_model,
    revision_of,
)
from clinometer.models.background import prefetch, write_behind
from clinometer.models.catalog.spec import APPLICATION
from clinometer.models.options import KINDS
from clinometer.models.replies import ReadoutQuery, ReplyScorer, open_reader
from clinometer.runs.answers import require_answers
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import (
    UNMEASURABLE,
    CacheRecord,
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
from clinometer.runs.scores import CellGrid, PreferenceTable, word_counts
from clinometer.runs.settings import (
    AuditSettings,
    Contexts,
    ResolvedAudit,
    find_contexts,
    resolve,
)
from clinometer.storage.cache import Cache
from clinometer.storage.resumable import (
    FLUSH_S,
    ModelRecord,
    Progress,
    ReplyLog,
    differences,
    store_as_they_come,
)
from clinometer.storage.untrusted import folder_name
from clinometer.topics import Prompt, Topic, load_topic

P = ParamSpec("P")


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
        begun = (
            None if record is None else record.protocol
        )  # which a later plan cannot replace
        planned = None
        if begun is not None:
            planned = planned_settings(begun)
        elif plan is not None:
            planned = plan.protocol.settings
        resolved = resolve(
            options,
            topic
            if isinstance(topic, Topic)
            else load_topic("gender" if topic is None else topic),
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
            record.usage = {
                k: max(n, used.get(k, 0)) for k, n in {**used, **record.usage}.items()
            }
        load = settings.load
        if record is not None:
            load = begun_load(load, record, added(record.usage, beside))
        asked = AuditedModel(
            spec, load, settings.words, resolved.topic.words, readout, keeps
        )
        stack.enter_context(closing(asked))
        # What was answered before a plan was made is no answer to it.
        use = cache and plan is None and begun is None
        scores = ScoreCache(asked, settings.scoring(), use=use)
        unplanned = held is not None and (
            held.protocol is None
            or (plan is not None and held.protocol.sha256 != plan.sha256)
        )
        if record is not None:
            # Refuse other weights under the same name, also where every cell is scored already.
            revision = revision_of(spec, load)
            if revision is not None and record.model.revision != "unknown":
                now = record.model.model_copy(update={"revision": revision})
                if (
                    folder and not record.finished and folder.unanswered
                ):  # mended, unasked
                    record.model = now
                record.model.check_same(now)
        else:
            record = _begin(scores, resolved)
            cost = resolved.cost(spec)
            record.cost = None if cost is None else cost_record(cost)
        if plan is not None:
            record.protocol = plan.record(
                record.protocol, late=LATE if unplanned else None
            )
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
    stem = "-".join(
        folder_name(part) for part in (name, topic.name, audit.contexts.name, *size)
    )
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
    spec: ModelSpec,
    audit: ResolvedAudit,
    folder: RunFolder | None,
    protocol: ProtocolRecord | None,
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
        labels={
            name: tuple(of[c] for c in each) for name, of in contexts.extra.items()
        },
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
    record.protocol = followed(
        record.protocol, record.model.id, audit, record.model.revision
    )
    counts = word_counts(record)
    grid = CellGrid(topic, audit.contexts, record.chunk_size)
    table = PreferenceTable(grid, counts)
    if folder:
        for cells, scores in folder.read_scores(
            words=len(topic.words), cells=len(grid)
        ):
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


# --- Scores: from the cache of the machine, then from the model -----------------------------------


#: Cells that are looked up in the cache at a time.
_SLAB = 16_384


class Scoring:
    """Fills the table and folder of one run with scores."""

    def __init__(
        self,
        cache: ScoreCache,
        folder: RunFolder | None = None,
        progress: Progress | None = None,
        *,
        last: bool = True,
    ) -> None:
        self.model, self.cache, self.folder = cache.model, cache, folder
        self._progress = progress
        #: what keeps replies until the scores hold them; `last`: no other scoring follows
        self._log = folder.replies if folder and last else None
        #: server usage up to the end of the last filling
        self._counted: dict[str, int] = {}

    def beside(self, folder: RunFolder | None) -> Scoring:
        """The scoring of more prompts by the same model, after this one, into another folder."""
        stage = getattr(
            self._progress, "stage", None
        )  # of a command, which shows what it asks
        progress = (
            self._progress
            if stage is None
            else partial(stage, "irrelevant edits", "cells")
        )
        other = Scoring(self.cache, folder, progress)
        other._log = self.folder.replies if self.folder else None
        other._counted = self.model.usage()
        return other

    def fill(self, table: PreferenceTable, record: RunRecord) -> None:
        """Score what is missing. `record` is written to the folder first.

        A cell is looked up in the cache once per run, before any of its neighbours is scored: later
        additions to the cache cannot change which cells are scored together, so that a resumed run
        ends with the numbers of an uninterrupted one. The record counts the cells looked up and
        those found.
        """
        self._write(record)
        seen = record.cache
        if seen.looked_up < len(table.grid):
            n_cached = self._fill_from_cache(table, record, first=seen.looked_up)
            record.cache = CacheRecord(
                looked_up=len(table.grid), found=seen.found + n_cached
            )
            self._write(record)
        self._fill_from_model(table, record)
        if self._log and table.complete():
            self._log.unlink(missing_ok=True)
        if not table.complete():  # never measure what was not scored
            raise ModelError(
                f"expected scores of all {len(table.grid)} cells, found {table.done()}; rerun the "
                "same command to resume"
            )

    def _fill_from_cache(
        self, table: PreferenceTable, record: RunRecord, *, first: int
    ) -> int:
        n_cached = 0
        if not self.cache.holds(record.model, table.counts):
            return n_cached
        for start in range(first, len(table.grid), _SLAB):
            cells = table.missing(range(start, min(start + _SLAB, len(table.grid))))
            cached = self.cache.get(
                record.model, table.grid.prompts(cells), table.counts
            )
            if cached is None:
                continue
            places, scores = cached
            table.add(cells[places], scores)
            if self.folder:
                self.folder.write_scores([(cells[places], scores)])
            n_cached += len(places)
        return n_cached

    def _fill_from_model(self, table: PreferenceTable, record: RunRecord) -> None:
        before, counted = record.usage, self._counted

        def scored() -> Iterator[tuple[CellBlock, WordScores]]:
            shuffle = record.model.device == APPLICATION
            for block, scores in self.model.score(_blocks(table, shuffle=shuffle)):
                model = ModelRecord(**self.model.scorer.info.to_dict())
                record.model.check_same(model)
                record.model = model
                table.add(block.cells, scores)
                yield block, scores

        def store(batch: list[tuple[CellBlock, WordScores]]) -> None:
            count_usage()
            if self.folder:
                self.folder.write_scores(
                    [(block.cells, scores) for block, scores in batch]
                )
            prompts = [prompt for block, _ in batch for prompt in block.prompts]
            scores = WordScores.joined([scores for _, scores in batch])
            self.cache.put(record.model, prompts, scores, table.counts)

        def count_usage() -> None:
            """Record what was used before what it gave: it was paid for, and a kill may come."""
            self._counted = self.model.usage()
            new = {k: n - counted.get(k, 0) for k, n in self._counted.items()}
            if new and (now := added(before, new)) != record.usage:
                record.usage = now
                if record.cost is not None:
                    record.cost = record.cost.after(now)
                self._write(record)

        sampled = self.model.load.sampled
        moving = Moving(self._progress, table.done(), sampled.replies if sampled else 1)
        self.model.heard = moving.heard
        # Beside a GPU another thread stores; a CPU's cores are busy as they are.
        gpu = record.model.device.startswith("cuda")
        try:
            with write_behind(store) if gpu else nullcontext(store) as put:
                store_as_they_come(
                    ()
                    if table.complete()
                    else scored(),  # open no model if nothing is missing
                    put,
                    done=table.done(),
                    total=len(table.grid),
                    progress=moving,
                    size=lambda block_scores: len(block_scores[0].cells),
                    every_s=FLUSH_S,
                )
        finally:  # also after a failure
            count_usage()

    def _write(self, record: RunRecord) -> None:
        if self.folder:
            self.folder.write_record(record, status="running")


class Moving:
    """Progress that moves between blocks: replies that have come count as parts of cells."""

    def __init__(self, progress: Progress | None, done: int, replies: int) -> None:
        self._progress, self._begun, self._replies = progress, done, max(replies, 1)
        self._heard, self._shown, self._total = 0, done, 0

    def __call__(self, done: int, total: int) -> None:
        self._shown, self._total = max(done, min(self._shown, total)), total
        if self._progress:
            self._progress(self._shown, total)

    def heard(self) -> None:
        self._heard += 1
        come = self._begun + self._heard // self._replies
        if self._shown < come < self._total:
            self(come, self._total)


def _blocks(table: PreferenceTable, *, shuffle: bool) -> Iterator[CellBlock]:
    """The missing cells of each chunk; of an application those of all chunks in random order, so
    that what it remembers from one call to the next meets every group alike."""
    chunks: Iterable[NDArray[np.int64]] = (
        table.missing(chunk) for chunk in table.grid.chunks()
    )
    if shuffle:
        mixed = np.random.default_rng(0).permutation(
            table.missing(range(len(table.grid)))
        )
        size = table.grid.chunk_size
        chunks = (mixed[start : start + size] for start in range(0, len(mixed), size))
    for cells in chunks:
        if len(cells):
            yield CellBlock(cells, table.grid.prompts(cells), table.counts)


# --- The model ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CellBlock:
    """Cell indices with their prompts, and how much each word counts for each category [V, Y]."""

    cells: NDArray[np.int64]
    prompts: list[Prompt]
    counts: NDArray[np.float64] | None = None


@dataclass(eq=False)
class AuditedModel:
    """The model of an audit, opened when it is first needed.

    options  what counts as the probability of a word
    readout  how replies are read; None for a topic of words
    replies  the file that keeps them as they arrive
    heard    is called for each of them
    """

    spec: ModelSpec
    load: LoadOptions
    options: WordOptions
    words: tuple[str, ...]
    readout: ReadoutQuery | None = None
    replies: Path | None = None
    heard: Callable[[], None] = lambda: None
    _scorer: Scorer | None = field(default=None, init=False)

    @property
    def scorer(self) -> Scorer:
        if self._scorer is None:
            self._scorer = self.open()
        return self._scorer

    def open(self) -> Scorer:
        readout, options, load = self.readout, self.options, self.load
        if readout is not None and readout.table.normalisation == "per-token":
            options = replace(options, tolerance=0.0)  # no bound survives the root
        if readout is not None and not readout.table.exact and load.sampled is not None:
            load = replace(load, sampled=replace(load.sampled, automatic=False))
        scorer = open_model(self.spec, load=load, words=options)
        if self.replies is not None:
            paid = load.begun.get("usage", {})

            def hear() -> None:  # what is called is set after the model is opened
                self.heard()

            scorer.keep(
                ReplyLog(self.replies, lambda: added(paid, scorer.usage()), hear)
            )
        if readout is None:
            return scorer
        reader = None
        if self.load.sampled:
            reader = open_reader(readout.table, readout.attributes, self.load.allowed)
        return ReplyScorer(scorer, readout, chat=self.load.chat, reader=reader)

    def score(
        self, blocks: Iterable[CellBlock]
    ) -> Iterator[tuple[CellBlock, WordScores]]:
        """Every block with its scores."""
        scorer = self.scorer

        def work(block: CellBlock) -> tuple[CellBlock, WordScores]:
            return block, scorer.score(block.prompts, self.words, block.counts)

        if scorer.blocks_at_once > 1:
            yield from prefetch(
                work, blocks, by=scorer.blocks_at_once, stop=scorer.halt
            )
        else:
            yield from map(work, blocks)

    def usage(self) -> dict[str, int]:
        """Server usage so far; empty for local models."""
        return {} if self._scorer is None else self._scorer.usage()

    def close(self) -> None:
        if self._scorer is not None:
            self._scorer.close()
        self._scorer = None


# --- The cache: cells that this machine has scored before, by model, words and prompt -------------


#: Increment when the same model, words and prompt are scored differently.
SCORING = 1

_DESCRIPTION = TypeAdapter(tuple[ModelInfo, WordReport])


class ScoreCache:
    """The cache of the machine, as one audit sees it.

    Only models whose weights are pinned are cached: folders, GGUF files, hub commits. A row is
    stored as computed. Log-probabilities change in the fifth digit with the rest of their batch, so
    a run with cached and fresh cells equals an uncached run up to rounding.
    """

    def __init__(
        self, model: AuditedModel, scoring: dict[str, Any], *, use: bool = True
    ) -> None:
        self.model = model
        self.scoring = scoring
        self.cache = Cache(limit=None if use else 0)
        self._revision: str | None = None

    def _pinned(self) -> str | None:
        if self._revision is None and self.cache.on:
            self._revision = revision_of(self.model.spec, self.model.load)
        return self._revision

    # --- the description of the model -------------------------------------------------------------

    def describe(self, *, space: bool) -> tuple[ModelInfo, WordReport]:
        """What the model is, and how it tokenises the words: from the last time that it was opened
        here with these settings, or from opening it."""
        about = self._about(space=space)
        note = None if about is None else self.cache.note(about)
        if note is not None:
            found: tuple[ModelInfo, WordReport] = _DESCRIPTION.validate_python(note)
            return found
        scorer = self.model.scorer
        info, report = scorer.info, scorer.word_report(self.model.words, space=space)
        if about is not None and self._scope(ModelRecord(**info.to_dict())) is not None:
            self.cache.keep_note(about, [asdict(info), asdict(report)])
        return info, report

    def _about(self, *, space: bool) -> dict[str, Any] | None:
        """Everything the description may depend on; "auto" settings depend on the machine."""
        pinned = self._pinned()
        if pinned is None:
            return None
        return {
            "model": self.model.spec.name,
            "revision": pinned,
            "load": asdict(self.model.load),
            "scoring": self.scoring,
            "words": self.model.words,
            **self._readout(),
            "space": space,
            "versions": versions(),
            "machine": [platform.node(), os.environ.get("CUDA_VISIBLE_DEVICES")],
        }

    # --- cells ------------------------------------------------------------------------------------

    def holds(self, model: ModelRecord, counts: NDArray[np.float64]) -> bool:
        """Whether any prompt of this model and these words is cached."""
        scope = self._scope(model)
        return scope is not None and self.cache.holds(self._counted(scope, counts))

    def get(
        self, model: ModelRecord, prompts: Sequence[Prompt], counts: NDArray[np.float64]
    ) -> tuple[NDArray[np.intp], WordScores] | None:
        """The positions of cached prompts, and their scores; `counts` [V, Y] is how much each word
        counts for each category."""
        scope = self._scope(model)
        if scope is None:
            return None
        items, width = [_item(p) for p in prompts], len(self.model.words) + 2
        places, values = self.cache.get(self._counted(scope, counts), items, width)
        if not places.size:
            return None
        rows = values.astype(np.float64)
        return places, WordScores(rows[:, :-2], rows[:, -2], rows[:, -1])

    def put(
        self,
        model: ModelRecord,
        prompts: Sequence[Prompt],
        scores: WordScores,
        counts: NDArray[np.float64],
    ) -> None:
        scope = self._scope(model)
        if scope is None or scores.log_upper is not None or scores.draws is not None:
            return  # bounds and samples are not reproducible
        rows = np.column_stack([scores.log_probs, scores.log_coverage, scores.skipped])
        self.cache.put(self._counted(scope, counts), [_item(p) for p in prompts], rows)

    def _counted(
        self, scope: dict[str, Any], counts: NDArray[np.float64]
    ) -> dict[str, Any]:
        """With the categories, if these decide which words are expanded."""
        plain = (
            self.scoring["words.tolerance"] == 0 or self.scoring["words.single_token"]
        )
        if plain or self.model.readout is not None:
            return scope
        digest = hashlib.sha256(repr(counts.tolist()).encode()).hexdigest()
        return {**scope, "counts": digest}

    def _scope(self, model: ModelRecord) -> dict[str, Any] | None:
        """Everything but the prompt that a score depends on; None for a model that is not pinned,
        or differs from the one described."""
        pinned = self._pinned()
        if pinned is None or pinned != model.revision or model.kind not in KINDS:
            return None
        resolved = {"load.kind", "load.dtype", "load.revision"}
        return {
            "scoring": SCORING,
            "model": model.id,
            "kind": model.kind,
            "dtype": model.dtype,
            "revision": pinned,
            "options": {k: v for k, v in self.scoring.items() if k not in resolved},
            "words": self.model.words,
            **self._readout(),
        }

    def _readout(self) -> dict[str, Any]:
        """The readout, whose labels and normalisation change a score."""
        readout = self.model.readout
        return {} if readout is None else {"readout": readout.table.model_dump()}


def _item(prompt: Prompt) -> str:
    """As `json.dumps` writes [before, after, space], in a fifth of its time.

    >>> _item(Prompt('"I" said', " .", space=True))
    '["\\\\"I\\\\" said", " .", true]'
    """
    before, after = _quoted(prompt.before), _quoted(prompt.after)
    return f"[{before}, {after}, {'true' if prompt.space else 'false'}]"
