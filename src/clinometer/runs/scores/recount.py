"""Which word counts for which category of a run, and the stored scores under another count."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import ModelError, RunError
from clinometer.measure import Preferences, membership, preference
from clinometer.runs.cells import places
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record_schema import RunRecord

if TYPE_CHECKING:
    from clinometer.runs.run import Run

Floats = NDArray[np.float64]


def word_counts(
    record: RunRecord,
    *,
    shared: Literal["split", "drop"] | None = None,
    keep: Collection[str] | None = None,
) -> Floats:
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


def stored_scores(
    run: Run,
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]]:
    """Group [n], context [n] and log-probabilities [n,V] of the stored cells, part by part."""
    words = run.record.words
    if run.path is None or words is None:
        raise RunError(f"{run.model}: the run has no stored scores of words")
    X, C = run.preferences.values.shape[:2]
    precision = run.record.precision
    sizes = [C] if precision is None else [look.contexts or 0 for look in precision.rounds]
    rounds = np.diff(sizes, prepend=0).tolist()
    seen = 0
    for cells, scores in RunFolder(run.path).read_scores(words=len(words.words), repair=False):
        seen += len(cells)
        x, c = places(cells, groups=X, rounds=rounds)
        yield x, c, scores.log_probs.astype(np.float32)
    if seen != X * C:
        raise RunError(
            f"{run.path}: expected the scores of {X * C} cells, found {seen}; the audit's command "
            "scores the others again"
        )


def recounted(run: Run, counts: Sequence[Floats]) -> list[Preferences]:
    """The preferences of a run's stored scores under other counts of its words; one reading."""
    X, C, K = run.preferences.values.shape
    values = [np.full((X, C, K), np.nan) for _ in counts]
    coverage = [np.zeros((X, C)) for _ in counts]
    for x, c, log_probs in stored_scores(run):
        for i, count in enumerate(counts):
            found = preference(log_probs, count)
            values[i][x, c] = found.p
            coverage[i][x, c] = np.exp(found.log_coverage)
    return [
        replace(run.preferences, values=v, coverage=m)
        for v, m in zip(values, coverage, strict=True)
    ]
