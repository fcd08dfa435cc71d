"""How far context moves a statement's meaning (Eq. 1): d(a, b) = 1 - STS(a, b).

STS is the cosine of two sentence embeddings, clipped to [0, 1]. Context that adds no meaning tells
nothing about a statement; context that changes the subject makes versions incomparable. Report it
next to COBIAS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from clinometer.reliability.statement import Statement, Versions
from clinometer.statistics.arrays import FloatArray

#: From texts to unit vectors [T, D].
Embed = Callable[[Sequence[str]], FloatArray]


def dissimilarity(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """1 - cosine, clipped to [0, 1], of unit vectors [..., D].

    >>> dissimilarity([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).tolist()
    [0.0, 1.0, 1.0]
    """
    cosine = (np.asarray(a, dtype=np.float64) * np.asarray(b, dtype=np.float64)).sum(axis=-1)
    return np.asarray(1.0 - np.clip(cosine, 0.0, 1.0))


def average_pairwise(vectors: ArrayLike) -> float:
    """Mean dissimilarity over all pairs of n vectors; NaN if n < 2."""
    v = np.asarray(vectors, dtype=np.float64)
    n = len(v)
    if n < 2:
        return float("nan")
    table = 1.0 - np.clip(v @ v.T, 0.0, 1.0)
    return float((table.sum() - np.trace(table)) / (n * (n - 1)))


def version_dissimilarity(
    statements: Sequence[str], versions: Sequence[Sequence[str]], embed: Embed
) -> tuple[FloatArray, FloatArray]:
    """Per statement [S] the dissimilarity among its versions, and their mean distance to it; NaN
    with too few versions."""
    pairwise, distance = np.full((2, len(statements)), np.nan)
    for i, (own, others) in enumerate(_embedded(statements, versions, embed)):
        pairwise[i] = average_pairwise(others)
        if len(others):
            distance[i] = dissimilarity(own, others).mean()
    return pairwise, distance


def nearby(
    statements: Sequence[Statement], variants: Versions, embed: Embed, *, limit: float
) -> tuple[dict[str, tuple[str, ...]], int]:
    """The versions whose dissimilarity to their statement is at most `limit`, the paper's
    hyper-parameter, and how many were left out."""
    some = [variants.get(s.id, ()) for s in statements]
    near = {
        s.id: tuple(v for v, d in zip(own, dissimilarity(text, others), strict=True) if d <= limit)
        for s, own, (text, others) in zip(
            statements, some, _embedded([s.text for s in statements], some, embed), strict=True
        )
    }
    return near, sum(map(len, some)) - sum(map(len, near.values()))


def _embedded(
    statements: Sequence[str], versions: Sequence[Sequence[str]], embed: Embed
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """The vector of each statement [D] and those of its versions [n, D]; all texts are embedded
    together."""
    texts = [t for s, vs in zip(statements, versions, strict=True) for t in (s, *vs)]
    vectors = embed(texts) if texts else np.empty((0, 1))
    start = 0
    for some in versions:
        yield vectors[start], vectors[start + 1 : start + 1 + len(some)]
        start += 1 + len(some)
