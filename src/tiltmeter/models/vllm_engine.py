"""vLLM's offline engine: `vllm:MODEL`, for models that need its kernels or several GPUs.

Written against vLLM's documented interface: `LLM.generate` on prompts of token numbers, and
`SamplingParams` with `logprob_token_ids`, or `prompt_logprobs` in versions before it had these. The
engine shares beginnings between prompts by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tiltmeter.errors import MissingExtra, ModelError, SettingsError
from tiltmeter.models.base import ModelInfo, Scorer
from tiltmeter.models.chat import chat_opening
from tiltmeter.models.expand import Expanded, Floats
from tiltmeter.models.options import LoadOptions, SampleOptions, WordOptions
from tiltmeter.models.row_answers import Rows
from tiltmeter.models.sampled import SampledScorer, seed_of
from tiltmeter.models.spec import ModelSpec
from tiltmeter.models.tree_job import Job
from tiltmeter.models.trie import Tokens
from tiltmeter.models.word_scorer import WordScorer
from tiltmeter.models.words import WordList, head_tokens
from tiltmeter.topics import Prompt

#: vLLM's own limit of logprob_token_ids.
_MOST_IDS = 128


def open_vllm(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """Start the engine; with `device_map` "auto" over all GPUs of this machine."""
    try:
        import vllm
    except ImportError as error:
        raise MissingExtra("the vLLM engine", "vllm", extra="vllm") from error
    if words.end_of_word:
        raise SettingsError(f"model {spec.name!r}: --end-of-word is not offered by vLLM")
    settings: dict[str, Any] = {
        "model": spec.target,
        "dtype": load.dtype,
        "revision": load.revision,
        "trust_remote_code": load.trust_remote_code,
        "enable_prefix_caching": True,
    }
    if load.quantize == "8bit":
        settings["quantization"] = "bitsandbytes"
    if load.device_map == "auto":
        import torch

        settings["tensor_parallel_size"] = max(1, torch.cuda.device_count())
    try:
        llm = vllm.LLM(**settings)
    except Exception as error:
        text = " ".join(str(error).split())
        raise ModelError(f"model {spec.name!r}: vLLM cannot start it: {text[:200]}") from error
    tokenizer = llm.get_tokenizer()
    config = llm.llm_engine.model_config
    info = ModelInfo(
        name=spec.name,
        kind="causal",
        revision=str(load.revision or getattr(config.hf_config, "_commit_hash", None) or "unknown"),
        dtype=str(config.dtype).removeprefix("torch."),
        device="vllm",
        notes=(f"asked by vLLM {vllm.__version__}",),
    )
    chat = chat_opening(tokenizer, load, spec.name) if load.chat else None
    scorer = VllmScorer(
        llm, vllm.SamplingParams, tokenizer, info, words, chat, int(config.max_model_len)
    )
    if load.sampled is not None:
        return SampledScorer(VllmSampler(scorer), info, options=load.sampled, words=words)
    return scorer


class VllmScorer(WordScorer):
    """Words at the slot, asked of the offline engine; always exact."""

    def __init__(
        self,
        llm: Any,
        sampling: Any,
        tokenizer: Any,
        info: ModelInfo,
        options: WordOptions,
        chat: str | None,
        limit: int,
    ) -> None:
        super().__init__(tokenizer, info, options=options)
        self.llm, self.sampling, self.chat = llm, sampling, chat
        self._limit = limit
        self._reads_ids = hasattr(sampling(max_tokens=1), "logprob_token_ids")

    @property
    def length_limit(self) -> int | None:
        return self._limit - 1

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return head_tokens(self.tokenizer, texts, chat=self.chat)

    def check_values(self, values: Floats, prompts: Sequence[Prompt]) -> None:
        if np.isnan(values).any() or (values > 1e-3).any():
            raise ModelError(f"{self.info.name} answered with a number that is no log-probability")

    def score_alike(self, prompts: Sequence[Prompt], words: WordList) -> Expanded:
        job = Job(self, prompts, words)
        return job.joined([job.score(Rows(self, job.heads), 0, len(job.heads))])

    def follow(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[Floats]:
        if self._reads_ids:
            return self._by_ids(paths, wanted)
        return self._by_prompt(paths, wanted)

    def _by_ids(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[Floats]:
        asked: list[tuple[int, Tokens]] = [
            (i, tokens[k : k + _MOST_IDS])
            for i, tokens in enumerate(wanted)
            for k in range(0, len(tokens), _MOST_IDS)
        ]
        outputs = self._generate(
            [paths[i] for i, _ in asked],
            [{"logprob_token_ids": list(tokens)} for _, tokens in asked],
        )
        found: list[list[float]] = [[] for _ in paths]
        for (i, tokens), output in zip(asked, outputs, strict=True):
            place = output.outputs[0].logprobs[0]
            found[i] += [float(place[t].logprob) for t in tokens]
        return [np.minimum(values, 0.0) for values in found]

    def _by_prompt(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[Floats]:
        whole = sorted({(*p, t) for p, tokens in zip(paths, wanted, strict=True) for t in tokens})
        outputs = self._generate(whole, [{"prompt_logprobs": 0}] * len(whole))
        value = {
            tokens: float(output.prompt_logprobs[-1][tokens[-1]].logprob)
            for tokens, output in zip(whole, outputs, strict=True)
        }
        return [
            np.minimum([value[(*p, t)] for t in tokens], 0.0)
            for p, tokens in zip(paths, wanted, strict=True)
        ]

    def _generate(self, paths: Sequence[Tokens], how: Sequence[dict[str, Any]]) -> list[Any]:
        plain = {"max_tokens": 1, "temperature": 0.0, "detokenize": False}
        outputs = self.llm.generate(
            [{"prompt_token_ids": list(p)} for p in paths],
            [self.sampling(**plain, **h) for h in how],
            use_tqdm=False,
        )
        return list(outputs)


class VllmSampler:
    """Draws from the offline engine, whole distribution."""

    def __init__(self, scorer: VllmScorer) -> None:
        self.scorer = scorer

    def notes(self) -> tuple[str, ...]:
        return ("asked inside its chat template",) if self.scorer.chat is not None else ()

    def draw(self, texts: Sequence[str], options: SampleOptions) -> list[list[str]]:
        heads = self.scorer.head_tokens(texts)
        outputs = self.scorer.llm.generate(
            [{"prompt_token_ids": head} for head in heads],
            [
                self.scorer.sampling(
                    n=options.draws,
                    temperature=options.temperature,
                    max_tokens=options.length,
                    seed=seed_of(text, options),
                )
                for text in texts
            ],
            use_tqdm=False,
        )
        return [[str(one.text) for one in output.outputs] for output in outputs]
