"""The server's own tokenizer, asked over HTTP and cached, behind our tokenizer interface.

llama.cpp and vLLM both answer at /tokenize, with different names for the same things.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinometer.models.client.client import Client
from clinometer.models.client.failures import WrongReply
from clinometer.models.event_loop import together
from clinometer.models.tokens import Tokens

_MAX_TOKEN_ID = 1 << 31
"""No vocabulary has so many tokens."""


class ServerTokenizer:
    """The part of a tokenizer that `WordList` and `head_tokens` use.

    A server reports no unknown token, so every word can be encoded: such tokenizers fall back to
    bytes.
    """

    unk_token_id = None
    eos_token_id = None
    sep_token_id = None

    def __init__(self, client: Client, model: str) -> None:
        self.client = client
        self.model = model
        self._tokens: dict[tuple[str, bool], list[int]] = {}
        """The tokens of a text, without and with those that the server adds."""
        self._texts: dict[Tokens, str] = {}
        self.bos_token_id: int | None = None
        """What the server adds before every text; an empty text shows it alone."""
        opening = self.encode("", add_special_tokens=True)
        if len(opening) == 1:
            self.bos_token_id = opening[0]

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return the tokens of a text."""
        return list(self.client.run(self.tokens_of(text, special=add_special_tokens)))

    def __call__(
        self, texts: Sequence[str], *, add_special_tokens: bool
    ) -> dict[str, Any]:
        """Return the tokens of several texts as input_ids, asked for together."""
        work = [
            self.tokens_of(text, special=add_special_tokens)
            for text in dict.fromkeys(texts)
        ]
        self.client.run(together(work))
        input_ids = [list(self._tokens[text, add_special_tokens]) for text in texts]
        return {"input_ids": input_ids}

    async def tokens_of(self, text: str, *, special: bool) -> list[int]:
        """Return the tokens of a text, asked for once."""
        if (text, special) not in self._tokens:
            body = {
                "model": self.model,
                "content": text,  # llama.cpp
                "add_special": special,
                "prompt": text,  # vLLM
                "add_special_tokens": special,
            }
            url = f"{self.client.address.root}/tokenize"
            tokens = await self.client.send("POST", url, body, _read_ids)
            self._tokens[text, special] = tokens
        return self._tokens[text, special]

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of tokens."""
        return self.client.run(self.text_of(tuple(ids)))

    async def text_of(self, ids: Tokens) -> str:
        """Return the text of tokens, asked for once."""
        if ids not in self._texts:
            body = {"model": self.model, "tokens": list(ids)}
            url = f"{self.client.address.root}/detokenize"
            self._texts[ids] = await self.client.send("POST", url, body, _read_text)
        return self._texts[ids]

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        """Return the text of each token."""
        return [self.decode([token]) for token in ids]


def _read_ids(reply: Any) -> list[int]:
    """Read the tokens of a text."""
    ids = reply["tokens"]
    if not all(type(token) is int and 0 <= token < _MAX_TOKEN_ID for token in ids):
        raise WrongReply("not token numbers")
    return list(ids)


def _read_text(reply: Any) -> str:
    """Read the text of tokens: llama.cpp calls it content, vLLM prompt."""
    text = reply.get("content", reply.get("prompt"))
    if not isinstance(text, str):
        raise WrongReply("not a text")
    return text


class TokenTexts:
    """The texts of tokens, of the server's tokenizer or of a local one.

    They are looked up before a reply arrives, once it is known that the server names tokens by
    text.
    """

    def __init__(self, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.needed = False
        self.texts: dict[int, str] = {}

    async def load(self, tokens: Sequence[int]) -> None:
        """Look up the texts of these tokens, if texts are needed."""
        if not self.needed:
            return
        new = [token for token in tokens if token not in self.texts]
        texts = await together([self._text(token) for token in new])
        self.texts.update(zip(new, texts, strict=True))

    async def single_tokens(self, texts: Sequence[str]) -> dict[str, int]:
        """Return the ids of those texts that are single tokens."""
        encoded = await together([self._encode(text) for text in texts])
        return {
            text: ids[0]
            for text, ids in zip(texts, encoded, strict=True)
            if len(ids) == 1
        }

    async def _text(self, token: int) -> str:
        if isinstance(self.tokenizer, ServerTokenizer):
            return await self.tokenizer.text_of((token,))
        text = str(self.tokenizer.decode([token]))
        (name,) = self.tokenizer.convert_ids_to_tokens([token])
        # SentencePiece drops the leading space when a token is decoded alone.
        if name.startswith("▁") and not text.startswith(" "):
            return f" {text}"
        return text

    async def _encode(self, text: str) -> list[int]:
        if isinstance(self.tokenizer, ServerTokenizer):
            return await self.tokenizer.tokens_of(text, special=False)
        return list(self.tokenizer.encode(text, add_special_tokens=False))
