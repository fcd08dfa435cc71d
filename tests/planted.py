"""Runs of words, rates, ratings and replies with planted leans, through the real measuring."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from tests.report.made import measured_run

from clinometer.contexts import ContextSet, load_contexts
from clinometer.contexts.load import default_contexts
from clinometer.runs import AuditSettings, Run
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Topic, load_topic

KINDS = {"words": "gender", "rates": "hiring", "ratings": "traits"}


@cache
def question(kind: str, groups: int, contexts: int) -> tuple[Topic, ContextSet]:
    """What is asked: spread over the list of groups, in the first contexts."""
    whole = load_topic(KINDS[kind])
    step = max(len(whole) // groups, 1)
    topic = whole.select(whole.group_names[::step][:groups])
    every = (
        load_contexts("paper-gender") if kind == "words" else default_contexts(topic)
    )
    texts = [every.templates[i % len(every)] for i in range(contexts)]
    unique = [f"{i}. {text}" for i, text in enumerate(texts)]
    return topic, ContextSet("planted", unique, [1.0] * contexts)


def planted_run(
    kind: str,
    lean: FloatArray,
    rng: np.random.Generator,
    *,
    contexts: int = 60,
    swing: float = 0.05,
    replies: int = 0,
    model: str = "m",
    common: FloatArray | None = None,
    missing: float = 0.0,
) -> Run:
    """Each group's lean (a share of the scale or of the answers) around the middle, with swing of
    its own in each context, `common` [C] for all groups, and replies drawn from it."""
    X, C = len(lean), contexts
    topic, asked = question(kind, X, C)
    middle = 0.5 + lean[:, None] + swing * rng.standard_normal((X, C))
    y = np.clip(middle + (0.0 if common is None else common), 0.01, 0.99)
    K = len(topic.categories)
    p = np.stack([y, 1 - y], axis=-1) if K == 2 else ratings(y, K)
    given: dict[str, Any] = {}
    if replies:
        p = rng.multinomial(replies, p) / replies
        given["answers"] = np.full((X, C), float(replies))
    if missing:
        p[rng.random((X, C)) < missing] = np.nan
    given["reference"] = "group-mean" if kind != "words" else None
    given["criterion"] = "points" if kind == "ratings" else None
    return measured_run(model, topic, asked, AuditSettings(), values=p, **given)


def ratings(y: FloatArray, K: int) -> FloatArray:
    """[X, C, K]: two neighbouring ratings with this mean, from 0 to 1 of the scale."""
    at = y * (K - 1)
    low = np.minimum(at.astype(int), K - 2)
    p = np.zeros((*y.shape, K))
    np.put_along_axis(p, low[..., None], (1 - (at - low))[..., None], axis=-1)
    np.put_along_axis(p, low[..., None] + 1, (at - low)[..., None], axis=-1)
    return p
