"""A model whose batch does not fit into memory is scored in smaller ones, with the same numbers."""

from __future__ import annotations

import gc
import logging
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from tests.models import zoo

from clinometer.errors import ModelError
from clinometer.models.likelihood import score_texts
from clinometer.models.local.batches import BatchSize, out_of_memory, overlapped
from clinometer.models.whole_texts import MarkedText, TextOptions
from clinometer.topics import Prompt

WORDS = ["he", "her", "queen", "girls"]
PROMPTS = [
    Prompt(f"The {x} {verb}", "", space=True)
    for x in ("nurse", "man", "king")
    for verb in ("said that", "told", "saw the man and")
]
FAILURES = [
    torch.cuda.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    RuntimeError(
        "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to"
    ),
    RuntimeError(
        "DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"
    ),
    MemoryError("Unable to allocate 9 GiB for an array"),
]


def limit(scorer: Any, tokens: int, error: Exception) -> list[int]:
    """Let the model fail with more tokens in a batch; returns the sizes of those that it read."""
    read: list[int] = []

    def check(_module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs.get("input_ids", kwargs.get("decoder_input_ids"))
        size = (args[0] if ids is None else ids).numel()
        if size > tokens:
            raise error
        read.append(size)

    scorer.model.register_forward_pre_hook(check, with_kwargs=True)
    if hasattr(scorer, "_encode"):
        scorer.model.get_encoder().register_forward_pre_hook(check, with_kwargs=True)
    return read


@pytest.mark.parametrize(
    ("family", "error"),
    [*(("bert", e) for e in FAILURES), ("gpt2", FAILURES[0]), ("t5", FAILURES[0])],
    ids=lambda one: one if isinstance(one, str) else type(one).__name__,
)
def test_out_of_memory_halves_the_batch(
    family: str,
    error: Exception,
    small_model: zoo.Folder,
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = zoo.opened(small_model(family)).score(PROMPTS, WORDS)
    scorer = zoo.opened(small_model(family))  # one that never had enough
    read = limit(scorer, 20, error)
    with caplog.at_level(logging.WARNING):
        found = scorer.score(PROMPTS, WORDS)
    np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=1e-5)
    np.testing.assert_allclose(found.log_coverage, expected.log_coverage, atol=1e-5)
    assert 0 < max(read) <= 20
    told = [
        record.getMessage()
        for record in caplog.records
        if record.name == "clinometer.models"
    ]
    assert (
        told[-1]
        == f"out of memory: batches of {scorer.batch_size.tokens} tokens from now on"
    )
    caplog.clear()
    scorer.score(PROMPTS, WORDS)
    assert not caplog.records  # it starts with what fitted
    if family == "gpt2":
        assert scorer.packing.mode == "tree"


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_whole_texts_are_halved_too(family: str, small_model: zoo.Folder) -> None:
    scorer = zoo.opened(small_model(family))
    texts = [
        MarkedText(f"The {x} said that he saw the king")
        for x in ("nurse", "man", "king")
    ]
    expected = score_texts(scorer, texts, TextOptions())
    read = limit(scorer, 25, FAILURES[0])
    found = score_texts(scorer, texts, TextOptions())
    np.testing.assert_allclose(found.log_prob, expected.log_prob, atol=1e-4)
    assert max(read) <= 25


def test_a_row_that_does_not_fit_is_one_line(small_model: zoo.Folder) -> None:
    scorer = zoo.opened(small_model("bert"))
    limit(scorer, 2, FAILURES[0])
    with pytest.raises(ModelError, match="single row: use a smaller dtype"):
        scorer.score(PROMPTS, WORDS)


def test_other_errors_are_not_taken_for_it(small_model: zoo.Folder) -> None:
    error = RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    assert not out_of_memory(error)
    assert not out_of_memory(ValueError("out of memory"))
    scorer = zoo.opened(small_model("bert"))
    limit(scorer, 2, error)
    with pytest.raises(RuntimeError, match="mat1"):
        scorer.score(PROMPTS, WORDS)


def test_two_threads_that_fail_together_halve_once() -> None:
    size = BatchSize(1024)

    def fail() -> None:
        raise FAILURES[0]

    def both() -> None:
        assert (
            size.attempt(fail) is None
        )  # while the other batch of 1,024 is still running
        raise FAILURES[0]

    assert size.attempt(both) is None
    assert size.tokens == 512


@pytest.mark.parametrize("good", [9, 3])
def test_nothing_is_collected_while_batches_are_in_flight(good: int) -> None:
    found = overlapped(lambda n: (1 / (n - good), gc.isenabled()), range(9), threads=2)
    with pytest.raises(ZeroDivisionError) if good < 9 else nullcontext():
        assert not any(collects for _, collects in found)
    assert gc.isenabled()
