"""Models behind Inspect's model interface: sampled, or by the most probable tokens that a provider
lists."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np

from clinometer.errors import (
    ClinometerError,
    ContextError,
    ModelError,
    ModelNotFound,
    SettingsError,
)
from clinometer.execution.background import EventLoop, together
from clinometer.extras import require
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.generation.sampled import SampledScorer
from clinometer.models.generation.writer import seed_for
from clinometer.models.options import (
    QUESTION,
    LoadOptions,
    SampleOptions,
    ServerOptions,
    WordOptions,
)
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.models.server.client import Metered
from clinometer.models.server.sampler import INSTRUCTION, NO_CUTS
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

#: Providers that continue a text; the others take part in a conversation.
COMPLETIONS = ("openai-api-completions", "vllm-completions")


def asked_text(text: str, provider: str, *, question: bool = False) -> str:
    """What a provider is sent for a question, or for a text that it should continue.

    >>> asked_text("The nurse said that", "openai-api-completions")
    'The nurse said that'
    """
    return text if question or provider in COMPLETIONS else INSTRUCTION.format(text)


class InspectClient(Metered):
    """One model of a provider, asked as many times at once as the provider is allowed."""

    def __init__(self, model: str, options: ServerOptions, *, question: bool) -> None:
        from inspect_ai.model import GenerateConfig, get_model

        self.question = question
        limits = GenerateConfig(
            max_connections=options.concurrency,
            attempt_timeout=max(1, round(options.timeout)),
            timeout=max(1, round(options.patience)),
        )
        try:
            self.model = get_model(model, config=limits, memoize=False)
        except Exception as error:  # every provider has its own errors
            raise ModelNotFound(f"model 'inspect:{model}': {_one_line(error)}") from error
        super().__init__(f"model 'inspect:{self.model}'", options)
        self.provider = model.partition("/")[0]
        self._loop = EventLoop()
        self._close = weakref.finalize(self, self._loop.stop, self.model.api.aclose)

    def notes(self) -> tuple[str, ...]:
        if self.question:
            return ("asked by Inspect",)
        if self.provider in COMPLETIONS:
            return ("asked by Inspect to continue the text",)
        return ("asked by Inspect, by an instruction to continue the text",)

    def usage(self) -> dict[str, int]:
        return {"requests": self.requests, "tokens": self.tokens}

    def close(self) -> None:
        self._close()

    def ask(self, asked: Sequence[tuple[str, Any]]) -> list[Any]:
        """Inspect's outputs for texts, each with its GenerateConfig."""
        return self._loop.run(together([self._ask(text, config) for text, config in asked]))

    async def _ask(self, text: str, config: Any) -> Any:
        self.spend()
        request = asked_text(text, self.provider, question=self.question)
        try:
            output = await self.model.generate(request, config=config, cache=True)
        except ClinometerError:
            raise
        except Exception as error:
            raise ModelError(f"{self.place}: {_one_line(error)}") from error
        if output.error:
            raise ModelError(f"{self.place}: {_one_line(output.error)}")
        if output.usage is not None:
            self.tokens += output.usage.total_tokens
        return output


def _one_line(error: object) -> str:
    """What a provider says went wrong, short; a message may be a page."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:199]}…"


#: As many as providers list (OpenAI, Google, llama.cpp, vLLM).
LISTED = 20
#: How far the sum of a provider's probabilities may be off.
_ROUNDING = 1e-3


class FirstTokenScorer:
    """Scores words by one request per prompt."""

    def __init__(self, client: InspectClient, info: ModelInfo) -> None:
        notes = (f"bounds from the {LISTED} most probable first tokens", *client.notes())
        self.client, self.info = client, replace(info, notes=(*info.notes, *notes))

    def usage(self) -> dict[str, int]:
        return self.client.usage()

    def close(self) -> None:
        self.client.close()

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """The provider's tokens are not known; a word is compared as text."""
        return WordReport(tokens={word: (word,) for word in words})

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        from inspect_ai.model import GenerateConfig

        for prompt in prompts:
            if prompt.after or not prompt.before:
                raise ContextError(
                    f"{self.info.name}: a reply continues the text from the slot: use templates "
                    "that end with [Y] and do not begin with it"
                )
        config = GenerateConfig(max_tokens=1, temperature=1.0, logprobs=True, top_logprobs=LISTED)
        outputs = self.client.ask([(prompt.before, config) for prompt in prompts])
        bounds = np.array([word_bounds(self._listed(output), words) for output in outputs])
        lower, upper = np.moveaxis(bounds, 1, 0)
        with np.errstate(divide="ignore"):
            return WordScores(
                log_probs=np.log(lower),
                log_coverage=np.log(lower.sum(axis=1)),
                skipped=np.zeros(len(prompts)),
                log_upper=np.log(upper),
            )

    def _listed(self, output: Any) -> list[tuple[str, float]]:
        """The tokens and probabilities of the first place of a reply."""
        log_probs = output.choices[0].logprobs if output.choices else None
        if log_probs is None or not log_probs.content or not log_probs.content[0].top_logprobs:
            raise ModelError(
                f"{self.info.name}: the provider lists no log-probabilities; --replies N samples "
                "N replies per context instead"
            )
        listed = [(one.token, math.exp(one.logprob)) for one in log_probs.content[0].top_logprobs]
        if not all(0.0 <= p <= 1.0 + _ROUNDING for _, p in listed) or (
            math.fsum(p for _, p in listed) > 1.0 + len(listed) * _ROUNDING
        ):
            raise ModelError(
                f"{self.info.name}: the provider's probabilities sum to more than 1; --replies N "
                "samples N replies per context instead"
            )
        return listed


def word_bounds(
    listed: Sequence[tuple[str, float]], words: Sequence[str]
) -> tuple[list[float], list[float]]:
    """The least and the most probability of each word as the beginning of a reply.

    >>> low, high = word_bounds([("Yes", 0.6), (" No", 0.2), ("Y", 0.1)], ["Yes", "No"])
    >>> [round(p, 3) for p in low], [round(p, 3) for p in high]
    ([0.6, 0.2], [0.801, 0.301])
    """
    texts = [(token.strip(), p) for token, p in listed]
    rest = max(0.0, 1.0 - math.fsum(p for _, p in texts)) + _ROUNDING
    low, high = [], []
    for word in words:
        whole = math.fsum(p for text, p in texts if text == word)
        begun = math.fsum(p for text, p in texts if text != word and word.startswith(text))
        low.append(min(whole, 1.0))
        high.append(min(whole + begun + rest, 1.0))
    return low, high


#: Providers whose servers know how not to cut off the tail of a distribution. Others refuse what
#: they do not know.
_UNCUT = (*COMPLETIONS, "openai-api", "vllm", "sglang", "llama-cpp-python")


def open_inspect(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """`inspect:PROVIDER/MODEL`, sampled or by its most probable tokens."""
    require(f"model {spec.name!r}", "inspect_ai")
    if load.chat:
        raise SettingsError(
            f"model {spec.name!r}: Inspect decides whether a model is asked in a conversation; "
            "leave out --chat"
        )
    client = InspectClient(spec.target, load.server, question=load.chat_request == QUESTION)
    info = ModelInfo(
        name=spec.name,
        kind="server",
        revision=f"as served, inspect-ai {version('inspect-ai')}",
        dtype="served",
        device="server",
    )
    if load.sampled is None:
        return FirstTokenScorer(client, info)
    return InspectSampler(client, info, load.sampled)


def sampling_config(options: SampleOptions, provider: str, number: int, text: str) -> Any:
    """How Inspect samples reply `number` to a text: the model's own distribution, one seed each."""
    from inspect_ai.model import GenerateConfig

    return GenerateConfig(
        temperature=options.temperature,
        max_tokens=options.tokens,
        top_p=1.0,
        seed=seed_for(options.seed, number, text),
        extra_body=dict(NO_CUTS) if provider in _UNCUT else None,
    )


class InspectSampler(SampledScorer):
    """Asks for one reply per request."""

    def __init__(self, client: InspectClient, info: ModelInfo, options: SampleOptions) -> None:
        super().__init__(client, info, options, *client.notes())
        self.client = client

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        numbers = range(self.options.replies)
        requests = [
            (text, sampling_config(self.options, self.client.provider, i, text))
            for text in texts
            for i in numbers
        ]
        outputs = iter(self.client.ask(requests))
        return [[str(next(outputs).completion) for _ in numbers] for _ in texts]
