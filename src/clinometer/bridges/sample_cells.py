"""Samples of any task, gathered one by one into the cells of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from clinometer.bridges.mapping import SampleMapping, SamplePlace
from clinometer.contexts.template import context_ids
from clinometer.errors import SettingsError, TableError
from clinometer.measure import Preferences
from clinometer.measure.frame import check_size
from clinometer.statistics.arrays import FloatArray

FEWEST_REPLIES = 2
"""Recognised replies that a preference needs at least, as in audits that sample."""


@dataclass
class _Cell:
    """Samples of one group in one context: log-probabilities by category, or counted replies."""

    log_probs: list[dict[str, float]] = field(default_factory=list)
    replies: Counter[str | None] = field(default_factory=Counter)


class SampleCells:
    """Gathers samples one by one; `preferences` is what they say together.

    A repeated sample is averaged with the first, and its context weighs twice. A cell of fewer than
    `fewest` replies is missing.
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
        """All samples that were read."""

        self.left_out: Counter[str] = Counter()
        """Why samples that were read are in no cell -> how many."""

        self._categories: dict[str, None] = dict.fromkeys(
            categories or mapping.categories
        )
        self._groups: dict[str, int] = {}
        self._contexts: dict[str, SamplePlace] = {}
        self._cells: dict[tuple[str, str], _Cell] = {}

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups of the samples so far."""
        return tuple(self._groups)

    @property
    def shared(self) -> bool:
        """Return whether a context was seen with two groups."""
        return len(self._cells) > len(self._contexts)

    def place(self, fields: Mapping[str, Any], *, where: str) -> SamplePlace | None:
        """Return where a sample with these fields belongs; one that the mapping does not want is
        counted and belongs nowhere."""
        if self.mapping.wants(fields, where=where):
            self.samples += 1
            return self.mapping.place(fields, where=where)
        self.leave_out("samples that the mapping does not want")
        return None

    def leave_out(self, why: str) -> None:
        """Count a sample that was read and belongs nowhere."""
        self.samples += 1
        self.left_out[why] += 1

    def add(self, place: SamplePlace, log_probs: Mapping[str, float]) -> None:
        """Add a sample with the log-probability of every category."""
        self._cell(place).log_probs.append(dict(log_probs))
        self._categories.update(dict.fromkeys(log_probs))

    def add_answer(self, place: SamplePlace, category: str, log_prob: float) -> None:
        """Add a sample with one answer; those of a cell that share a category are added up."""
        samples = self._cell(place).log_probs
        if not samples:
            samples.append({})
        sums = samples[0]
        sums[category] = float(np.logaddexp(sums.get(category, -np.inf), log_prob))
        self._categories.setdefault(category)

    def add_reply(self, place: SamplePlace, category: str | None, n: int = 1) -> None:
        """Add `n` sampled replies, and the category that was recognised in them."""
        self._cell(place).replies[category] += n
        if category is not None:
            self._categories.setdefault(category)

    def _cell(self, place: SamplePlace) -> _Cell:
        earlier = self._contexts.setdefault(place.context, place)
        if earlier.labels != place.labels:
            raise TableError(
                f"mapping {self.mapping.name!r}: context {place.context!r} has two labels "
                f"({', '.join(earlier.labels)} and {', '.join(place.labels)}); give it one"
            )
        self._groups.setdefault(place.group, len(self._groups))
        return self._cells.setdefault((place.group, place.context), _Cell())

    def preferences(self, *, coverage_threshold: float = 0.0) -> Preferences:
        """Return all samples as preferences; a cell without every category is missing."""
        self._check()
        contexts = tuple(self._contexts)
        categories = tuple(self._categories)
        shape = (len(self._groups), len(contexts))
        check_size((*shape, len(categories)), f"mapping {self.mapping.name!r}")
        values = np.full((*shape, len(categories)), np.nan)
        coverage = np.full(shape, np.nan)
        answers = np.zeros(shape)
        samples = np.zeros(shape)
        columns = {context: c for c, context in enumerate(contexts)}
        for (group, context), cell in self._cells.items():
            index = self._groups[group], columns[context]
            if cell.replies:
                counts = np.array([cell.replies[name] for name in categories], float)
                answers[index] = counts.sum()
                coverage[index] = answers[index] / cell.replies.total()
                samples[index] = 1
                if answers[index] >= self.fewest:  # else it is a missing cell
                    values[index] = counts / answers[index]
            else:
                samples[index] = len(cell.log_probs)
                shares = self._shares(cell.log_probs, categories)
                coverage[index], values[index] = shares
        sampled = any(cell.replies for cell in self._cells.values())
        places = self._contexts.values()
        # Texts of edits have no labels.
        labels = zip(*(place.labels for place in places), strict=True)
        try:
            return Preferences(
                values=values,
                groups=self.groups,
                contexts=context_ids(contexts),
                categories=categories,
                context_weights=self._weights(samples, contexts),
                group_weights=np.full(shape[0], 1 / shape[0]),
                reference=self.mapping.reference_of(categories),
                coverage=coverage if self.mapping.coverage or sampled else None,
                coverage_threshold=coverage_threshold,
                templates=tuple(place.text for place in places),
                answers=answers if sampled else None,
                labels=dict(zip(self.mapping.labels, labels, strict=False)),
            )
        except SettingsError as error:  # what is wrong is in the samples
            raise TableError(f"mapping {self.mapping.name!r}: {error}") from error

    def _check(self) -> None:
        """Refuse samples without a cell, or of fewer than two categories."""
        if not self._cells:
            reasons = [f"{n} {reason}" for reason, n in self.left_out.items()]
            raise TableError(
                f"mapping {self.mapping.name!r}: expected samples, found none to read "
                f"({', '.join(reasons) or 'none'})"
            )
        if len(self._categories) < 2:
            raise TableError(
                f"mapping {self.mapping.name!r}: expected two categories or more, found "
                f"{', '.join(self._categories) or 'none'}"
            )

    def _shares(
        self, samples: Sequence[Mapping[str, float]], categories: Sequence[str]
    ) -> tuple[float, FloatArray]:
        """Return coverage and preferences [Y] of a cell: the mean over its samples."""
        shares = []
        totals = []
        for log_probs in samples:
            if any(category not in log_probs for category in categories):
                self.left_out["samples without an answer of every category"] += 1
                continue
            logs = np.array([log_probs[category] for category in categories])
            log_total = np.logaddexp.reduce(logs)
            if not np.isfinite(log_total):
                self.left_out["samples without probability"] += 1
                continue
            shares.append(np.exp(logs - log_total))
            totals.append(min(1.0, float(np.exp(log_total))))
        if not shares:
            return np.nan, np.full(len(categories), np.nan)
        mean = np.mean(shares, axis=0)
        return float(np.mean(totals)), np.asarray(mean / mean.sum())

    def _weights(self, samples: FloatArray, contexts: Sequence[str]) -> FloatArray:
        """Return w_c [C]: how often a context was sampled [X,C], which its groups must agree in."""
        most = samples.max(axis=0)
        uneven = np.flatnonzero(((samples > 0) & (samples != most)).any(axis=0))
        if uneven.size:
            raise TableError(
                f"mapping {self.mapping.name!r}: context {contexts[int(uneven[0])]!r} has more "
                "samples of one group than of another; name a field in `context` that tells "
                "them apart"
            )
        return np.asarray(most / most.sum())
