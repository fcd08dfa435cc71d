"""Ollama's own endpoint: the path as text, and at most 20 tokens by text in return."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clinometer.models.server.client import Missing
from clinometer.models.server.reply import Listed, of_ollama
from clinometer.models.server.routes.most_probable import TopK
from clinometer.models.server.routes.route import Bounds, Endpoint
from clinometer.models.server.tokenizer import ServerTokenizer
from clinometer.models.tokens.word_trie import Tokens

#: Nothing but the model's own distribution: Ollama takes anything missing here from its Modelfile.
_OPTIONS = {"num_predict": 1, "temperature": 0.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0}
_NO_PENALTY = {"repeat_penalty": 1.0, "presence_penalty": 0.0, "frequency_penalty": 0.0}


@dataclass(frozen=True)
class OllamaEndpoint(Endpoint):
    """/api/generate without Ollama's template. Needs the model's tokenizer, as Ollama has no
    endpoint for it."""

    async def top(self, path: Tokens, k: int) -> Listed:
        """The k most probable tokens; Missing where Ollama cannot list them."""
        text = self._text(path)
        if text is None:
            raise Missing("a path that its own text does not give back")
        body = {
            "model": self.model,
            "prompt": text,
            "raw": True,
            "stream": False,
            "logprobs": True,
            "top_logprobs": k,
            "options": _OPTIONS | _NO_PENALTY,
        }
        client = self.client
        url = f"{client.address.root}/api/generate"
        found: Listed | None = await client.post(url, body, of_ollama)
        if found is None:
            raise Missing("the reply ended at once")
        self.names.needed = True
        numbers = await self.names.numbers(list(found.by_text))
        return replace(found, by_id={n: found.by_text[t] for t, n in numbers.items()})

    def _text(self, path: Tokens) -> str | None:
        """The text whose tokens are the path; Ollama adds the BOS token itself. None if there is
        none: the tokens of a word's beginning may be others than the word's first ones."""
        tokenizer: Any = self.names.tokenizer
        if isinstance(tokenizer, ServerTokenizer):
            raise Missing("no tokenizer; name it with --tokenizer")
        opening = len(tokenizer.encode("", add_special_tokens=True))
        text = str(tokenizer.decode(list(path[opening:]), clean_up_tokenization_spaces=False))
        again = tokenizer.encode(text, add_special_tokens=True)
        return text if tuple(again) == path else None


class Ollama(TopK):
    """As top-k. Where Ollama returns no list (a path that is no text's own tokens, or a reply that
    ends with its first token) nothing is known of a token."""

    name = "ollama"

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        try:
            return await super().one(path, wanted)
        except Missing:
            if self.endpoint.client.probing:
                raise
            return Bounds(np.full(len(wanted), -math.inf), np.zeros(len(wanted)))
