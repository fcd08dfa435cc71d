"""Opening the model that an audit asks about."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from clinometer.models import LoadOptions, ModelSpec, WordOptions
from clinometer.models.generation.replies import ReadoutQuery
from clinometer.runs.scores.scoring import CellBlock, LocalExecutor, ModelQuery
from clinometer.topics import Prompt, parse_topic


@pytest.mark.parametrize(("normalise", "tolerance"), [("per-token", 0.0), ("sum", None)])
def test_options_taken_per_token_are_scored_exactly(
    normalise: str, tolerance: float | None
) -> None:
    """The root of a small probability is not small: no bound on the probability would hold."""
    topic = parse_topic(
        'name = "t"\ngroups = ["Ann", "Bob"]\n[attributes]\nyes = ["Yes indeed"]\nno = ["No"]\n'
        f'[readout]\nkind = "choice"\nlabels = "none"\nnormalise = "{normalise}"\n'
        '[contexts]\nwording = ["Is [X] in? Answer [options]. [Y]"]'
    )
    query = ModelQuery(
        ModelSpec.parse("pocket:gpt2-s"),
        LoadOptions(device="cpu"),
        WordOptions(),
        topic.words,
        ReadoutQuery.of(topic),
    )
    opened: Any = query.open()
    assert opened.scorer.options.tolerance == tolerance


def test_a_gpu_scores_the_next_block_while_the_last_is_stored() -> None:
    """With the model on a CPU, said to be on a GPU."""
    query = ModelQuery(
        ModelSpec.parse("pocket:gpt2-s"),
        LoadOptions(device="cpu"),
        WordOptions(),
        ("he", "she", "hers"),
    )
    blocks = [
        CellBlock(
            np.arange(k, k + 4), [Prompt(f"The {n} {k} said", "", space=True) for n in "abcd"]
        )
        for k in range(0, 24, 4)
    ]
    executor = LocalExecutor(query)
    alone = list(executor.score(blocks))
    scorer: Any = executor._scorer
    scorer.info = replace(scorer.info, device="cuda")
    score = scorer.score
    callers: list[int] = []

    def seen(*args: Any) -> Any:
        callers.append(threading.get_ident())
        return score(*args)

    scorer.score = seen
    ahead = list(executor.score(blocks))
    assert len(callers) == len(blocks)
    assert threading.get_ident() not in callers
    for a, b in zip(alone, ahead, strict=True):
        np.testing.assert_array_equal(a.cells, b.cells)
        np.testing.assert_array_equal(a.scores.log_probs, b.scores.log_probs)
