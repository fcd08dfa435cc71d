"""Rows side by side in a tile answer as each row does alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.models import zoo

from clinometer.models import LoadOptions, WordOptions, open_model
from clinometer.models.local.masked import MaskedScorer
from clinometer.models.local.tiles import attend_in_tiles, tile_attention
from clinometer.topics import Prompt

MASKED = [name for name, family in zoo.FAMILIES.items() if family.kind == "masked"]
#: Their attention is their own.
ALONE = {"deberta", "deberta-v3"}


@pytest.mark.parametrize("family", MASKED)
def test_tiles_change_no_number(
    family: str, small_model: zoo.Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a GPU, on a CPU: every masked architecture, prompts of several lengths, a number of
    rows that fills no tile."""
    load = LoadOptions(device="cpu", dtype="float32", batch_tokens=4096)
    scorer = open_model(
        str(small_model(family)), load=load, words=WordOptions(tolerance=0.0)
    )
    assert isinstance(scorer, MaskedScorer)
    people = ("nurse", "engineer", "pilot", "woman", "teacher in the house")
    prompts = [
        Prompt(f"The {x} {verb} that", after, space=True)
        for x in people
        for verb in ("said", "stated", "told the man")
        for after in ("", " was late", " met the nurse.")
    ]
    words = ["he", "her", "queen", "girls"]
    expected = scorer.score(prompts, words)
    shapes: list[tuple[int, ...]] = []
    real = torch.nn.functional.scaled_dot_product_attention

    def attention(
        query: torch.Tensor, *args: torch.Tensor, **more: object
    ) -> torch.Tensor:
        shapes.append(tuple(query.shape))
        return real(query, *args, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", attention)
    scorer.tiled = attend_in_tiles(scorer.model)
    found = scorer.score(prompts, words)
    np.testing.assert_allclose(found.log_probs, expected.log_probs, atol=1e-4)
    np.testing.assert_allclose(found.log_coverage, expected.log_coverage, atol=1e-4)
    in_tiles = any(shape[2] > 40 for shape in shapes)
    assert in_tiles == (family not in ALONE)


def test_what_does_not_fit_is_attended_as_before() -> None:
    """Rows that fill no tile; ModernBERT's, above, have a mask."""
    module = torch.nn.Module()
    module.is_causal = False  # type: ignore[assignment]
    query, key, value = torch.randn(3, 13, 2, 10, 4).unbind(0)
    plain = torch.nn.functional.scaled_dot_product_attention(
        query, key, value
    ).transpose(1, 2)
    for rows in (12, 13):
        found, _ = tile_attention(module, query[:rows], key[:rows], value[:rows], None)
        torch.testing.assert_close(found, plain[:rows])
