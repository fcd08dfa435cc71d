"""Sampled replies that are asked for one by one, over a network: kept as they arrive."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Protocol

from clinometer.models.background import settled
from clinometer.models.generation.sampled import SampledScorer
from clinometer.models.options import SampleOptions
from clinometer.models.protocol import ModelInfo
from clinometer.storage.reply_log import ReplyLog


class AskedBackend(Protocol):
    """What runs the requests, and can be stopped."""

    def run(self, work: Any) -> Any: ...

    def halt(self) -> None: ...

    def usage(self) -> dict[str, int]: ...

    def close(self) -> None: ...


class AskingSampler(SampledScorer):
    """Asks for replies, several at a time, and never twice for one that is in the log."""

    blocks_at_once = 32

    def __init__(
        self, backend: AskedBackend, info: ModelInfo, options: SampleOptions, *notes: str
    ) -> None:
        super().__init__(backend, info, options, *notes)
        self.backend: AskedBackend = backend
        self.log: ReplyLog | None = None
        #: replies in one request
        self.at_once = 1
        #: whether what is refused is known, so that many requests may be sent
        self.learnt = False
        self._first = threading.Lock()

    def close(self) -> None:
        if self.log is not None:
            self.log.close()
        super().close()

    @abstractmethod
    async def ask(self, text: str, number: int, n: int) -> list[str]:
        """Replies number, number + 1, … to a text: n of them, or fewer, and then it is called
        again for the others."""

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        first: list[list[str]] = []
        with self._first:  # one request alone learns what is refused
            if not self.learnt:
                first = [self.backend.run(self._draw(texts[0]))]
                self.learnt = True
        rest = [self._draw(text) for text in texts[len(first) :]]
        found: list[list[str]] = self.backend.run(settled(rest, self.backend.halt))
        return [*first, *found]

    async def _draw(self, text: str) -> list[str]:
        found: dict[int, str] = {}
        if self.log is not None:
            known = ((i, self.log.get(text, i)) for i in range(self.options.replies))
            found = {i: reply for i, reply in known if isinstance(reply, str)}
        while missing := [i for i in range(self.options.replies) if i not in found]:
            size = self.at_once
            batches = [missing[i : i + size] for i in range(0, len(missing), size)]
            if not self.learnt:
                batches = batches[:1]
            await settled([self._batch(text, one, found) for one in batches], self.backend.halt)
            self.learnt = self.learnt or bool(found)
        return [found[i] for i in range(self.options.replies)]

    async def _batch(self, text: str, numbers: list[int], found: dict[int, str]) -> None:
        replies = await self.ask(text, numbers[0], len(numbers))
        for number, reply in zip(numbers, replies, strict=False):
            if self.log is not None:
                self.log.put(text, number, reply)
            found[number] = reply
