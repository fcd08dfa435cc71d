"""Models that write: the same answer whatever was read before, chance by seed, one line."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.errors import ModelError, SettingsError
from clinometer.models.local.generate import CausalWriter
from clinometer.models.open import open_writer

TURNS = [("user", "Say hello. Answer in one short sentence.")]


@pytest.fixture(scope="module")
def writer(smollm2: Any) -> CausalWriter:
    return CausalWriter(smollm2)


def test_earlier_requests_change_nothing(writer: CausalWriter) -> None:
    other = [("user", "Say hello. Answer in French.")]
    first = writer.write(TURNS, temperature=0, length=8)
    writer.write(other, n=2, temperature=1, length=4)
    again = writer.write(TURNS, temperature=0, length=8)
    assert (
        first
        == again
        == CausalWriter(writer.scorer).write(TURNS, temperature=0, length=8)
    )


def test_greedy_decoding_matches_the_library(writer: CausalWriter) -> None:
    import torch

    head = torch.tensor([writer.head(TURNS)], device=writer.scorer.device)
    done = writer.scorer.model.generate(
        head, attention_mask=torch.ones_like(head), do_sample=False, max_new_tokens=8
    )
    expected = writer.scorer.tokenizer.decode(
        done[0, head.shape[1] :], skip_special_tokens=True
    )
    assert writer.write(TURNS, temperature=0, length=8) == [
        expected.strip().split("\n")[0]
    ]


def test_the_seed_determines_the_text(writer: CausalWriter) -> None:
    draws = [writer.write(TURNS, n=2, seed=seed, length=6) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_too_long_a_request_is_refused(writer: CausalWriter) -> None:
    with pytest.raises(ModelError, match=r"expected at most .* shorten the request"):
        writer.write([("user", "word " * 9000)])


def test_masked_models_cannot_generate() -> None:
    with pytest.raises(SettingsError, match="expected one that writes"):
        open_writer("pocket:bert")
