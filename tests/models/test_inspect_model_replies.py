"""Models of Inspect's providers that reply: in the environment of `make test-harnesses`."""

from __future__ import annotations

from pathlib import Path

import pytest

from clinometer.errors import ModelNotFound, SettingsError
from clinometer.models import LoadOptions, SampleOptions, open_model
from clinometer.models.inspect_model import sampling_config
from clinometer.models.options import ServerOptions
from clinometer.models.server.client import BudgetReached
from clinometer.topics import Prompt

SAMPLED = LoadOptions(sampled=SampleOptions(draws=3, seed=5))
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
    options = SampleOptions(draws=2, seed=5)
    seeds = {sampling_config(options, "mockllm", n, t).seed for n in (0, 1) for t in ("a", "b")}
    assert len(seeds) == 4
    assert sampling_config(options, "mockllm", 0, "a").max_tokens == options.tokens == 8


def test_what_cannot_be_asked_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match="--sampled"):
        open_model("inspect:mockllm/model")
    with pytest.raises(SettingsError, match="--chat"):
        open_model("inspect:mockllm/model", load=LoadOptions(chat=True, sampled=SAMPLED.sampled))
    with pytest.raises(ModelNotFound, match="nowhere"):
        open_model("inspect:nowhere/model", load=SAMPLED)
    monkeypatch.delenv("LOCAL_API_KEY", raising=False)
    with pytest.raises(ModelNotFound, match="LOCAL_API_KEY"):
        open_model("inspect:openai-api/local/model", load=SAMPLED)


@pytest.mark.usefixtures("offline")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_budget_ends_an_audit() -> None:
    load = LoadOptions(sampled=SAMPLED.sampled, server=ServerOptions(max_requests=4))
    scorer = open_model("inspect:mockllm/model", load=load)
    with pytest.raises(BudgetReached, match="4 requests"):
        scorer.score(PROMPTS, ("default",))
