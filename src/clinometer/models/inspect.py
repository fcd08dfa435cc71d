"""Models behind Inspect's model interface: sampled, or by the most probable tokens that a provider
lists."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, cast

from clinometer.errors import (
    ClinometerError,
    ModelError,
    ModelNotFound,
    SettingsError,
)
from clinometer.extras import require
from clinometer.models.background import EventLoop, together
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.generation.asking import AskingSampler
from clinometer.models.generation.first_token import LISTED, FirstTokenScorer
from clinometer.models.generation.writer import seed_for
from clinometer.models.options import (
    QUESTION,
    LoadOptions,
    SampleOptions,
    ServerOptions,
    WordOptions,
)
from clinometer.models.protocol import ModelInfo, Scorer
from clinometer.models.server.accepted import NO_CUTS
from clinometer.models.server.chat import INSTRUCTION
from clinometer.models.server.client import BudgetReached, Metered
from clinometer.models.server.providers import price_of
from clinometer.topics.conversation import is_conversation, messages_of

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
        price = price_of(model, options.price)
        super().__init__(f"model 'inspect:{self.model}'", options, price)
        self.provider = model.partition("/")[0]
        self._loop = EventLoop()
        self._close = weakref.finalize(self, self._loop.stop, self.model.api.aclose)

    def notes(self) -> tuple[str, ...]:
        if self.question:
            return ("asked by Inspect",)
        if self.provider in COMPLETIONS:
            return ("asked by Inspect to continue the text",)
        return ("asked by Inspect, by an instruction to continue the text",)

    def close(self) -> None:
        self._close()

    def ask(self, asked: Sequence[tuple[str, Any]]) -> list[Any]:
        """Inspect's outputs for texts, each with its GenerateConfig."""
        work = [self.generate(text, config) for text, config in asked]
        return self._loop.run(together(work))

    def run(self, work: Any) -> Any:
        return self._loop.run(work)

    async def generate(self, text: str, config: Any) -> Any:
        self.spend()
        request: Any = asked_text(text, self.provider, question=self.question)
        if is_conversation(text):
            request = _chat_messages(text)
        try:
            output = await self.model.generate(request, config=config, cache=True)
        except ClinometerError:
            raise
        except Exception as error:
            raise ModelError(f"{self.place}: {_one_line(error)}") from error
        if output.error:
            raise ModelError(f"{self.place}: {_one_line(output.error)}")
        if output.usage is not None:
            used = output.usage
            self.count(used.input_tokens, used.output_tokens, used.total_tokens)
        return output


def _chat_messages(text: str) -> list[Any]:
    """The messages of a prompt as Inspect has them."""
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    roles = {
        "system": ChatMessageSystem,
        "user": ChatMessageUser,
        "assistant": ChatMessageAssistant,
    }
    return [roles[said["role"]](content=said["content"]) for said in messages_of(text)]


def _one_line(error: object) -> str:
    """What a provider says went wrong, short; a message may be a page."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:199]}…"


class InspectTokenScorer(FirstTokenScorer):
    """Scores words by the first tokens that a provider lists, one request per prompt."""

    def __init__(self, client: InspectClient, info: ModelInfo) -> None:
        super().__init__(client, info, *client.notes())
        self.client = client

    def listed(self, texts: Sequence[str]) -> list[list[tuple[str, float]]]:
        from inspect_ai.model import GenerateConfig

        config = GenerateConfig(max_tokens=1, temperature=1.0, logprobs=True, top_logprobs=LISTED)
        return [self._listed(o) for o in self.client.ask([(text, config) for text in texts])]

    def _listed(self, output: Any) -> list[tuple[str, float]]:
        """The tokens and probabilities of the first place of a reply."""
        log_probs = output.choices[0].logprobs if output.choices else None
        if log_probs is None or not log_probs.content or not log_probs.content[0].top_logprobs:
            raise ModelError(
                f"{self.info.name}: the provider lists no log-probabilities; --replies N samples "
                "N replies per context instead"
            )
        return [(one.token, math.exp(one.logprob)) for one in log_probs.content[0].top_logprobs]


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
        return InspectTokenScorer(client, info)
    if load.sampled.automatic:
        by_tokens = InspectTokenScorer(client, info)
        try:
            by_tokens.listed(["Is water wet? Answer yes or no."])
        except BudgetReached:
            raise
        except ModelError:  # it lists none, or refuses to
            pass
        else:
            return by_tokens
    return InspectSampler(client, info, load.sampled)


def sampling_config(options: SampleOptions, provider: str, number: int, text: str) -> Any:
    """How Inspect samples reply `number` to a text: the model's own distribution, one seed each."""
    from inspect_ai.model import GenerateConfig

    return GenerateConfig(
        temperature=options.temperature,
        max_tokens=options.tokens,
        reasoning_effort=cast(Any, options.effort),
        top_p=1.0,
        seed=seed_for(options.seed, number, text),
        extra_body=dict(NO_CUTS) if provider in _UNCUT else None,
    )


class InspectSampler(AskingSampler):
    """Asks for one reply per request."""

    def __init__(self, client: InspectClient, info: ModelInfo, options: SampleOptions) -> None:
        super().__init__(client, info, options, *client.notes())
        self.client = client

    async def ask(self, text: str, number: int, n: int) -> list[str]:
        config = sampling_config(self.options, self.client.provider, number, text)
        return [str((await self.client.generate(text, config)).completion)]
