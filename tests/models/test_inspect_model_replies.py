"""Models of Inspect's providers that reply: in the environment of `make test-harnesses`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.server.conftest import llama

from clinometer import audit
from clinometer.errors import ContextError, ModelError, ModelNotFound, SettingsError
from clinometer.models import LoadOptions, SampleOptions, open_model
from clinometer.models.inspect import sampling_config
from clinometer.models.options import ServerOptions
from clinometer.models.server.client import BudgetReached
from clinometer.topics import Prompt, load_topic

__all__ = ["llama"]

SAMPLED = LoadOptions(sampled=SampleOptions(replies=3, seed=5))
PROMPTS = [Prompt("The nurse said that", "", space=True), Prompt("A man", "", space=True)]


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder for Inspect's replies, and no tokenizer from the network for its made-up model."""
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("inspect_ai.model._model.count_text_tokens", len)


@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_every_reply_is_sampled_with_its_own_seed() -> None:
    scorer = open_model("inspect:mockllm/model", load=SAMPLED)
    found = scorer.score(PROMPTS, ("default", "he"))
    assert found.draws == (("Default output from mockllm/model",) * 3,) * 2
    assert found.log_probs[:, 0].tolist() == [0.0, 0.0]  # it begins with the word "default"
    assert scorer.usage()["requests"] == 6
    assert scorer.info.kind == "sampled"
    scorer.close()
    options = SampleOptions(replies=2, seed=5)
    seeds = {sampling_config(options, "mockllm", n, t).seed for n in (0, 1) for t in ("a", "b")}
    assert len(seeds) == 4
    assert sampling_config(options, "mockllm", 0, "a").max_tokens == options.tokens == 8


def test_what_cannot_be_asked_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="--chat"):
        open_model("inspect:mockllm/model", load=LoadOptions(chat=True, sampled=SAMPLED.sampled))
    with pytest.raises(ModelNotFound, match="nowhere"):
        open_model("inspect:nowhere/model", load=SAMPLED)
    monkeypatch.delenv("LOCAL_API_KEY", raising=False)
    with pytest.raises(ModelNotFound, match="LOCAL_API_KEY"):
        open_model("inspect:openai-api/local/model", load=SAMPLED)


@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_provider_without_log_probabilities_is_named() -> None:
    with closing(open_model("inspect:mockllm/model")) as scorer:
        with pytest.raises(ModelError, match="lists no log-probabilities; --replies N"):
            scorer.score(PROMPTS, ("he", "she"))
        with pytest.raises(ContextError, match="end with"):
            scorer.score([Prompt("The nurse said that", " left", space=True)], ("he",))


@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_listed_tokens_bound_what_the_server_says_exactly(
    llama: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions to SmolLM2 on llama.cpp in its chat template, by Inspect and by our own route."""
    monkeypatch.setenv("LOCAL_API_KEY", "none")
    monkeypatch.setenv("LOCAL_BASE_URL", f"{llama}/v1")
    topic = load_topic("hiring")
    asked: dict[str, Any] = {
        "topic": topic.select(topic.group_names[:2]),
        "max_contexts": 2,
        "replicates": 0,
        "cache": False,
    }
    through = audit("inspect:openai-api/local/smol", **asked).preferences
    exact = audit(f"openai:{llama}", chat=True, **asked).preferences
    assert through.low is not None
    assert through.high is not None
    assert exact.low is None
    assert (through.low <= exact.values + 1e-3).all()
    assert (exact.values <= through.high + 1e-3).all()
    assert np.abs(through.values - exact.values).max() < 0.1


@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_budget_ends_an_audit() -> None:
    load = LoadOptions(sampled=SAMPLED.sampled, server=ServerOptions(max_requests=4))
    scorer = open_model("inspect:mockllm/model", load=load)
    with pytest.raises(BudgetReached, match="4 requests"):
        scorer.score(PROMPTS, ("default",))
