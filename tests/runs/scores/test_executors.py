"""Opening the model that an audit asks about."""

from __future__ import annotations

from typing import Any

import pytest

from clinometer.models import LoadOptions, ModelSpec, WordOptions
from clinometer.models.generation.replies import ReadoutQuery
from clinometer.runs.scores.executors import ModelQuery
from clinometer.topics import parse_topic


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
