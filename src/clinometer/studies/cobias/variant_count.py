"""How many versions are enough? Average pairwise dissimilarity against n (COBIAS, Figure 8).

The paper expected it to fall towards 0 as contexts start to repeat, and saw no such pattern up to
n = 49.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clinometer.errors import SettingsError
from clinometer.measure import Estimate
from clinometer.ranges import VERSIONS
from clinometer.reliability.dissimilarity import Embed
from clinometer.reliability.scoring.score import mean_estimate
from clinometer.reliability import Statement, VariantSet


@dataclass(frozen=True)
class VersionCountStudy:
    """Mean over statements for n = 2, 3, …; only statements with the most versions are used, so
    that every n is measured on the same ones. `late_change` is the mean over the second half of the
    n less that over the first, per statement: near 0 there is no trend."""

    n: tuple[int, ...]
    dissimilarity: tuple[Estimate, ...]
    late_change: Estimate
    statements: int
    left_out: int

    def to_dict(self) -> dict[str, Any]:
        return {
            "summary": {
                "statements": self.statements,
                "statements_with_too_few_versions": self.left_out,
                "late_change": self.late_change.to_dict(),
            },
            "curve": [
                {"n": n, **e.to_dict()} for n, e in zip(self.n, self.dissimilarity, strict=True)
            ],
        }


def growing_pairwise(vectors: ArrayLike) -> NDArray[np.float64]:
    """Average pairwise dissimilarity of the first n of N unit vectors, n = 2 … N [N - 1].

    >>> growing_pairwise([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).round(4).tolist()
    [0.0, 0.6667]
    """
    v = np.asarray(vectors, dtype=np.float64)
    table = 1.0 - np.clip(v @ v.T, 0.0, 1.0)
    added = np.tril(table, k=-1).sum(axis=1)  # what each one adds to the previous ones
    n = np.arange(2, len(v) + 1)
    return np.asarray(np.cumsum(added)[1:] / (n * (n - 1) / 2))


def version_count_study(
    statements: Sequence[Statement],
    variants: VariantSet,
    embed: Embed,
    *,
    most: int = 49,
    replicates: int = 1000,
    level: float = 0.95,
    seed: int = 0,
) -> VersionCountStudy:
    """Measure the versions in their order, the first two, the first three, up to `most`."""
    VERSIONS.check("most", most)
    taken = [s for s in statements if len(variants.of(s)) >= most]
    if not taken:
        longest = max((len(variants.of(s)) for s in statements), default=0)
        raise SettingsError(
            f"versions: expected statements with at least {most}, found at most {longest}; "
            "use a smaller --most"
        )
    vectors = embed([v for s in taken for v in variants.of(s)[:most]])
    curves = np.stack([growing_pairwise(one) for one in np.split(vectors, len(taken))])
    half = curves.shape[1] // 2
    change = curves[:, half:].mean(axis=1) - curves[:, :half].mean(axis=1)

    def mean(values: NDArray[np.float64]) -> Estimate:
        return mean_estimate(values, replicates=replicates, level=level, seed=seed)

    return VersionCountStudy(
        n=tuple(range(2, most + 1)),
        dissimilarity=tuple(mean(column) for column in curves.T),
        late_change=mean(change),
        statements=len(taken),
        left_out=len(statements) - len(taken),
    )
