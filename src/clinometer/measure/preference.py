"""From the log-probabilities of words to the preference for a category (Eq. 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import BLOCK, BoolArray, FloatArray, as_real

LOG_TOLERANCE = 1e-6
"""How far above 0 rounding may lift a log-probability."""


class PreferenceResult(NamedTuple):
    """Preferences, and how much probability they rest on."""

    p: FloatArray
    """[.., Y]; sums to one over Y, NaN (the in-memory mark of a missing cell) where not
    observed."""

    log_coverage: FloatArray
    """[..], log of the probability of all counted words, -inf where not observed."""

    observed: BoolArray
    """[..], False where no counted word has any probability. `decompose` takes it as its `mask`."""


def membership(
    words: Sequence[str],
    categories: Mapping[str, Sequence[str]],
    *,
    shared: Literal["split", "drop"] = "split",
) -> FloatArray:
    """Return how much each word counts for each category, [V,Y].

    A word of one category counts 1 for it. A word of m > 1 categories counts 1/m for each with
    `shared="split"` (it enters the union in the denominator of Eq. 8 once, so p still sums to
    one), or not at all with `shared="drop"`. A word of `words` in no category counts for
    nothing; one listed twice in the same category counts once.

    Errors: a category word that `words` lacks, a word twice in `words`, fewer than two
    categories, a category without any counted word.

    >>> membership(["he", "canary", "she"], {"m": ["he", "canary"], "f": ["she", "canary"]})
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    if shared not in ("split", "drop"):
        raise SettingsError(f"shared: expected 'split' or 'drop', found {shared!r}")
    if len(categories) < 2:
        raise SettingsError(
            f"categories: expected at least two, found {len(categories)}"
        )
    index = {word: i for i, word in enumerate(words)}
    if len(index) != len(words):
        repeated = next(word for word in words if list(words).count(word) > 1)
        raise SettingsError(
            f"words: expected each word once, found {repeated!r} more than once"
        )
    counts = np.zeros((len(words), len(categories)))
    for y, (category, members) in enumerate(categories.items()):
        for word in members:
            if word not in index:
                raise SettingsError(
                    f"categories: expected words among the {len(words)} given, found {word!r} of "
                    f"{category!r}"
                )
            counts[index[word], y] = 1.0
    categories_of_word = counts.sum(axis=1, keepdims=True)
    if shared == "split":
        np.divide(counts, categories_of_word, out=counts, where=categories_of_word > 0)
    else:
        counts[categories_of_word[:, 0] > 1] = 0.0
    for category, total in zip(categories, counts.sum(axis=0), strict=True):
        if total == 0:
            raise SettingsError(
                f"categories: expected a word to count in {category!r}, found none ({shared=})"
            )
    return counts


def preference(log_probs: ArrayLike, membership: ArrayLike) -> PreferenceResult:
    """Return p_y = sum over v of m_vy P(v) / sum over v and y of m_vy P(v), from log P(v) (Eq. 8).

    Args:
        log_probs: [.., V]; -inf (probability zero) is allowed for single words.
        membership: [V,Y] from `membership`, or other weights of at least 0.

    Returns:
        `PreferenceResult(p [.., Y], log_coverage [..], observed [..])`.

    The largest counted word of a row is factored out before exponentials are taken, so that
    probabilities far below the range of floats keep their ratio, and a word that counts for no
    category cannot make the others underflow. p_y is 1 when only words of y have probability. A
    row in which every counted word has probability zero has no preference: observed is False and
    p NaN. NaN, +inf and log-probabilities above 1e-6 are errors that name the index.

    >>> result = preference(np.log([0.06, 0.02]) - 900, [[1, 0], [0, 1]])
    >>> result.p.round(12).tolist(), bool(result.observed)
    ([0.75, 0.25], True)
    """
    logs = as_real(log_probs, name="log_probs")
    counts = _checked_membership(membership)
    if logs.ndim < 1 or logs.shape[-1] != counts.shape[0]:
        raise SettingsError(
            f"log_probs: expected {counts.shape[0]} words on the last axis, as membership has "
            f"rows, found shape {logs.shape}"
        )
    is_wrong = ~(logs <= LOG_TOLERANCE)
    if is_wrong.any():
        index = tuple(int(i) for i in np.argwhere(is_wrong)[0])
        raise SettingsError(
            f"log_probs: expected log-probabilities of at most 0 (-inf allowed), "
            f"found {logs[index]} at index {index}"
        )
    shape = logs.shape[:-1]
    rows = logs.reshape(-1, logs.shape[-1])
    counted = counts.any(axis=1)
    counts = counts[counted]
    p = np.full((rows.shape[0], counts.shape[1]), np.nan)
    log_coverage = np.full(rows.shape[0], -np.inf)
    # Block by block, so that no exponentials of all rows are in memory at once.
    rows_in_block = max(1, BLOCK // rows.shape[1])
    for start in range(0, rows.shape[0], rows_in_block):
        block = rows[start : start + rows_in_block, counted].astype(np.float64)
        largest = block.max(axis=1)
        possible = np.flatnonzero(largest > -np.inf)
        mass = np.exp(block[possible] - largest[possible, None]) @ counts
        total = mass.sum(axis=1)
        p[start + possible] = mass / total[:, None]
        log_coverage[start + possible] = np.log(total) + largest[possible]
    observed = log_coverage > -np.inf
    return PreferenceResult(
        p.reshape(*shape, counts.shape[1]),
        log_coverage.reshape(shape),
        observed.reshape(shape),
    )


def _checked_membership(membership: ArrayLike) -> FloatArray:
    """Read how much each word counts for each category, [V,Y]."""
    counts = np.asarray(as_real(membership, name="membership"), dtype=np.float64)
    if counts.ndim != 2 or counts.shape[1] < 2:
        raise SettingsError(
            "membership: expected shape [words, categories] with at least two categories, "
            f"found {counts.shape}"
        )
    if not np.isfinite(counts).all() or (counts < 0).any():
        raise SettingsError(
            "membership: expected finite numbers of at least 0, found others"
        )
    if not counts.any(axis=0).all():
        empty = int(np.flatnonzero(~counts.any(axis=0))[0])
        raise SettingsError(f"membership: category {empty} has no word; leave it out")
    return counts
