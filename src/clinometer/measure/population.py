"""Which population the contexts are a sample of, and how large a sample they are."""

from __future__ import annotations

import math
from dataclasses import dataclass

from clinometer.errors import SettingsError
from clinometer.statistics.arrays import FloatArray

MOST_DRAWS = 1e6
"""More would only cost time: the interval is then a thousandth of the spread between contexts."""

POPULATIONS = {
    "set": "exactly these contexts",
    "corpus": "the corpus the contexts were mined from",
    "similar": "contexts of this kind",
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

        >>> import numpy as np
        >>> Sampling.of_counts(np.array([3.0, 1.0])).draws("corpus")
        4.0
        """
        if counts.ndim > 1 or (counts != counts.round()).any():
            return cls()
        sources = counts if articles is None else articles.clip(max=counts)
        return cls(corpus_noise=float((counts**2 / sources).sum() / counts.sum() ** 2))

    def draws(self, population: str) -> float:
        """The effective number of independent samples for a population; inf: no sampling error.

        Not for "similar", where the contexts themselves are the sample.

        >>> Sampling(set_noise=0.01, corpus_noise=0.01).draws("corpus")
        50.0
        """
        noise = self.set_noise
        if population == "corpus":
            if self.corpus_noise is None:
                raise SettingsError(
                    "population: expected contexts with counts of occurrences for corpus, found "
                    "other weights; use --population similar or set"
                )
            noise += self.corpus_noise
        return math.inf if noise == 0 else min(1.0 / noise, MOST_DRAWS)
