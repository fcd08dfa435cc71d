"""Tokens by text, for servers that return no token ids.

Everything here runs inside the event loop, so a server's own tokenizer is awaited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinometer.execution.event_loop import together
from clinometer.models.server.tokenizer import ServerTokenizer


class Names:
    """The texts of tokens. They are looked up before a reply arrives, once it is known that the
    server names tokens by text."""

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.needed = False
        self._texts: dict[int, str] = {}
        self._numbers: dict[str, int | None] = {}

    async def load(self, tokens: Sequence[int]) -> None:
        new = [t for t in tokens if t not in self._texts] if self.needed else []
        self._texts.update(zip(new, await together([self._text(t) for t in new]), strict=True))

    def text(self, token: int) -> str | None:
        return self._texts.get(token)

    async def numbers(self, texts: Sequence[str]) -> dict[str, int]:
        """The ids of those texts that are single tokens."""
        new = [t for t in texts if t not in self._numbers]
        found = await together([self._number(t) for t in new])
        self._numbers.update(zip(new, found, strict=True))
        known = {t: self._numbers[t] for t in texts}
        return {text: number for text, number in known.items() if number is not None}

    async def _text(self, token: int) -> str:
        if isinstance(self.tokenizer, ServerTokenizer):
            return await self.tokenizer.text_of([token])
        text = str(self.tokenizer.decode([token]))
        (name,) = self.tokenizer.convert_ids_to_tokens([token])
        # SentencePiece drops the leading space when a token is decoded alone.
        return f" {text}" if name.startswith("▁") and not text.startswith(" ") else text

    async def _number(self, text: str) -> int | None:
        if isinstance(self.tokenizer, ServerTokenizer):
            ids = await self.tokenizer.tokens_of(text, special=False)
        else:
            ids = self.tokenizer.encode(text, add_special_tokens=False)
        return ids[0] if len(ids) == 1 else None
