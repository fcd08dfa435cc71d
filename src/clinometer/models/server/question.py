"""What a server is asked about words: the probabilities of some tokens after a path of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.models.tokens import Tokens
from clinometer.statistics.arrays import FloatArray

ROUNDING = 1e-3
"""Tolerance of the sum of a server's probabilities, and of each of them."""

SLACK = 1e-2
"""How far the sum of a server's probabilities may exceed 1: half precision."""


@dataclass(frozen=True)
class TokenQuestion:
    """The tokens whose probabilities are wanted, and the path of tokens that they follow."""

    path: Tokens
    wanted: Tokens


@dataclass(frozen=True)
class Bounds:
    """Log-probabilities of the wanted tokens: lower and upper bounds, equal where exact."""

    lower: FloatArray
    upper: FloatArray

    @classmethod
    def exact(cls, values: Sequence[float]) -> Bounds:
        array = np.array(values, dtype=np.float64)
        return cls(array, array)
