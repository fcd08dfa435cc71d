"""From scores of words to preferences: as an audit fills its grid, every group in every context in
an order that never changes, and again from stored scores; and what shuffled words give."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from clinometer.contexts import ContextSet
from clinometer.errors import ModelError, RunError
from clinometer.measure import Preferences, membership, preference
from clinometer.measure.bounds import preference_bounds
from clinometer.measure.inference import group_split
from clinometer.measure.risk import decompose_grid
from clinometer.models import WordScores
from clinometer.models.sampled import outcomes
from clinometer.readouts.readers import UNREAD
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import FloorRecord, RunRecord
from clinometer.runs.settings import AuditSettings
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate, central_interval
from clinometer.topics import Prompt, Topic

if TYPE_CHECKING:
    from clinometer.runs.run import Run


@dataclass(frozen=True)
class CellGrid:
    """Cells are numbered group by group, in a group context by context:
    cell = group index * number of contexts + context index.

    Chunks of cells are always scored whole and are the same after an interruption, so that a
    resumed run ends with exactly the numbers of an uninterrupted one.
    """

    topic: Topic
    contexts: ContextSet
    chunk_size: int

    def __len__(self) -> int:
        return len(self.topic) * len(self.contexts)

    def chunks(self) -> Iterator[range]:
        for first in range(0, len(self), self.chunk_size):
            yield range(first, min(first + self.chunk_size, len(self)))

    def places(
        self, cells: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Group index and context index of each cell."""
        groups, contexts = np.divmod(cells, len(self.contexts))
        return groups, contexts

    def prompts(self, cells: range | NDArray[np.int64]) -> list[Prompt]:
        groups, contexts = self.places(np.asarray(cells, dtype=np.int64))
        templates, prompts = self.contexts.templates, list[Prompt]()
        ends = [*(np.flatnonzero(np.diff(groups)) + 1).tolist(), len(groups)]
        for start, stop in itertools.pairwise([0, *ends]):  # cells of one group
            some = [templates[c] for c in contexts[start:stop].tolist()]
            prompts += (
                self.topic.render_all(some, self.topic.groups[groups[start]])
                if some
                else []
            )
        return prompts


class PreferenceTable:
    """Preferences of the whole grid, filled as scores come in; the scores themselves go to disk."""

    def __init__(self, grid: CellGrid, counts: NDArray[np.float64]) -> None:
        self.grid = grid
        self.counts = counts
        self.values = np.full((len(grid), counts.shape[1]), np.nan)
        self.coverage = np.full(len(grid), np.nan)
        self.skipped = np.full(len(grid), np.nan)
        #: bounds of the preferences [cells, Y], where a model returns only these
        self.low: NDArray[np.float64] | None = None
        self.high: NDArray[np.float64] | None = None
        #: recognised samples of each cell, and counts of all samples, where a model is sampled
        self.answers: NDArray[np.float64] | None = None
        self.outcomes: Counter[str] = Counter()

    def add(self, cells: NDArray[np.int64], scores: WordScores) -> None:
        """Eq. 8 on log-probabilities as stored (float32), so that measuring again
        gives the same bits."""
        self.values[cells] = preference(
            scores.log_probs.astype(np.float32), self.counts
        ).p
        self.coverage[cells] = np.exp(
            scores.log_coverage.astype(np.float32).astype(np.float64)
        )
        self.skipped[cells] = scores.skipped.astype(np.float32)
        if scores.log_upper is not None:
            if self.low is None or self.high is None:
                self.low, self.high = (
                    np.zeros_like(self.values),
                    np.ones_like(self.values),
                )
            lower, upper = (
                p.astype(np.float32) for p in (scores.log_probs, scores.log_upper)
            )
            self.low[cells], self.high[cells] = preference_bounds(
                lower, np.maximum(lower, upper), self.counts
            )
        if scores.draws is not None:
            self._add_draws(cells, scores.draws, scores.unread)

    def _add_draws(
        self,
        cells: NDArray[np.int64],
        draws: tuple[tuple[str, ...], ...],
        unread: NDArray[np.float64] | None,
    ) -> None:
        """Shares of whole replies, which log-probabilities as stored hold to seven digits."""
        n = np.array([len(texts) for texts in draws])
        used = np.round(self.coverage[cells] * n)
        if self.answers is None:
            self.answers = np.zeros(len(self.grid))
        self.answers[cells] = used
        n_used = used[:, None]
        shares = np.round(self.values[cells] * n_used) / np.where(
            n_used > 0, n_used, 1.0
        )
        self.values[cells] = np.where(n_used > 0, shares, np.nan)
        if unread is None:
            prompts = self.grid.prompts(cells)
            self.outcomes.update(outcomes(prompts, self.grid.topic.words, draws))
            return
        said = {"replies": int(n.sum()), "replies_words": int(used.sum())}
        totals = zip(UNREAD.values(), unread.sum(axis=0).tolist(), strict=True)
        self.outcomes.update(
            {**said, **{f"replies_{name}": int(total) for name, total in totals}}
        )

    def missing(self, cells: range) -> NDArray[np.int64]:
        """Those of `cells` without scores yet."""
        return cells.start + np.flatnonzero(
            np.isnan(self.skipped[cells.start : cells.stop])
        )

    def done(self) -> int:
        """How many cells have scores."""
        return int(np.count_nonzero(~np.isnan(self.skipped)))

    def complete(self) -> bool:
        return self.done() == len(self.grid)

    def preferences(self, settings: AuditSettings) -> Preferences:
        topic, contexts = self.grid.topic, self.grid.contexts
        return Preferences(
            values=self._placed(self.values),
            groups=topic.group_names,
            contexts=contexts.ids,
            categories=topic.categories,
            context_weights=contexts.weights,
            group_weights=topic.group_weights,
            reference=topic.reference,
            criterion=settings.criterion_for(
                topic.reference,
                topic.categories,
                scale=getattr(topic.readout, "scale", None),
            ),
            coverage=self._placed(self.coverage),
            coverage_threshold=settings.coverage_threshold,
            templates=tuple(contexts.templates),
            labels=contexts.extra,
            low=None if self.low is None else self._placed(self.low),
            high=None if self.high is None else self._placed(self.high),
            answers=None if self.answers is None else self._placed(self.answers),
        )

    def _placed(self, cells: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of cells [n, ..] as groups by contexts [X, C, ..], without a copy."""
        shape = (len(self.grid.topic), len(self.grid.contexts))
        return cells.reshape(*shape, *cells.shape[1:])

    def bounds(self) -> NDArray[np.float64]:
        """The largest possible effect of unexpanded words on a preference of each cell [X, C]."""
        most = np.where(self.skipped > 0, 1.0, 0.0)
        np.divide(
            self.skipped, self.coverage, out=most, where=self.coverage > self.skipped
        )
        return self._placed(most)


# --- Stored scores, under the same or another count of words -------------------------------------


def word_counts(
    record: RunRecord,
    *,
    shared: Literal["split", "drop"] | None = None,
    keep: Collection[str] | None = None,
) -> FloatArray:
    """How much each word counts for each category under a run's tokenizer, [V,Y].

    Words with the same tokens are one event, which counts for every category of any of them, like a
    word that a topic lists twice. Sampled answers are counted whole, so a word of several
    categories counts for none of them. `shared` and `keep` (only these words) override the run's
    own settings.
    """
    topic, words = record.topic, record.scored_words
    same = words.same_tokens
    left_out = {*words.unwritable, *words.restricted, *same}
    if keep is not None:
        left_out |= set(words.words) - set(keep)
    attributes = {
        category: [same.get(w, w) for w in members]
        for category, members in topic.attributes.items()
    }
    if record.model.kind == "sampled":
        shared = "drop"
    counts = membership(words.words, attributes, shared=shared or topic.shared)
    counts[[i for i, w in enumerate(words.words) if w in left_out]] = 0.0
    for category, total in zip(attributes, counts.sum(axis=0), strict=True):
        if total == 0:
            raise ModelError(
                f"{record.model.id}: expected a word of category {category!r} that it can score, "
                f"found none; left out: "
                f"{', '.join(sorted(left_out & set(topic.attributes[category])))}"
            )
    return counts


def has_scores(run: Run) -> bool:
    """Whether a run has stored scores of words: reference models and runs in memory have none."""
    return run.path is not None and run.record.words is not None


def stored_cells(
    run: Run,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], WordScores]]:
    """Group [n], context [n] and scores of the stored cells, part by part; log-probabilities [n,V]
    as the float32 that they are stored as."""
    words = run.record.scored_words.words
    if run.path is None:
        raise RunError(f"{run.model}: the run has no stored scores of words")
    X, C = run.preferences.values.shape[:2]
    n_cells = 0
    stored = RunFolder(run.path).read_scores(
        words=len(words), cells=X * C, repair=False
    )
    for cells, scores in stored:
        n_cells += len(cells)
        yield cells // C, cells % C, scores
    if n_cells != X * C:
        raise RunError(
            f"{run.path}: expected the scores of {X * C} cells, found {n_cells}; the audit's "
            "command scores the others again"
        )


def recounted(run: Run, counts: Sequence[FloatArray]) -> list[Preferences]:
    """The preferences of a run's stored scores under other counts of its words; one reading."""
    X, C, K = run.preferences.values.shape
    values = [np.full((X, C, K), np.nan) for _ in counts]
    coverage = [np.zeros((X, C)) for _ in counts]
    for x, c, scores in stored_cells(run):
        for i, count in enumerate(counts):
            cells = preference(scores.log_probs, count)
            values[i][x, c] = cells.p
            coverage[i][x, c] = np.exp(cells.log_coverage)
    return [
        replace(run.preferences, values=v, coverage=m)
        for v, m in zip(values, coverage, strict=True)
    ]


# --- The floor of an audit: its risks when the words of the categories are shuffled ---------------
#
# Even a meaningless category has a risk: its words are more or less probable than those of the
# others. Risks are informative only compared with those of shuffled words.


SHUFFLES = 99
MOST_CELLS = 24_000
"""Larger audits sample contexts by weight: the variation between shuffles is far larger."""

#: Cells whose probabilities are in memory at a time.
_ROWS = 8_192


def word_floor(run: Run) -> FloorRecord:
    """What shuffled words give, from the stored scores of a run.

    Words are swapped with words of similar probability, so that each category keeps about the same
    total probability. A p-value is the share of shuffles, including the original words, whose risk
    is at least as high.
    """
    p = run.preferences
    X, C, _ = p.values.shape
    weights = np.asarray(p.context_weights / p.context_weights.sum())
    most = max(1, MOST_CELLS // X)
    if most < C:
        weights = np.random.default_rng(0).multinomial(most, weights).astype(float)
    kept = np.flatnonzero(weights)
    log_probs, mean = _chosen(run, kept)
    grid = replace(p.only(contexts=kept.tolist()), context_weights=weights[kept]).grid
    counts = [word_counts(run.record), *shuffled_counts(run, SHUFFLES, 0, mean)]
    # Every list contains the same words, so each has the same total: one matrix product.
    p_by_list = preference(log_probs, np.concatenate(counts, axis=1)).p * len(counts)
    found = []
    for values in np.split(p_by_list, len(counts), axis=2):
        shuffled = grid.holding(values)
        whole = decompose_grid(shuffled)
        split = group_split(shuffled)
        between = split["R_between"].value if split else 0.0
        found.append(
            (whole.R.value, whole.R_bias.value, whole.R_volatility.value, between)
        )
    measured, by_chance = np.array(found[0]), np.array(found[1:])
    level = 0.95
    ends = np.array(central_interval(by_chance, level))
    middle = by_chance.mean(axis=0)
    R, R_bias, R_volatility, R_between = (
        Estimate(float(v), float(min(a, v)), float(max(b, v)), level, "shuffled words")
        for v, a, b in zip(middle, ends[0], ends[1], strict=True)
    )
    above = (1 + (by_chance >= measured - 1e-9).sum(axis=0)) / (1 + SHUFFLES)
    alone = X < 2
    return FloorRecord(
        shuffles=SHUFFLES,
        R=R,
        R_bias=R_bias,
        R_volatility=R_volatility,
        R_between=None if alone else R_between,
        p=float(above[0]),
        p_between=None if alone else float(above[3]),
    )


def mean_probabilities(run: Run) -> FloatArray:
    """[V], the mean probability of each word over groups and contexts, by weight."""
    return _chosen(run, np.empty(0, dtype=np.intp))[1]


def _chosen(run: Run, kept: NDArray[np.intp]) -> tuple[NDArray[np.float32], FloatArray]:
    """Log-probabilities [X,C,V] in some contexts, and the mean probability of each word [V]."""
    p = run.preferences
    X, C, _ = p.values.shape
    weights = p.context_weights / p.context_weights.sum()
    groups = p.group_weights / p.group_weights.sum()
    row = np.full(C, -1)
    row[kept] = np.arange(kept.size)
    mean = np.zeros(len(run.record.scored_words.words))
    chosen = np.zeros((X, kept.size, len(mean)), dtype=np.float32)
    for x, c, scores in stored_cells(run):
        weight = groups[x] * weights[c]
        for start in range(0, len(x), _ROWS):
            some = slice(start, start + _ROWS)
            mean += weight[some] @ np.exp(scores.log_probs[some], dtype=np.float64)
        inside = row[c] >= 0
        chosen[x[inside], row[c[inside]]] = scores.log_probs[inside]
    return chosen, mean


def shuffled_counts(run: Run, n: int, seed: int, mean: FloatArray) -> list[FloatArray]:
    """n counts [V,Y] with words swapped between the categories.

    Only among words of similar probability (blocks of 2K neighbours in rank of `mean`, the words'
    mean probabilities), so that each category keeps about the same total probability.
    """
    counts = word_counts(run.record)
    used = np.flatnonzero(counts.any(axis=1))
    order = used[np.argsort(-mean[used], kind="stable")]
    size = 2 * counts.shape[1]
    rng = np.random.default_rng(seed)
    found: list[FloatArray] = []
    while len(found) < n:
        shuffled = np.zeros_like(counts)
        for start in range(0, len(order), size):
            block = order[start : start + size]
            shuffled[block] = counts[rng.permutation(block)]
        found.append(shuffled)
    return found
