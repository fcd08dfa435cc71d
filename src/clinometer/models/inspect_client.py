"""A model of one of Inspect's providers: texts in, Inspect's outputs back.

Inspect brings the provider's client, its limits and retries, and a cache of replies. A reply to one
text under one seed is asked for once and then remembered, by Inspect, for a week.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from clinometer.errors import ClinometerError, ModelError, ModelNotFound
from clinometer.execution.event_loop import EventLoop, together
from clinometer.models.options import ServerOptions
from clinometer.models.server.client import BudgetReached
from clinometer.models.server.sampler import INSTRUCTION

#: Providers that continue a text; the others take part in a conversation.
COMPLETIONS = ("openai-api-completions", "vllm-completions")


def asked_text(text: str, provider: str, *, question: bool = False) -> str:
    """What a provider is sent for a question, or for a text that it should continue.

    >>> asked_text("The nurse said that", "openai-api-completions")
    'The nurse said that'
    """
    return text if question or provider in COMPLETIONS else INSTRUCTION.format(text)


class InspectClient:
    """One model of a provider, asked as many times at once as the provider is allowed."""

    def __init__(self, model: str, options: ServerOptions, *, question: bool) -> None:
        from inspect_ai.model import GenerateConfig, get_model

        self.options, self.question = options, question
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
        self._spend()
        said = asked_text(text, self.provider, question=self.question)
        try:
            output = await self.model.generate(said, config=config, cache=True)
        except ClinometerError:
            raise
        except Exception as error:
            raise ModelError(f"model 'inspect:{self.model}': {_one_line(error)}") from error
        if output.error:
            raise ModelError(f"model 'inspect:{self.model}': {_one_line(output.error)}")
        if output.usage is not None:
            self.tokens += output.usage.total_tokens
        return output

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
