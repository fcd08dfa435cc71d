"""Routes that return the most probable tokens only: bounds for all others."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from clinometer.models.server.client import WrongReply
from clinometer.models.server.routes.route import Bounds, Route
from clinometer.models.tokens.word_trie import Tokens

#: Tolerance of the sum of a server's probabilities.
_ROUNDING = 1e-3


class TopK(Route):
    """A token outside the k most probable has at most the probability of the last of them, and at
    most what they leave over."""

    name = "top-k"
    exact = False

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        top = await self.endpoint.top(path, self.endpoint.top_k)
        found = [self.endpoint.look_up(top, t) for t in wanted]
        most = unlisted_bound(top.values()[: self.endpoint.top_k])
        lower = [-math.inf if v is None else v for v in found]
        upper = [most if v is None else v for v in found]
        return Bounds(np.array(lower), np.array(upper))


def unlisted_bound(listed: Sequence[float]) -> float:
    """The upper bound of the log-probability of a token outside the list.

    >>> round(math.exp(unlisted_bound([math.log(0.6), math.log(0.3)])), 3)
    0.101
    """
    if not listed:
        raise WrongReply("an empty list")
    rest = max(0.0, 1.0 - sum(math.exp(v) for v in listed)) + _ROUNDING
    return min(*listed, math.log(rest))
