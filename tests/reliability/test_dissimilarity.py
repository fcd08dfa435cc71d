"""Eq. 1 with the paper's own sentence model, offline."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest

from clinometer.errors import ModelNotFound
from clinometer.models.embeddings import SentenceEncoder
from clinometer.reliability import Statement
from clinometer.reliability.dissimilarity import (
    average_pairwise,
    dissimilarity,
    nearby,
    version_dissimilarity,
)


@pytest.fixture(scope="module")
def encoder() -> SentenceEncoder:
    return SentenceEncoder(device="cpu")


def test_embeddings_match_the_model_card(encoder: SentenceEncoder) -> None:
    """Padded batch, attention mask, mean over the mask: the card's own recipe, another way."""
    import torch

    texts = ["That is a happy person", "That is a very happy person", "Today is a sunny day", "Hi"]
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


def test_long_texts_are_truncated_and_counted(encoder: SentenceEncoder) -> None:
    found = encoder.embed(["nurse " * 400, "short"])
    assert found.shape == (2, 384)
    assert encoder.cut == 1


def test_pairwise_by_hand(encoder: SentenceEncoder) -> None:
    vectors = encoder.embed(["The nurse is tired.", "The doctor is late.", "Bread is cheap.", "Hi"])
    slow = np.mean([1 - min(max(float(a @ b), 0), 1) for a, b in combinations(vectors, 2)])
    assert average_pairwise(vectors) == pytest.approx(slow)
    assert np.isnan(average_pairwise(vectors[:1]))
    assert float(dissimilarity(vectors[0], vectors[0])) == pytest.approx(0, abs=1e-12)
    assert average_pairwise([[1.0, 0.0], [-1.0, 0.0]]) == 1.0  # cut, not 2


def test_versions_of_statements() -> None:
    places = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.6, 0.8]}

    def embed_all(texts: Any) -> Any:
        return np.array([places[t] for t in texts])

    versions = [["b", "c"], [], ["c"]]
    pairwise, to_statement = version_dissimilarity(["a", "b", "c"], versions, embed_all)
    assert pairwise[0] == pytest.approx(0.2)
    assert to_statement[0] == pytest.approx((1.0 + 0.4) / 2)
    assert np.isnan(pairwise[1:]).all()
    assert np.isnan(to_statement[1])
    assert to_statement[2] == pytest.approx(0)


def test_versions_beyond_a_limit_are_left_out_and_counted() -> None:
    places = {"a": [1.0, 0.0], "far": [0.0, 1.0], "near": [0.6, 0.8]}  # 1 and 0.4 away from a

    def embed(texts: Any) -> Any:
        return np.array([places[t] for t in texts])

    versions = {"a": ("far", "near")}
    statements = [Statement("a", "a")]
    for limit, kept in {1.0: ("far", "near"), 0.4: ("near",), 0.3: ()}.items():
        found, left_out = nearby(statements, versions, embed, limit=limit + 1e-9)
        assert found["a"] == kept
        assert left_out == 2 - len(kept)


def test_an_unknown_model_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clinometer.models.embeddings.hub_reachable", lambda: False)
    with pytest.raises(ModelNotFound, match="nobody/nothing"):
        SentenceEncoder("nobody/nothing")
