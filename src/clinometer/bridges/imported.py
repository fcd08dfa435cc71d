"""Runs of what another tool asked: the same folder as an audit's, for report, view and compare.

`measured_import` takes the preferences that `SampleCells` gathers from samples of any task, by a
mapping; `audited_elsewhere` the scores of a whole audit that another tool carried out for us.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.bridges.mapping import SampleMapping, SamplePlace
from clinometer.contexts.template import context_ids
from clinometer.display.text import visible
from clinometer.errors import SettingsError, TableError
from clinometer.measure import Preferences
from clinometer.measure.frame import check_size
from clinometer.measure.placebo import placebo_of
from clinometer.models import ModelInfo, WordReport, WordScores
from clinometer.runs import AuditSettings, Run, RunFolder
from clinometer.runs.folder.record import (
    ContextsRecord,
    ImportRecord,
    RunRecord,
    TopicRecord,
    new_record,
    word_record,
)
from clinometer.runs.folder.score_table import Scored
from clinometer.runs.scores import CellGrid, PreferenceTable, word_counts
from clinometer.statistics.arrays import FloatArray
from clinometer.storage.rows import reading
from clinometer.storage.untrusted import open_binary

#: What run.json says a model of an imported run is: another program scored it.
KIND = "imported"


def import_record(
    path: Path, tool: str, *, version: str = "", task: str = ""
) -> ImportRecord:
    """What run.json says of a file, as it is before it is read; samples are counted later."""
    name, digest = visible(path.name), file_digest(path)
    return ImportRecord(
        tool=tool, version=version, task=task, file=name, sha256=digest, samples=0
    )


def measured_import(
    cells: SampleCells,
    info: ModelInfo,
    source: ImportRecord,
    settings: AuditSettings,
    *,
    out: str | Path | None,
    fresh: bool,
    title: str = "",
    placebo: Preferences | None = None,
) -> Run:
    """Measure the samples that were read, and write the run to `out` if that is given.

    `placebo` are edits × texts, the context of each text as its label.
    """
    mapping = cells.mapping
    preferences = cells.preferences(coverage_threshold=settings.coverage_threshold)
    if settings.clusters is not None:
        preferences.label(
            settings.clusters
        )  # refuses an unknown one before anything is written
    by = {"mapping": mapping.name, "mapping_sha256": mapping.sha256}
    counts = {"samples": cells.samples, "left_out": dict(cells.left_out)}
    source = source.model_copy(update=by | counts)
    weights = preferences.context_weights
    weighted = sorted(zip(preferences.contexts, weights.tolist(), strict=True))
    record = RunRecord.begun(
        info,
        topic=TopicRecord(
            name=mapping.name,
            title=title or mapping.title,
            language=mapping.language,
            sha256=_digest([sorted(preferences.groups), preferences.categories]),
            groups=len(preferences.groups),
            attributes={category: [category] for category in preferences.categories},
            reference=mapping.reference_of(preferences.categories),
            favourable=mapping.favourable,
        ),
        contexts=ContextsRecord(
            name=source.task or mapping.name,
            sha256=_digest(weighted),
            n=len(preferences.contexts),
            n_eff=float(1 / (weights**2).sum()),
            noun=mapping.noun,
            labels=list(preferences.labels),
        ),
        scoring={
            "imported.sha256": source.sha256,
            "imported.mapping": source.mapping_sha256,
        },
        settings=settings,
        imported=source,
    )
    if source.version:
        record.versions = record.versions | {source.tool: source.version}
    if placebo is not None:
        record.placebo = placebo_of(
            preferences,
            placebo,
            record.chosen_criterion,
            level=settings.level,
            clusters=settings.clusters,
        )
    return _written(record, preferences, out=out, fresh=fresh)


def audited_elsewhere(
    grid: CellGrid,
    scores: WordScores,
    report: WordReport,
    info: ModelInfo,
    source: ImportRecord,
    settings: AuditSettings,
    *,
    out: str | Path | None,
    fresh: bool,
) -> Run:
    """Measure scores of every cell of the grid, in its order, and write the run to `out`."""
    record = new_record(info, grid.topic, grid.contexts, settings)
    record.chunk_size = grid.chunk_size
    record.words = word_record(report, grid.topic)
    record.scoring = {"imported.sha256": source.sha256}
    record.imported = source
    table = PreferenceTable(grid, word_counts(record))
    cells = np.arange(len(grid), dtype=np.int64)
    table.add(cells, scores)
    if table.outcomes:
        record.replies = dict(table.outcomes)
    preferences = table.preferences(settings)
    return _written(record, preferences, out=out, fresh=fresh, scores=(cells, scores))


def _written(
    record: RunRecord,
    preferences: Preferences,
    *,
    out: str | Path | None,
    fresh: bool,
    scores: Scored | None = None,
) -> Run:
    """The measured run, with the `scores` of words if there are any; a folder of another import is
    refused unless `fresh`."""
    if out is None:
        return Run.measured(record, preferences, folder=None)
    folder = RunFolder(Path(out))
    with folder.opened(record.identity, fresh=fresh):
        if scores is not None:
            folder.clear_scores()
            folder.write_scores([scores])
        return Run.measured(record, preferences, folder=folder)


def file_digest(path: Path) -> str:
    """sha256 of a file of any size."""
    with reading(path, TableError), open_binary(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(content: object) -> str:
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


#: Recognised replies that a preference needs at least, as in audits that sample.
FEWEST_REPLIES = 2


@dataclass
class _Cell:
    """Samples of one group in one context: log-probabilities by category, or counted replies."""

    log_probs: list[dict[str, float]] = field(default_factory=list)
    replies: Counter[str | None] = field(default_factory=Counter)


class SampleCells:
    """Gathers samples one by one; `preferences` is what they say together.

    A repeated sample is averaged with the first, and its context weighs twice. A cell of fewer than
    `fewest` replies is missing. `samples` counts all that were read, and `left_out` those of them
    that are in no cell.
    """

    def __init__(
        self,
        mapping: SampleMapping,
        categories: Sequence[str] = (),
        *,
        fewest: int = FEWEST_REPLIES,
    ) -> None:
        self.mapping = mapping
        self.fewest = fewest
        self.samples = 0
        self.left_out: Counter[str] = Counter()
        self._categories: dict[str, None] = dict.fromkeys(
            categories or mapping.categories
        )
        self._groups: dict[str, None] = {}
        self._contexts: dict[str, SamplePlace] = {}
        self._cells: dict[tuple[str, str], _Cell] = {}

    @property
    def groups(self) -> tuple[str, ...]:
        """Those seen so far."""
        return tuple(self._groups)

    @property
    def shared(self) -> bool:
        """Whether a context was seen with two groups."""
        return len(self._cells) > len(self._contexts)

    def place(self, fields: Mapping[str, Any], *, where: str) -> SamplePlace | None:
        """Where a sample with these fields belongs; one that the mapping does not want is counted
        and belongs nowhere."""
        if self.mapping.wants(fields, where=where):
            self.samples += 1
            return self.mapping.place(fields, where=where)
        self.leave_out("samples that the mapping does not want")
        return None

    def leave_out(self, why: str) -> None:
        """A sample that was read and belongs nowhere."""
        self.samples += 1
        self.left_out[why] += 1

    def add(self, place: SamplePlace, log_probs: Mapping[str, float]) -> None:
        """A sample with the log-probability of every category."""
        self._at(place).log_probs.append(dict(log_probs))
        self._categories.update(dict.fromkeys(log_probs))

    def add_answer(self, place: SamplePlace, category: str, log_prob: float) -> None:
        """A sample with one answer; those of a cell that share a category are added up."""
        samples = self._at(place).log_probs
        if not samples:
            samples.append({})
        sums = samples[0]
        sums[category] = float(np.logaddexp(sums.get(category, -np.inf), log_prob))
        self._categories.setdefault(category)

    def add_reply(self, place: SamplePlace, category: str | None, n: int = 1) -> None:
        """Sampled replies, and the category that was recognised in them."""
        self._at(place).replies[category] += n
        if category is not None:
            self._categories.setdefault(category)

    def _at(self, place: SamplePlace) -> _Cell:
        first = self._contexts.setdefault(place.context, place)
        if first.labels != place.labels:
            raise TableError(
                f"mapping {self.mapping.name!r}: context {place.context!r} has two labels "
                f"({', '.join(first.labels)} and {', '.join(place.labels)}); give it one"
            )
        self._groups.setdefault(place.group)
        return self._cells.setdefault((place.group, place.context), _Cell())

    def preferences(self, *, coverage_threshold: float = 0.0) -> Preferences:
        """All samples as preferences; a cell without every category is missing."""
        if not self._cells:
            why = (
                ", ".join(f"{n} {reason}" for reason, n in self.left_out.items())
                or "none"
            )
            raise TableError(
                f"mapping {self.mapping.name!r}: expected samples, found none to read ({why})"
            )
        groups, contexts = tuple(self._groups), tuple(self._contexts)
        categories = tuple(self._categories)
        if len(categories) < 2:
            raise TableError(
                f"mapping {self.mapping.name!r}: expected two categories or more, found "
                f"{', '.join(categories) or 'none'}"
            )
        shape = (len(groups), len(contexts))
        check_size((*shape, len(categories)), f"mapping {self.mapping.name!r}")
        values = np.full((*shape, len(categories)), np.nan)
        coverage, answers = np.full(shape, np.nan), np.zeros(shape)
        weights = np.zeros(shape)
        row = {group: x for x, group in enumerate(groups)}
        column = {context: c for c, context in enumerate(contexts)}
        for (group, context), cell in self._cells.items():
            at = row[group], column[context]
            if cell.replies:
                counts = np.array(
                    [cell.replies[category] for category in categories], dtype=float
                )
                answers[at] = counts.sum()
                coverage[at], weights[at] = answers[at] / cell.replies.total(), 1
                if answers[at] >= self.fewest:  # else it is a missing cell
                    values[at] = counts / answers[at]
            else:
                weights[at] = len(cell.log_probs)
                coverage[at], values[at] = self._shares(cell.log_probs, categories)
        sampled = any(cell.replies for cell in self._cells.values())
        places = [self._contexts[context] for context in contexts]
        labels = zip(
            *(place.labels for place in places), strict=True
        )  # texts of edits have none
        try:
            return Preferences(
                values=values,
                groups=groups,
                contexts=context_ids(contexts),
                categories=categories,
                context_weights=self._weights(weights, contexts),
                group_weights=np.full(len(groups), 1 / len(groups)),
                reference=self.mapping.reference_of(categories),
                coverage=coverage if self.mapping.coverage or sampled else None,
                coverage_threshold=coverage_threshold,
                templates=tuple(place.text for place in places),
                answers=answers if sampled else None,
                labels=dict(zip(self.mapping.labels, labels, strict=False)),
            )
        except SettingsError as error:  # what is wrong is in the samples
            raise TableError(f"mapping {self.mapping.name!r}: {error}") from error

    def _shares(
        self, samples: Sequence[Mapping[str, float]], categories: Sequence[str]
    ) -> tuple[float, FloatArray]:
        """Coverage and preferences of a cell: the mean over its samples."""
        shares, total = [], []
        for log_probs in samples:
            if any(category not in log_probs for category in categories):
                self.left_out["samples without an answer of every category"] += 1
                continue
            logs = np.array([log_probs[category] for category in categories])
            whole = np.logaddexp.reduce(logs)
            if not np.isfinite(whole):
                self.left_out["samples without probability"] += 1
                continue
            shares.append(np.exp(logs - whole))
            total.append(min(1.0, float(np.exp(whole))))
        if not shares:
            return np.nan, np.full(len(categories), np.nan)
        mean = np.mean(shares, axis=0)
        return float(np.mean(total)), np.asarray(mean / mean.sum())

    def _weights(self, counts: FloatArray, contexts: Sequence[str]) -> FloatArray:
        """w_c: how often a context was sampled, which its groups must agree in."""
        most = counts.max(axis=0)
        differs = np.flatnonzero(((counts > 0) & (counts != most)).any(axis=0))
        if differs.size:
            raise TableError(
                f"mapping {self.mapping.name!r}: context {contexts[int(differs[0])]!r} has more "
                "samples of one group than of another; name a field in `context` that tells "
                "them apart"
            )
        return np.asarray(most / most.sum())
