"""Preferences with their labels and weights: what an audit measures and `import table` reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from clinometer.display.notebook import columns
from clinometer.display.numbers import counted
from clinometer.errors import SettingsError
from clinometer.measure.bounds import RiskBounds, risk_bounds
from clinometer.measure.components import CellMoments, Components, split_replies
from clinometer.measure.context_means import mean_risks
from clinometer.measure.criterion import Criterion
from clinometer.measure.distribution import context_influence
from clinometer.measure.evidence import Evidence
from clinometer.measure.grid import PreferenceGrid, read_preferences
from clinometer.measure.inference import report_of
from clinometer.measure.leaning import GroupLean, leaning_groups
from clinometer.measure.risk import RiskReport, decompose_grid
from clinometer.measure.risks import RISKS
from clinometer.statistics.arrays import BoolArray, FloatArray
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

FLAGS = ("ok", "low-coverage", "missing")
"""Values of the column `flag` in preferences.parquet, the first two by whether coverage is low."""

FEW_REPLIES = 3
"""With fewer replies a cell on average, agreement of all of them says little."""


@dataclass(frozen=True, eq=False, repr=False)
class Preferences:
    """p_y(x, c) for every group, context and category; checked on construction."""

    values: FloatArray
    """[X,C,Y], NaN where a cell is missing, and `observed` is False there."""

    groups: tuple[str, ...]
    """[X], names."""

    contexts: tuple[str, ...]
    """[C], ids."""

    categories: tuple[str, ...]
    """[Y], names."""

    context_weights: FloatArray
    """[C], or [X,C] where groups were seen in different contexts."""

    group_weights: FloatArray
    """[X]."""

    reference: FloatArray | Sequence[float] | Literal["group-mean"] | None = None
    """p*: None (uniform), [Y], [X,Y], [X,C,Y], or "group-mean": the mean over the groups in the
    same context."""

    coverage: FloatArray | None = None
    """[X,C], probability that the slot holds any of the words; None when unknown."""

    coverage_threshold: float = 0.0
    """Coverage below this is low."""

    templates: tuple[str, ...] = field(default=())
    """[C], texts of the contexts; empty where they are not known."""

    low: FloatArray | None = None
    """[X,C,Y], lower bounds of the values, where a model gives only these; None: exact."""

    high: FloatArray | None = None
    """[X,C,Y], upper bounds of the values."""

    answers: FloatArray | None = None
    """[X,C], sampled answers behind each cell; None: probabilities were read."""

    labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Labels of the contexts, by kind (predicate, source); they define clusters."""

    criterion: str | Criterion | None = None
    """How a departure from p* counts as risk; None: what fits the reference."""

    observed: BoolArray = field(init=False, repr=False)
    """[X,C], the observed cells."""

    grid: PreferenceGrid = field(init=False, repr=False)
    """What estimators take."""

    def __post_init__(self) -> None:
        shape = (len(self.groups), len(self.contexts), len(self.categories))
        if self.values.shape != shape:
            raise SettingsError(
                f"preferences: expected values of shape {shape}, found {self.values.shape}"
            )
        if self.reference is not None and not isinstance(self.reference, str):
            object.__setattr__(
                self, "reference", np.asarray(self.reference, dtype=np.float64)
            )
        object.__setattr__(self, "observed", ~np.isnan(self.values).any(axis=2))
        grid = read_preferences(
            self.values,
            context_weights=self.context_weights,
            group_weights=self.group_weights,
            reference=self.reference,
            mask=self.observed,
            groups=self.groups,
            categories=self.categories,
            criterion=self.criterion,
        )
        object.__setattr__(self, "grid", grid)
        object.__setattr__(self, "criterion", grid.criterion)

    def __repr__(self) -> str:
        groups = counted(len(self.groups), "group")
        contexts = counted(len(self.contexts), "context")
        size = f"{groups}, {contexts}, {len(self.categories)} categories"
        missing = int((~self.observed).sum())
        if missing:
            size += f", {counted(missing, 'cell')} missing"
        return f"Preferences({size})"

    @property
    def low_coverage(self) -> BoolArray:
        """Return the cells [X,C] whose words carry so little probability that they are mostly
        noise."""
        if self.coverage is None:
            return np.zeros(self.values.shape[:2], dtype=bool)
        return self.observed & (self.coverage < self.coverage_threshold)

    def counts(self) -> dict[str, int]:
        """Return how many cells carry each flag."""
        return {
            "cells": int(np.prod(self.values.shape[:2])),
            "cells_missing": int((~self.observed).sum()),
            "cells_low_coverage": int(self.low_coverage.sum()),
        }

    def label(self, name: str) -> Sequence[str]:
        """Return the label of each context [C] under this name."""
        if name not in self.labels:
            known = ", ".join(self.labels) or "none: give the context set such a column"
            raise SettingsError(
                f"clusters: expected a label of the contexts ({known}), found {name!r}"
            )
        return self.labels[name]

    def decompose(self) -> RiskReport:
        """Return the risks of these preferences, as the equations define them."""
        return self._with_context_means(decompose_grid(self.grid))

    def _with_context_means(self, report: RiskReport, **sampling: Any) -> RiskReport:
        """Return the report with the risks that are means over contexts, where they are measured.

        Answers that were sampled have no share that the groups have in common: counting noise
        would look like a difference between the groups. Nor has it a reference that is the mean of
        the groups, from which all of R is a difference.
        """
        sampled = self.answers is not None
        summary = dict(report.summary)
        means = mean_risks(self.grid, sampled=sampled, **sampling)
        for name, estimate in means.items():
            limit = RISKS[name].at_most
            summary[name] = _at_most(estimate, summary[limit]) if limit else estimate
        return replace(report, summary=summary)

    def estimate(
        self, *, level: float = 0.95, clusters: str | None = None
    ) -> RiskReport:
        """Return the middle of the bracket of every risk with its interval: see `estimate_risks`.

        Intervals are about contexts of this kind. `clusters` names the label by which contexts
        were sampled together: the interval then covers other predicates or other sources.
        """
        labels = None if clusters is None else self.label(clusters)
        evidence = Evidence.of(self.grid, samples=self.samples, clusters=labels)
        report = report_of(self.grid, evidence, level=level)
        if clusters is not None:
            report = replace(report, n_eff=evidence.n_eff)
        return self._with_context_means(report, level=level, clusters=labels)

    def leans(
        self, *, level: float = 0.95, clusters: str | None = None, known: bool = False
    ) -> tuple[GroupLean, ...]:
        """Return which groups lean clearly, and to what: see `leaning_groups`."""
        labels = None if clusters is None else self.label(clusters)
        return leaning_groups(
            self.grid, level=level, clusters=labels, known=known, samples=self.samples
        )

    def influence(self) -> FloatArray:
        """Return R^v minus R^v without each context, [C]."""
        return context_influence(self.grid)

    @property
    def samples(self) -> FloatArray | None:
        """Return the replies behind every cell [X,C], 1 where there are none (missing cells are
        ignored); None where probabilities were read."""
        if self.answers is None:
            return None
        return np.where(self.observed, self.answers, 1.0)

    @property
    def counted(self) -> bool:
        """Return whether the shares are counted from replies; otherwise probabilities were read."""
        return self.answers is not None

    @property
    def replies(self) -> float:
        """Return the mean number of replies that were counted in a cell; 0 where probabilities
        were read."""
        if self.answers is None or not self.observed.any():
            return 0.0
        return float(self.answers[self.observed].mean())

    @property
    def noisy(self) -> bool:
        """Return whether replies were counted, but so few in a cell that most of R may be dice."""
        return 0 < self.replies < FEW_REPLIES

    def components(
        self, *, level: float = 0.95, clusters: str | None = None
    ) -> Components:
        """Return lean, swing and dice: see `split_replies`."""
        labels = None if clusters is None else self.label(clusters)
        cells = CellMoments.of(self.grid, self.answers, clusters=labels)
        return split_replies(cells, self.groups, level=level)

    def bounds(self) -> RiskBounds | None:
        """Return bounds of the risks, given those of the preferences; None where these are exact.

        A cell without an answer may have any preference.
        """
        if self.low is None or self.high is None:
            return None
        return risk_bounds(self.grid, self.low, self.high)

    def only(
        self, groups: Sequence[int] | None = None, contexts: Sequence[int] | None = None
    ) -> Preferences:
        """Return some groups and contexts, by number and in this order; None: all of them."""
        X, C, _ = self.values.shape
        x = list(range(X)) if groups is None else list(groups)
        c = list(range(C)) if contexts is None else list(contexts)
        cells = np.ix_(x, c)

        def part(values: FloatArray | None) -> FloatArray | None:
            return None if values is None else values[cells]

        shared_weights = self.context_weights.ndim == 1
        labels = {
            name: tuple(values[i] for i in c) for name, values in self.labels.items()
        }
        return replace(
            self,
            values=self.values[cells],
            groups=tuple(self.groups[i] for i in x),
            contexts=tuple(self.contexts[i] for i in c),
            context_weights=self.context_weights[c if shared_weights else cells],
            group_weights=self.group_weights[x],
            reference=self._reference_of(x, c),
            coverage=part(self.coverage),
            templates=tuple(self.templates[i] for i in c) if self.templates else (),
            low=part(self.low),
            high=part(self.high),
            answers=part(self.answers),
            labels=labels,
        )

    def _reference_of(
        self, groups: list[int], contexts: list[int]
    ) -> FloatArray | Sequence[float] | Literal["group-mean"] | None:
        """Return the reference of some groups and contexts."""
        reference = self.reference
        if not isinstance(reference, np.ndarray) or reference.ndim == 1:
            return reference
        if reference.ndim == 2:
            return np.asarray(reference[groups])
        return np.asarray(reference[np.ix_(groups, contexts)])

    def to_pandas(self, groups: slice = slice(None)) -> DataFrame:
        """Return one row per group, context and category, as in preferences.parquet; or of some
        groups."""
        p = self.values[groups]
        X, C, K = p.shape
        # Indices into FLAGS; names would take fifty times the memory.
        flags = np.where(self.observed, self.low_coverage, len(FLAGS) - 1)[groups]
        coverage = np.full((X, C), np.nan)
        if self.coverage is not None:
            coverage = self.coverage[groups]
        group = np.arange(len(self.groups), dtype=np.int32)[groups]
        context = np.arange(C, dtype=np.int32)
        category = np.arange(K, dtype=np.int32)
        table: dict[str, Any] = {
            "group": (np.repeat(group, C * K), self.groups),
            "context_id": (np.tile(np.repeat(context, K), X), self.contexts),
            "attribute": (np.tile(category, X * C), self.categories),
            "p": p.reshape(-1),
            "coverage": np.repeat(coverage.reshape(-1), K),
            "flag": (np.repeat(flags.reshape(-1).astype(np.int8), K), FLAGS),
        }
        if self.low is not None and self.high is not None:
            table["p_low"] = self.low[groups].ravel()
            table["p_high"] = self.high[groups].ravel()
        if self.answers is not None:
            table["answers"] = np.repeat(self.answers[groups].reshape(-1), K)
        return columns(table)

    def equals(self, other: Any) -> bool:
        """Return whether labels and numbers are the same, bit for bit."""
        if not isinstance(other, Preferences):
            return False
        if not np.array_equal(self.values, other.values, equal_nan=True):
            return False
        names = ("groups", "contexts", "categories", "context_weights", "group_weights")
        return all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )


def _at_most(estimate: Estimate, limit: Estimate) -> Estimate:
    """Return an estimate with its interval inside that of a risk that it cannot exceed."""
    if estimate.low is None or estimate.high is None:
        return estimate
    if limit.low is None or limit.high is None:
        return estimate
    low = min(estimate.low, limit.low)
    high = max(estimate.value, min(estimate.high, limit.high))
    return replace(estimate, low=low, high=high)
