"""Equation 1: by hand, by another way, and with a real encoder."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from clinometer.errors import ModelNotFound
from clinometer.models.embeddings import SentenceEncoder
from clinometer.reliability.dissimilarity import (
    dissimilarity,
    growing_pairwise,
    nearby,
    version_dissimilarity,
)
from clinometer.reliability.statement import Statement


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder(device="cpu")


def test_embeddings_match_the_model_card(encoder: SentenceEncoder) -> None:
    """Padded batch, attention mask, mean over the mask: the card's own recipe, another way."""
    import torch

    texts = [
        "That is a happy person",
        "That is a very happy person",
        "Today is a sunny day",
        "Hi",
    ]
    rows = encoder.tokenizer(texts, padding=True, return_tensors="pt")
    with torch.inference_mode():
        states = encoder.model(**rows).last_hidden_state
    mask = rows["attention_mask"][..., None].float()
    pooled = (states * mask).sum(1) / mask.sum(1)
    expected = torch.nn.functional.normalize(pooled).numpy()
    found = encoder.embed([*texts, texts[0]])
    assert np.abs(found[:4] - expected).max() < 1e-5
    assert (found[4] == found[0]).all()
    # Two values that its page prints for these sentences: 0.942 and 0.257 (paraphrase scale).
    assert float(found[0] @ found[1]) > 0.9
    assert float(found[0] @ found[2]) < 0.4
    # too long a text is truncated
    assert encoder.embed(["nurse " * 400, "short"]).shape == (2, 384)


def test_pairwise_by_hand(encoder: SentenceEncoder) -> None:
    vectors = encoder.embed(
        ["The nurse is tired.", "The doctor is late.", "Bread is cheap.", "Hi"]
    )
    slow = [
        np.mean(
            [1 - min(max(float(a @ b), 0), 1) for a, b in combinations(vectors[:n], 2)]
        )
        for n in (2, 3, 4)
    ]
    assert growing_pairwise(vectors) == pytest.approx(slow)
    assert float(dissimilarity(vectors[0], vectors[0])) == pytest.approx(0, abs=1e-12)
    assert growing_pairwise([[1.0, 0.0], [-1.0, 0.0]]).tolist() == [1.0]  # cut, not 2


def embed(texts: Any) -> Any:
    # "far" and "near" are 1 and 0.4 away from "a".
    vectors = {"a": [1.0, 0.0], "far": [0.0, 1.0], "near": [0.6, 0.8]}
    return np.array([vectors[t] for t in texts])


def test_versions_of_statements() -> None:
    statements = [Statement(id=name, text=name) for name in ("a", "far", "near")]
    versions = {"a": ["far", "near"], "near": ["near"]}
    pairwise, to_statement = version_dissimilarity(statements, versions, embed)
    assert pairwise[0] == pytest.approx(0.2)
    assert to_statement[0] == pytest.approx((1.0 + 0.4) / 2)
    assert np.isnan(pairwise[1:]).all()
    assert np.isnan(to_statement[1])
    assert to_statement[2] == pytest.approx(0)
    near = nearby(statements, versions, embed, limit=0.5)
    assert near == {"a": ("near",), "far": (), "near": ("near",)}


def test_an_unknown_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinometer.models.embeddings.hub_reachable", lambda: False)
    with pytest.raises(ModelNotFound, match="nobody/nothing"):
        SentenceEncoder("nobody/nothing")
