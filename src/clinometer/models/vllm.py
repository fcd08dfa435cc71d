"""vLLM's offline engine: `vllm:MODEL`, for models that need its kernels or several GPUs.

`LLM.generate` on prompts of token numbers, and `SamplingParams` with `logprob_token_ids`, or
`prompt_logprobs` in versions before it had these. The engine itself shares prefixes between
prompts.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from clinometer.errors import ModelError, SettingsError
from clinometer.extras import require
from clinometer.models.catalog.identity import revision_of
from clinometer.models.catalog.pretrained import pretrained
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.generation.chat import chat_opening
from clinometer.models.generation.sampled import IN_TEMPLATE, SampledScorer
from clinometer.models.generation.writer import seed_for
from clinometer.models.local.load import choose_device, choose_dtype
from clinometer.models.options import LoadOptions, SampleOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordScores
from clinometer.models.scoring.causal_job import Job
from clinometer.models.scoring.word_scorer import WordScorer
from clinometer.models.tokens.word_tokens import Tokens, WordList
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

#: vLLM's own limit of logprob_token_ids.
_MOST_IDS = 128
#: Maximum number of tokens in a prompt. vLLM reserves memory for the longest possible text, and the
#: full context of some models would not fit.
_ENOUGH = 4096
#: Silence its start-up log and disable its usage reports, unless the user has set these.
_QUIET = {"VLLM_LOGGING_LEVEL": "ERROR", "VLLM_NO_USAGE_STATS": "1"}


def open_vllm(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """Start the engine; with `device_map` "auto" over all GPUs of this machine."""
    if words.end_of_word:
        raise SettingsError(f"model {spec.name!r}: --end-of-word is not offered by vLLM")
    if load.quantize is not None:
        raise SettingsError(
            f"model {spec.name!r}: vLLM does not convert weights to 8 bits: drop 'vllm:', or "
            "name a model that was quantised before"
        )
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)
    require("the vLLM engine", "vllm")
    import vllm

    try:
        llm = vllm.LLM(**_settings(spec, load))
    except Exception as error:
        text = " ".join(str(error).split())
        raise ModelError(f"model {spec.name!r}: vLLM cannot start it: {text[:200]}") from error
    tokenizer = llm.get_tokenizer()
    config = llm.llm_engine.model_config
    info = ModelInfo(
        name=spec.name,
        kind="causal",
        revision=revision_of(spec, load) or "unknown",  # by now the model is here
        dtype=str(config.dtype).removeprefix("torch."),
        device="vllm",
        notes=(f"asked by vLLM {vllm.__version__}",),
    )
    chat = chat_opening(tokenizer, load, spec.name) if load.chat else None
    limit = int(config.max_model_len) - 1
    scorer = VllmScorer(
        llm, vllm.SamplingParams, tokenizer, info, options=words, chat=chat, length_limit=limit
    )
    if load.sampled is not None:
        return VllmSampler(scorer, load.sampled)
    return scorer


def _settings(spec: ModelSpec, load: LoadOptions) -> dict[str, Any]:
    """What the engine is started with."""
    import torch
    import transformers

    settings: dict[str, Any] = {
        "model": spec.target,
        "dtype": choose_dtype(load.dtype, choose_device("auto")),
        "revision": load.revision,
        "trust_remote_code": load.trust_remote_code,
        "load_format": "auto" if load.allow_pickle else "safetensors",
        "enable_prefix_caching": True,
        "use_tqdm_on_load": False,
        # Without a GPU, compilation would take minutes and pay off once.
        "enforce_eager": not torch.cuda.is_available(),
    }
    config = pretrained(
        transformers.AutoConfig,
        spec.target,
        revision=load.revision,
        trust_remote_code=load.trust_remote_code,
    )
    longest = getattr(config.get_text_config(), "max_position_embeddings", None)
    if longest:
        settings["max_model_len"] = min(longest, _ENOUGH)
    if load.device_map == "auto":
        settings["tensor_parallel_size"] = max(1, torch.cuda.device_count())
    return settings


class VllmScorer(WordScorer):
    """Scores words with the offline engine; always exact."""

    def __init__(
        self, llm: Any, sampling: Any, tokenizer: Any, info: ModelInfo, **options: Any
    ) -> None:
        super().__init__(tokenizer, info, **options)
        self.llm, self.sampling = llm, sampling
        self._reads_ids = hasattr(sampling(max_tokens=1), "logprob_token_ids")

    def close(self) -> None:
        """Stop the engine's processes, which hold the memory."""
        self.llm.llm_engine.engine_core.shutdown()

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        return Job(self, prompts, words).score_in_rows(self.follow)

    def follow(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[FloatArray]:
        if self._reads_ids:
            return self._by_ids(paths, wanted)
        return self._by_prompt(paths, wanted)

    def _by_ids(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[FloatArray]:
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

    def _by_prompt(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[FloatArray]:
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
        return self.generate(paths, [self.sampling(**plain, **h) for h in how])

    def generate(self, paths: Sequence[Sequence[int]], how: Sequence[Any]) -> list[Any]:
        """The engine's outputs, or a one-line error if it has died."""
        prompts = [{"prompt_token_ids": list(p)} for p in paths]
        try:
            return list(
                self._watched(lambda: self.llm.generate(prompts, list(how), use_tqdm=False))
            )
        except Exception as error:
            text = " ".join(str(error).split()) or type(error).__name__
            raise ModelError(
                f"model {self.info.name!r}: vLLM failed: {text[:200]}; scores so far are kept, "
                "rerun the same command to resume"
            ) from error

    def _watched(self, work: Callable[[], Any]) -> Any:
        """Run `work`, and fail if the engine's process is killed meanwhile (for example when memory
        runs out): vLLM notices its death but would wait for ever."""
        found: Future[Any] = Future()

        def run() -> None:
            try:
                found.set_result(work())
            except BaseException as error:
                found.set_exception(error)

        threading.Thread(target=run, daemon=True).start()
        while True:
            try:
                return found.result(timeout=1.0)
            except TimeoutError:
                core = self.llm.llm_engine.engine_core
                if getattr(getattr(core, "resources", None), "engine_dead", False):
                    raise ModelError("its engine was killed") from None


class VllmSampler(SampledScorer):
    """Samples from the offline engine, full distribution."""

    def __init__(self, scorer: VllmScorer, options: SampleOptions) -> None:
        super().__init__(
            scorer, scorer.info, options, *(() if scorer.chat is None else [IN_TEMPLATE])
        )
        self.scorer = scorer

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        options = self.options
        outputs = self.scorer.generate(
            self.scorer.head_tokens(texts),
            [
                self.scorer.sampling(
                    n=options.replies,
                    temperature=options.temperature,
                    max_tokens=options.tokens,
                    seed=seed_for(options.seed, 0, text),
                )
                for text in texts
            ],
        )
        return [[str(one.text) for one in output.outputs] for output in outputs]
