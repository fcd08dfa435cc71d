"""What all routes have in common: a question, its answer, and the model they ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from clinometer.execution.event_loop import together
from clinometer.models.server.client import Client, Missing
from clinometer.models.server.reply import Listed, first_place
from clinometer.models.server.token_texts import Names
from clinometer.models.tokens.word_trie import Tokens

Floats = NDArray[np.float64]
Question = tuple[Tokens, Tokens]

#: Nothing but the model's own distribution: every cut and penalty off.
PLAIN = {"temperature": 1.0, "top_p": 1.0}


@dataclass(frozen=True)
class Bounds:
    """Log-probabilities of the wanted tokens: lower and upper bounds, equal where exact."""

    lower: Floats
    upper: Floats

    @classmethod
    def exact(cls, values: Sequence[float]) -> Bounds:
        found = np.array(values, dtype=np.float64)
        return cls(found, found)


@dataclass(frozen=True)
class Endpoint:
    """Completions of one model.

    names   the tokens' texts, where the server returns no ids
    top_k   how many of the most probable tokens to request
    """

    client: Client
    url: str
    model: str
    names: Names
    top_k: int

    async def ask(self, path: Tokens, read: Callable[[Any], Any], **body: Any) -> Any:
        whole = {"model": self.model, "prompt": list(path), "max_tokens": 1, "stream": False}
        return await self.client.post(self.url, {**whole, **PLAIN, **body}, read)

    def look_up(self, listed: Listed, token: int) -> float | None:
        return listed.get(token, self.names.text(token) if listed.by_text else None)

    async def top(self, path: Tokens, k: int) -> Listed:
        """The k most probable tokens. Decoding is greedy, so that no rare token joins the list."""
        found: Listed = await self.ask(path, first_place, logprobs=k, temperature=0.0)
        if not found.by_text:
            return found
        self.names.needed = True
        numbers = await self.names.numbers(list(found.by_text))
        return replace(found, by_id={n: found.by_text[t] for t, n in numbers.items()})


class Route(ABC):
    """One way to query a server."""

    name: ClassVar[str]
    exact: ClassVar[bool] = True

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint = endpoint

    async def answer(self, questions: Sequence[Question]) -> list[Bounds]:
        await self.endpoint.names.load(list({t for _, wanted in questions for t in wanted}))
        return await together([self.one(path, wanted) for path, wanted in questions])

    @abstractmethod
    async def one(self, path: Tokens, wanted: Tokens) -> Bounds: ...


def required(value: float | None) -> float:
    if value is None:
        raise Missing("a wanted token is missing")
    return value
