"""Models behind Inspect's model interface: every provider that Inspect knows, sampled.

Inspect brings the provider's client, its limits and retries, and a cache of replies. A reply to one
text under one seed is asked for once and then remembered, by Inspect, for a week.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from clinometer.errors import ClinometerError, ModelError, ModelNotFound, SettingsError
from clinometer.execution.event_loop import EventLoop, together
from clinometer.extras import require
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.generation.sampled import SampledScorer, Sampler
from clinometer.models.generation.writer import seed_for
from clinometer.models.options import LoadOptions, SampleOptions, ServerOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer
from clinometer.models.server.client import BudgetReached
from clinometer.models.server.sampler import INSTRUCTION, NO_CUTS

#: Providers that continue a text; the others take part in a conversation.
COMPLETIONS = ("openai-api-completions", "vllm-completions")
#: Providers whose servers know how not to cut off the tail of a distribution. Others refuse what
#: they do not know.
_UNCUT = (*COMPLETIONS, "openai-api", "vllm", "sglang", "llama-cpp-python")


def open_inspect(spec: ModelSpec, *, load: LoadOptions, words: WordOptions) -> Scorer:
    """`inspect:PROVIDER/MODEL`, sampled."""
    require(f"model {spec.name!r}", "inspect_ai")
    if load.sampled is None:
        raise SettingsError(
            f"model {spec.name!r}: Inspect gives replies, not log-probabilities of words: "
            "--sampled N samples N of them per context"
        )
    if load.chat:
        raise SettingsError(
            f"model {spec.name!r}: Inspect decides whether a model is asked in a conversation; "
            "leave out --chat"
        )
    sampler = InspectSampler(spec.target, load.server)
    info = ModelInfo(
        name=spec.name,
        kind="server",
        revision=f"as served, inspect-ai {version('inspect-ai')}",
        dtype="served",
        device="server",
    )
    return SampledScorer(sampler, info, options=load.sampled, words=words)


def asked_text(text: str, provider: str) -> str:
    """What a provider is sent for a text that it should continue.

    >>> asked_text("The nurse said that", "openai-api-completions")
    'The nurse said that'
    """
    return text if provider in COMPLETIONS else INSTRUCTION.format(text)


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


class InspectSampler(Sampler):
    """Asks for one reply per request, as many at a time as the provider is allowed."""

    def __init__(self, model: str, options: ServerOptions) -> None:
        from inspect_ai.model import GenerateConfig, get_model

        self.options = options
        self.requests = self.tokens = 0
        limits = GenerateConfig(
            max_connections=options.concurrency,
            attempt_timeout=max(1, round(options.timeout)),
            timeout=max(1, round(options.patience)),
        )
        try:
            self.model = get_model(model, config=limits, memoize=False)
        except Exception as error:  # every provider has its own errors
            raise ModelNotFound(f"model 'inspect:{model}': {_one_line(error)}") from error
        self.provider = model.partition("/")[0]
        self._loop = EventLoop()
        self._close = weakref.finalize(self, self._loop.stop, self.model.api.aclose)

    def notes(self) -> tuple[str, ...]:
        if self.provider in COMPLETIONS:
            return ("asked by Inspect to continue the text",)
        return ("asked by Inspect, by an instruction to continue the text",)

    def usage(self) -> dict[str, int]:
        return {"requests": self.requests, "tokens": self.tokens}

    def close(self) -> None:
        self._close()

    def draw(self, texts: Sequence[str], options: SampleOptions) -> list[list[str]]:
        work = [self._reply(t, options, i) for t in texts for i in range(options.draws)]
        found = iter(self._loop.run(together(work)))
        return [[next(found) for _ in range(options.draws)] for _ in texts]

    async def _reply(self, text: str, options: SampleOptions, number: int) -> str:
        self._spend()
        config = sampling_config(options, self.provider, number, text)
        try:
            output = await self.model.generate(
                asked_text(text, self.provider), config=config, cache=True
            )
        except ClinometerError:
            raise
        except Exception as error:
            raise ModelError(f"model 'inspect:{self.model}': {_one_line(error)}") from error
        if output.error:
            raise ModelError(f"model 'inspect:{self.model}': {_one_line(output.error)}")
        if output.usage is not None:
            self.tokens += output.usage.total_tokens
        return str(output.completion)

    def _spend(self) -> None:
        limits = {
            "requests": (self.requests, self.options.max_requests),
            "tokens": (self.tokens, self.options.max_tokens),
        }
        for name, (used, limit) in limits.items():
            if limit is not None and used >= limit:
                raise BudgetReached(
                    f"model 'inspect:{self.model}': stopped at the budget of {limit} {name}; "
                    "scores so far are kept: rerun the same command to resume with a new budget"
                )
        self.requests += 1


def _one_line(error: object) -> str:
    """What a provider says went wrong, short; a message may be a page."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:199]}…"
