"""What every reader of a reply checks: texts of a possible length, and log-probabilities."""

from __future__ import annotations

import math
from typing import Any

from clinometer.models.client.failures import WrongReply

LONGEST_TOKEN = 256
"""Characters of a token: the longest in common vocabularies are lines of 128 signs or spaces."""

_SILENT = -1e4
"""Servers write minus infinity as a large number, as JSON has none."""

_ROUNDING_ABOVE_ZERO = 1e-3
"""How far a log-probability may be above 0."""


def choices(reply: Any, most: int) -> list[Any]:
    """Return what a server offers as its answers: at least one, at most as many as requested."""
    offered = reply["choices"]
    if not 1 <= len(offered) <= most:
        raise WrongReply("not as many choices as asked for")
    return list(offered)


def checked_texts(texts: list[Any], tokens: int) -> list[str]:
    """Return the texts if they are of a length that `tokens` of them can have."""
    if not all(isinstance(text, str) for text in texts):
        raise WrongReply("a choice without text")
    if any(len(text) > LONGEST_TOKEN * (tokens + 1) for text in texts):
        raise WrongReply("more text than its tokens can have")
    return texts


def log_prob(value: Any) -> float:
    """Return a log-probability as the server wrote it: at most 0, possibly minus infinity."""
    number = float(value)
    if math.isnan(number) or number > _ROUNDING_ABOVE_ZERO:
        raise WrongReply("not a log-probability")
    if number <= _SILENT:
        return -math.inf
    return min(number, 0.0)
