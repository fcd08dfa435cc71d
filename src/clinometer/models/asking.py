"""Replies over a network: asked for several at a time, and kept as they arrive."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Sequence

from clinometer.models.client.client import Client
from clinometer.models.event_loop import together
from clinometer.models.options import SampleOptions
from clinometer.models.protocol import ModelInfo
from clinometer.models.sampled import SampledScorer


class AskingSampler(SampledScorer):
    """Asks for replies, several at a time, and never twice for one that is in the log."""

    blocks_at_once = 32

    def __init__(
        self, client: Client, info: ModelInfo, options: SampleOptions, *notes: str
    ) -> None:
        super().__init__(info, options, *notes)
        self.client: Client = client
        self.replies_per_request = 1
        self.knows_refusals = False
        """Whether what is refused is known, so that many requests may be sent."""
        self._first_text = threading.Lock()

    @abstractmethod
    async def ask(self, text: str, number: int, n: int) -> list[str]:
        """Return replies number, number + 1, … to a text.

        n of them, or fewer, and then it is called again for the others.
        """

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        replies: list[list[str]] = []
        with self._first_text:  # one request alone learns what is refused
            if not self.knows_refusals:
                replies.append(self.client.run(self._draw_one(texts[0])))
                self.knows_refusals = True
        work = [self._draw_one(text) for text in texts[len(replies) :]]
        replies += self.client.run(together(work, self.client.halt))
        return replies

    async def _draw_one(self, text: str) -> list[str]:
        """Return all replies to a text: those in the log, and the others as they are asked for."""
        numbers = range(self.options.replies)
        replies = self._logged(text)
        while len(replies) < len(numbers):
            missing = [number for number in numbers if number not in replies]
            size = self.replies_per_request
            batches = [missing[i : i + size] for i in range(0, len(missing), size)]
            if not self.knows_refusals:
                batches = batches[:1]
            work = [self._ask_batch(text, batch, replies) for batch in batches]
            await together(work, self.client.halt)
            self.knows_refusals = self.knows_refusals or bool(replies)
        return [replies[number] for number in numbers]

    def _logged(self, text: str) -> dict[int, str]:
        """Return the replies to a text that are in the log, by number."""
        replies: dict[int, str] = {}
        if self.log is None:
            return replies
        for number in range(self.options.replies):
            reply = self.log.get(text, number)
            if isinstance(reply, str):
                replies[number] = reply
        return replies

    async def _ask_batch(
        self, text: str, numbers: list[int], replies: dict[int, str]
    ) -> None:
        """Add the replies of these numbers that come of one request, to log and replies."""
        new = await self.ask(text, numbers[0], len(numbers))
        for number, reply in zip(numbers, new, strict=False):
            if self.log is not None:
                self.log.put(text, number, reply)
            replies[number] = reply
