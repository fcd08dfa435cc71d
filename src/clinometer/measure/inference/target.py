"""What an interval is about: exactly this set of contexts, its corpus, or contexts of this kind."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate

MOST_DRAWS = 1e6
"""More would only cost time: the interval is then a thousandth of the spread between contexts."""

TARGETS = {
    "set": "this very set of contexts",
    "corpus": "the corpus the contexts were mined from",
    "kind": "contexts of this kind",
}


@dataclass(frozen=True)
class Sampling:
    """How the contexts were sampled, as sums of squared weights of independent samples: the
    variance of a mean is such a sum times the variance between contexts.

    set_noise     of the contexts as a sample of their set; 0 when the whole set was scored
    corpus_noise  of the set as a sample of its corpus: 1/N for N occurrences, more where several
                  come from one article; None where occurrences were not counted
    """

    set_noise: float = 0.0
    corpus_noise: float | None = None

    @classmethod
    def of_counts(cls, counts: FloatArray, articles: FloatArray | None = None) -> Sampling:
        """A whole mined set [C]: each context occurred `counts` times in its number of articles.

        Occurrences in one article are one sample. Fractional weights are not counts.

        >>> Sampling.of_counts(np.array([3.0, 1.0])).draws("corpus")
        4.0
        """
        if counts.ndim > 1 or (counts != np.round(counts)).any():
            return cls()
        sources = counts if articles is None else np.minimum(articles, counts)
        return cls(corpus_noise=float((counts**2 / sources).sum() / counts.sum() ** 2))

    def draws(self, target: str) -> float:
        """The effective number of independent samples for a target; inf: no sampling error.

        Not for "kind", where the contexts themselves are the sample.

        >>> Sampling(set_noise=0.01, corpus_noise=0.01).draws("corpus")
        50.0
        """
        noise = self.set_noise
        if target == "corpus":
            if self.corpus_noise is None:
                raise SettingsError(
                    "target: expected contexts with counts of occurrences for corpus, found other "
                    "weights; use --target kind or set"
                )
            noise += self.corpus_noise
        return math.inf if noise == 0 else min(1.0 / noise, MOST_DRAWS)


def in_words(interval: Estimate, target: str) -> str:
    """What the interval of a risk is about, or why there is none.

    >>> in_words(Estimate(0.4, 0.3, 0.5, 0.95), "kind")
    '95 % intervals for contexts of this kind'
    """
    if interval.level is not None:
        return f"{100 * interval.level:g} % intervals for {TARGETS[target]}"
    if target == "set":
        return "exact for this very set of contexts, all of which were scored"
    return "no intervals"
