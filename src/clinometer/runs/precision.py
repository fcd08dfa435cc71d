"""Audit to a precision: which contexts are sampled next, and when they are enough.

Contexts are sampled by weight in nested samples. After each round the intervals are checked; the
first sample with narrow enough intervals is the last (`measure.planning`). Sizes are
written to run.json before a round is scored, so that a killed run resumes with the same samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from clinometer.contexts import ContextSet
from clinometer.errors import SettingsError
from clinometer.measure import Preferences
from clinometer.measure.planning import FIRST_LOOK, enough, half_widths, next_size
from clinometer.runs.folder.record import PrecisionRecord, RoundRecord
from clinometer.runs.settings import AuditSettings

FEWEST_CONTEXTS = 10
"""Effective contexts before the first decision: a few heavy ones say nothing about the others."""


@dataclass(frozen=True, eq=False)
class SequentialSample:
    """The contexts of a run.

    source    the set they come from
    contexts  those sampled so far, in the order of their rounds; counts are samples
    whole     every context is included, with its own weight: nothing is left to sample
    rounds    how many contexts each round added; () when all came at once
    looks     of each round: samples, contexts, and half-widths (None before it is scored)
    reached   whether the last look found the requested precision
    next_size samples at the next look; None if it was the last
    """

    source: ContextSet
    contexts: ContextSet
    whole: bool = True
    rounds: tuple[int, ...] = ()
    looks: tuple[RoundRecord, ...] = ()
    reached: bool = False
    next_size: int | None = None

    @classmethod
    def begin(
        cls, source: ContextSet, settings: AuditSettings, earlier: PrecisionRecord | None
    ) -> Self:
        """All contexts at once; or the first samples, or those of an earlier attempt."""
        if settings.precision is None:
            return cls(source, source)
        first = min(FIRST_LOOK, _ceiling(settings), len(source))
        looks = earlier.rounds if earlier else [_look(first)]
        return cls._of_rounds(source, looks, settings.seed)

    @classmethod
    def _of_rounds(cls, source: ContextSet, looks: Sequence[RoundRecord], seed: int) -> Self:
        order: dict[str, None] = {}
        rounds, sample = [], source
        for look in looks:
            sample = source.draw(look.draws, seed=seed)
            before = len(order)
            order.update(dict.fromkeys(sample.templates))
            rounds.append(len(order) - before)
        whole = len(order) == len(source)
        last = looks[-1].model_copy(update={"contexts": len(order)})
        contexts = _ordered(source if whole else sample, list(order))
        return cls(source, contexts, whole, tuple(rounds), (*looks[:-1], last))

    def evaluate(self, preferences: Preferences, settings: AuditSettings) -> Self:
        """The same after a look at its intervals: whether they are narrow enough, and if not, how
        many samples the next look needs."""
        target = settings.precision
        if target is None:
            return self
        if preferences.exact(settings.population):
            return replace(self, reached=True)
        report = preferences.estimate(**settings.inference())
        if report.R.low is None:  # a single context
            return self
        widths = half_widths(report)
        last = self.looks[-1].model_copy(update={"half_widths": widths})
        looks = (*self.looks[:-1], last)
        if self.whole:
            return replace(self, looks=looks, reached=max(widths.values()) <= target)
        reached = report.n_eff >= FEWEST_CONTEXTS and enough(report, target, minimum=0)
        draws, ceiling = last.draws, min(_ceiling(settings), len(self.source))
        more = None if reached or draws >= ceiling else next_size(draws, report, target)
        size = None if more is None else min(more, ceiling)
        return replace(self, looks=looks, reached=reached, next_size=size)

    def extend(self, settings: AuditSettings) -> Self:
        """The sample with one more round, of the size that the last look asked for."""
        if self.next_size is None:
            raise SettingsError("extend: expected a look that asked for more samples, found none")
        return self._of_rounds(self.source, (*self.looks, _look(self.next_size)), settings.seed)

    def precision(self, settings: AuditSettings) -> PrecisionRecord | None:
        """The precision for run.json, if one was requested."""
        if settings.precision is None:
            return None
        return PrecisionRecord(
            target=settings.precision,
            reached=self.reached,
            source=self.source.sha256,
            seed=settings.seed,
            draws=self.looks[-1].draws,
            contexts=len(self.contexts),
            whole_set=self.whole,
            rounds=list(self.looks),
        )


def precision_sentence(precision: PrecisionRecord) -> str:
    """Whether the requested precision was reached, and with what."""
    n = precision.contexts
    contexts = f"{n} context" + ("" if n == 1 else "s")
    where = contexts
    if precision.whole_set:
        where = f"the whole set ({contexts})"
    if precision.reached:
        return f"Precision ±{precision.target:g} reached with {where}."
    more = (
        "--population set or corpus asks for less than contexts of this kind"
        if precision.whole_set
        else "raise --max-contexts"
    )
    return f"Precision ±{precision.target:g} not reached with {where}; {more}."


def _look(draws: int) -> RoundRecord:
    return RoundRecord(draws=draws, contexts=None, half_widths=None)


def _ceiling(settings: AuditSettings) -> int:
    return settings.max_contexts if settings.max_contexts is not None else 1 << 62


def _ordered(contexts: ContextSet, templates: list[str]) -> ContextSet:
    """The same set with its rows in this order."""
    place = {template: row for row, template in enumerate(contexts.templates)}
    rows = [place[template] for template in templates]
    return replace(
        contexts,
        templates=templates,
        counts=[contexts.counts[row] for row in rows],
        extra={name: [values[row] for row in rows] for name, values in contexts.extra.items()},
    )
