"""A server's own tokenizer, queried over HTTP and cached, behind our tokenizer interface.

llama.cpp and vLLM both answer at /tokenize, with different names for the same things.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinometer.errors import ModelNotFound
from clinometer.models.background import together
from clinometer.models.server.client import Client, RequestRefused, Unsupported, WrongReply


class ServerTokenizer:
    """The part of a tokenizer that `WordList` and `head_tokens` use.

    A server reports no unknown token, so every word can be encoded: such tokenizers fall back to
    bytes.
    """

    unk_token_id = None
    eos_token_id = None
    sep_token_id = None

    def __init__(self, client: Client, model: str) -> None:
        self.client, self.model = client, model
        self._tokens: dict[tuple[str, bool], list[int]] = {}
        self._texts: dict[tuple[int, ...], str] = {}
        #: what the server adds before every text; an empty text shows it alone
        opening = self.encode_all([""], special=True)[0]
        self.bos_token_id = opening[0] if len(opening) == 1 else None

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return self.encode_all([text], special=add_special_tokens)[0]

    def __call__(self, texts: Sequence[str], *, add_special_tokens: bool) -> dict[str, Any]:
        return {"input_ids": self.encode_all(texts, special=add_special_tokens)}

    def encode_all(self, texts: Sequence[str], *, special: bool) -> list[list[int]]:
        new = [t for t in dict.fromkeys(texts) if (t, special) not in self._tokens]
        if new:
            work = [self.tokens_of(text, special=special) for text in new]
            for text, ids in zip(new, self.client.run(together(work)), strict=True):
                self._tokens[text, special] = ids
        return [list(self._tokens[t, special]) for t in texts]

    async def tokens_of(self, text: str, *, special: bool) -> list[int]:
        body = {
            "model": self.model,
            "content": text,  # llama.cpp
            "add_special": special,
            "prompt": text,  # vLLM
            "add_special_tokens": special,
        }
        return await self.client.post(f"{self.client.address.root}/tokenize", body, _ids)

    def decode(self, ids: Sequence[int]) -> str:
        key = tuple(ids)
        if key not in self._texts:
            self._texts[key] = self.client.run(self.text_of(ids))
        return self._texts[key]

    async def text_of(self, ids: Sequence[int]) -> str:
        body = {"model": self.model, "tokens": list(ids)}
        return await self.client.post(f"{self.client.address.root}/detokenize", body, _text)

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self.decode([i]) for i in ids]


def server_tokenizer(client: Client, model: str, name: str) -> ServerTokenizer:
    """The server's tokenizer, or an error that names the alternative."""
    try:
        return ServerTokenizer(client, model)
    except (RequestRefused, ModelNotFound) as error:
        status = error.status if isinstance(error, RequestRefused) else 404
        raise Unsupported(
            f"model {name!r}: its server has no /tokenize (status {status}); name its "
            "tokenizer with --tokenizer, a folder, a .gguf file or a Hugging Face id"
        ) from error


def _ids(reply: Any) -> list[int]:
    ids = reply["tokens"]
    if not all(isinstance(i, int) and not isinstance(i, bool) and 0 <= i < 1 << 31 for i in ids):
        raise WrongReply("not token numbers")
    return list(ids)


def _text(reply: Any) -> str:
    text = reply.get("content", reply.get("prompt"))
    if not isinstance(text, str):
        raise WrongReply("not a text")
    return text


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
