"""Log-probabilities as whole numbers: as many steps as a preference needs, and no more.

A word with the share q of the probability of all words moves a preference by less than q times the
error of its log-probability. Steps are 2^-10 for rare words and half as long with each doubling of
q above a threshold. Numbers on a scale of such steps compress far better than floats, whose last
bits are noise.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

#: How far the rounding of all words may move a preference together. The errors are independent, so
#: each word gets this over the root of their number,
_MOVED = 2.4e-6
#: and a step of at most this: rare words keep a two-thousandth of their probability.
_COARSE = 2.0**-10
#: Halvings of the step up to a share of one.
_HALVINGS = 13
#: Steps of the total, in which it is stored.
_OF_TOTAL = 1 / 8
#: Code of the threshold. Those of rare words are below, and above zero down to e^-32 of it.
_ZERO = 2**15
#: Code of a word without probability.
_NONE = np.iinfo(np.int32).min
#: Log-probabilities between minus this and this have codes of 32 bits.
FARTHEST = 1e6


class Scale:
    """Codes of log-probabilities, and back.

    `threshold` is log q, in steps of 2^-10, where steps begin to become shorter; a file of codes
    records it. Codes belong to a total for each prompt, as `totals` gives it.
    """

    def __init__(self, threshold: int) -> None:
        self.threshold = threshold
        halvings = np.arange(_HALVINGS + 1)
        #: where the steps become shorter, in log q, and the code there
        self._ends = _COARSE * (threshold + np.rint(halvings[:-1] * math.log(2) / _COARSE))
        self._finer = 2.0**halvings / _COARSE
        widths = np.diff(self._ends) * self._finer[1:-1]
        self._codes = _ZERO + np.concatenate([[0.0], np.cumsum(widths)])

    @classmethod
    def for_words(cls, words: int) -> Scale:
        return cls(math.floor(math.log(_MOVED / math.sqrt(words) / _COARSE) / _COARSE))

    def codes(self, log_probs: NDArray[np.float64], totals: NDArray[np.int64]) -> NDArray[np.int32]:
        """[P, V], of log-probabilities [P, V] and their totals [P]."""
        share = log_probs - totals[:, None] * _OF_TOTAL
        found = np.rint((share - self._ends[0]) / _COARSE) + _ZERO
        fine = share > self._ends[0]
        above = share[fine]
        at = np.searchsorted(self._ends, above, side="right")
        found[fine] = np.rint((above - self._ends[at - 1]) * self._finer[at]) + self._codes[at - 1]
        found[share == -np.inf] = _NONE
        return np.asarray(found, dtype=np.int32)

    def log_probs(self, codes: NDArray[np.int32], totals: NDArray[np.int64]) -> NDArray[np.float64]:
        """Exact in float64, on every machine: multiples of powers of two."""
        share = (codes.astype(np.float64) - _ZERO) * _COARSE + self._ends[0]
        fine = codes > _ZERO
        above = codes[fine]
        at = np.searchsorted(self._codes, above, side="right")
        share[fine] = (above - self._codes[at - 1]) / self._finer[at] + self._ends[at - 1]
        share += totals[:, None] * _OF_TOTAL
        share[codes == _NONE] = -np.inf
        return np.asarray(share)


def totals(log_probs: NDArray[np.float64]) -> NDArray[np.int64]:
    """The log-probability of all words together [P], in eighths, rounded down; 0 for none."""
    top = log_probs.max(axis=1)
    top = np.where(top > -np.inf, top, 0.0)
    mass = np.exp(log_probs - top[:, None]).sum(axis=1)
    whole = top + np.log(np.where(mass > 0, mass, 1.0))
    return np.floor(whole / _OF_TOTAL).astype(np.int64)


def fits(log_probs: NDArray[np.float64]) -> bool:
    """Whether these have codes: log-probabilities, some perhaps minus infinity, but no NaN."""
    if not log_probs.size:
        return False
    least = log_probs.min(where=log_probs > -np.inf, initial=0.0)
    return bool(log_probs.max() < FARTHEST and least > -FARTHEST)
