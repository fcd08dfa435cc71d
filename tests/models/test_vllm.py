"""vLLM's offline engine. It needs a GPU and cannot be installed here, so that a stand-in with its
public interface (LLM.generate on token numbers, SamplingParams, RequestOutput) computes with a
small transformers model; what is tested is our side of that interface."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

from tiltmeter.errors import MissingExtra, SettingsError
from tiltmeter.models import LoadOptions, SampleOptions, WordOptions, open_model
from tiltmeter.topics import Prompt

PROMPTS = [
    Prompt("The nurse said that", "", space=True),
    Prompt("The nurse said that", " was late", space=True),
]
WORDS = ("he", "she", "grandson", "granddaughter")


@dataclass
class Logprob:
    logprob: float


@dataclass
class Output:
    logprobs: Any
    text: str = ""


@dataclass
class RequestOutput:
    outputs: list[Output]
    prompt_logprobs: Any


class SamplingParams:
    def __init__(self, **settings: Any) -> None:
        known = {"max_tokens", "temperature", "detokenize", "prompt_logprobs", "n", "seed"}
        if type(self).reads_ids:
            known.add("logprob_token_ids")
            self.logprob_token_ids = settings.get("logprob_token_ids")
        assert set(settings) <= known, settings
        self.settings = settings

    reads_ids = True


class OldSamplingParams(SamplingParams):
    reads_ids = False


class LLM:
    """Answers with pocket:gpt2-s."""

    def __init__(self, **settings: Any) -> None:
        assert settings["model"] == "some/model"
        self.scorer = open_model("pocket:gpt2-s")
        config = types.SimpleNamespace(
            hf_config=types.SimpleNamespace(_commit_hash="abc"), dtype="torch.float32"
        )
        config.max_model_len = 128
        self.llm_engine = types.SimpleNamespace(model_config=config)

    def get_tokenizer(self) -> Any:
        return self.scorer.tokenizer  # type: ignore[attr-defined]

    def generate(self, prompts: Any, params: Any, *, use_tqdm: bool) -> list[RequestOutput]:
        assert not use_tqdm
        return [self.one(p["prompt_token_ids"], s) for p, s in zip(prompts, params, strict=True)]

    def one(self, ids: list[int], params: SamplingParams) -> RequestOutput:
        how = params.settings
        if "n" in how:
            return RequestOutput([Output(None, f" she {i}") for i in range(how["n"])], None)
        with torch.no_grad():
            found = self.scorer.model(torch.tensor([ids])).logits[0].log_softmax(-1)  # type: ignore[attr-defined]
        listed = {t: Logprob(float(found[-1, t])) for t in how.get("logprob_token_ids", ())}
        prompt = None
        if "prompt_logprobs" in how:
            prompt = [None] + [{t: Logprob(float(found[i, t]))} for i, t in enumerate(ids[1:])]
        return RequestOutput([Output([listed])], prompt)


@pytest.fixture(params=[SamplingParams, OldSamplingParams])
def vllm(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("vllm")
    module.LLM, module.SamplingParams = LLM, request.param  # type: ignore[attr-defined]
    module.__version__ = "0.0-standin"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)


def test_the_engine_gives_the_numbers_of_the_model(vllm: None) -> None:
    exact = WordOptions(tolerance=0)
    engine = open_model("vllm:some/model", words=exact)
    local = open_model("pocket:gpt2-s", words=exact)
    ours, theirs = local.score(PROMPTS, WORDS), engine.score(PROMPTS, WORDS)
    np.testing.assert_allclose(theirs.log_probs, ours.log_probs, atol=1e-4)
    assert engine.info.revision == "abc"
    assert engine.info.device == "vllm"


def test_draws(vllm: None) -> None:
    engine = open_model("vllm:some/model", load=LoadOptions(sampled=SampleOptions(draws=4)))
    found = engine.score(PROMPTS[:1], WORDS)
    assert np.exp(found.log_probs[0]).tolist() == [0, 1, 0, 0]


def test_end_of_word_is_refused(vllm: None) -> None:
    with pytest.raises(SettingsError, match="end-of-word"):
        open_model("vllm:some/model", words=WordOptions(end_of_word=True))


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(MissingExtra, match=r"tiltmeter\[vllm\]"):
        open_model("vllm:some/model")
