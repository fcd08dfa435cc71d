"""How far context moves a statement's meaning (Eq. 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import ArrayLike

from clinometer.reliability.statement import Statement, Versions
from clinometer.statistics.arrays import FloatArray

Embed = Callable[[Sequence[str]], FloatArray]
"""From texts to unit vectors [T, D]."""


def dissimilarity(a: ArrayLike, b: ArrayLike) -> FloatArray:
    """Return d(a, b) = 1 - STS(a, b), the cosine of two sentence embeddings [..., D], clipped to
    [0, 1].

    Context that adds no meaning tells nothing about a statement; context that changes the subject
    makes versions incomparable. Report it next to COBIAS.

    >>> dissimilarity([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]).tolist()
    [0.0, 1.0, 1.0]
    """
    products = np.asarray(a, dtype=np.float64) * np.asarray(b, dtype=np.float64)
    return np.asarray(1.0 - np.clip(products.sum(axis=-1), 0.0, 1.0))


def growing_pairwise(vectors: ArrayLike) -> FloatArray:
    """Return the average pairwise dissimilarity of the first n of N unit vectors, n = 2 … N
    [N - 1].

    >>> growing_pairwise([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).round(4).tolist()
    [0.0, 0.6667]
    """
    v = np.asarray(vectors, dtype=np.float64)
    table = 1.0 - np.clip(v @ v.T, 0.0, 1.0)
    to_earlier_ones = np.tril(table, k=-1).sum(axis=1)
    n = np.arange(2, len(v) + 1)
    return np.asarray(np.cumsum(to_earlier_ones)[1:] / (n * (n - 1) / 2))


def version_dissimilarity(
    statements: Sequence[Statement], versions: Versions, embed: Embed
) -> tuple[FloatArray, FloatArray]:
    """Return per statement [S] the dissimilarity among its versions, and their mean distance to it;
    NaN with too few versions."""
    pairwise = np.full(len(statements), np.nan)
    distance = np.full(len(statements), np.nan)
    for i, (vector, of_versions) in enumerate(_embedded(statements, versions, embed)):
        if len(of_versions) > 1:
            pairwise[i] = growing_pairwise(of_versions)[-1]
        if len(of_versions):
            distance[i] = dissimilarity(vector, of_versions).mean()
    return pairwise, distance


def nearby(
    statements: Sequence[Statement], versions: Versions, embed: Embed, *, limit: float
) -> dict[str, tuple[str, ...]]:
    """Return the versions whose dissimilarity to their statement is at most `limit`, the paper's
    hyper-parameter."""
    near = {}
    embedded = _embedded(statements, versions, embed)
    for statement, (vector, of_versions) in zip(statements, embedded, strict=True):
        distances = dissimilarity(vector, of_versions)
        pairs = zip(versions.get(statement.id, ()), distances, strict=True)
        near[statement.id] = tuple(text for text, d in pairs if d <= limit)
    return near


def _embedded(
    statements: Sequence[Statement], versions: Versions, embed: Embed
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield the vector of each statement [D] and those of its versions [n, D]; all texts are
    embedded together."""
    texts = []
    for statement in statements:
        texts += [statement.text, *versions.get(statement.id, ())]
    vectors = embed(texts) if texts else np.empty((0, 1))
    start = 0
    for statement in statements:
        stop = start + 1 + len(versions.get(statement.id, ()))
        yield vectors[start], vectors[start + 1 : stop]
        start = stop
