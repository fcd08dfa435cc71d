"""Perplexity tells sentences from word heaps, and is what transformers' own loss says."""

from __future__ import annotations

import math

import pytest
import torch

from clinometer.errors import SettingsError
from clinometer.models import open_model
from clinometer.models.local.causal import CausalScorer
from clinometer.models.texts.likelihood import perplexity_of


def test_a_sentence_is_likelier_than_scrambled_words() -> None:
    judge = perplexity_of("pocket:gpt2-s")
    good, bad = judge(["The [X] said that [Y]", "The [X] wanted fake death so that of [Y]"])
    assert 1 < good < bad
    scorer = open_model("pocket:gpt2-s")
    assert isinstance(scorer, CausalScorer)
    tokens = scorer.tokenizer("The person said that", return_tensors="pt")["input_ids"]
    tokens = tokens.to(scorer.device)
    with torch.inference_mode():
        loss = scorer.model(tokens, labels=tokens).loss
    assert good == pytest.approx(math.exp(float(loss)), rel=1e-5)


def test_perplexity_needs_a_causal_model() -> None:
    with pytest.raises(
        SettingsError, match="expected a causal model for perplexity, found a masked one"
    ):
        perplexity_of("pocket:bert")
