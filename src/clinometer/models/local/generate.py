"""Causal models that write: text sampled token by token."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from clinometer.errors import ModelError
from clinometer.models.local.causal import CausalScorer
from clinometer.models.options import SampleOptions
from clinometer.models.protocol import Turn
from clinometer.models.sampled import IN_TEMPLATE, SampledScorer, first_line, seed_for
from clinometer.topics.conversation import END, joined

_TOGETHER = 256
"""Samples of one text that are made together."""


class CausalSampler(SampledScorer):
    """Continues texts with a transformers model: full distribution, one seed per text."""

    def __init__(self, scorer: CausalScorer, options: SampleOptions) -> None:
        notes = () if scorer.chat is None else (IN_TEMPLATE,)
        super().__init__(scorer.info, options, *notes)
        self.scorer = scorer

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        heads = self.scorer.head_tokens(texts)
        pairs = zip(heads, texts, strict=True)
        return [self._draw(head, text) for head, text in pairs]

    def _draw(self, head: list[int], text: str) -> list[str]:
        options = self.options
        seed = seed_for(options.seed, 0, text)
        generator = torch.Generator(device="cpu").manual_seed(seed)
        ends = set(self.scorer.tokenizer.all_special_ids)
        replies: list[str] = []
        for start in range(0, options.replies, _TOGETHER):
            n = min(_TOGETHER, options.replies - start)
            with torch.inference_mode():
                prefix = Prefix(self.scorer)
                tokens = prefix.sampled(head, n, options.temperature, generator)
                # Run to the full length even if all have ended: later texts share the generator.
                ids = torch.cat(list(islice(tokens, options.tokens)), dim=1).tolist()
            replies += [self._text(row, ends) for row in ids]
        return replies

    def _text(self, token_ids: list[int], ends: set[int]) -> str:
        """Return the text up to the first token that ends it."""
        tokenizer = self.scorer.tokenizer
        for position, token in enumerate(token_ids):
            if token in ends:
                return str(tokenizer.decode(token_ids[:position]))
        return str(tokenizer.decode(token_ids))


class CausalWriter:
    """A local causal model, inside its chat template where it has one."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer = scorer
        self.info = scorer.info
        self._prefix = Prefix(scorer)

    def write(
        self,
        turns: Sequence[Turn],
        *,
        n: int = 1,
        temperature: float = 1.0,
        seed: int = 0,
        length: int = 128,
    ) -> list[str]:
        head = self.head(turns)
        limit = self.scorer.length_limit
        if limit is not None and len(head) + length > limit:
            raise ModelError(
                f"{self.info.name}: expected at most {limit} tokens, found a request of "
                f"{len(head)} and an answer of {length}; shorten the request"
            )
        tokenizer = self.scorer.tokenizer
        ends = set(tokenizer.all_special_ids)
        generator = torch.Generator(device="cpu").manual_seed(seed)
        rows: list[list[int]] = [[] for _ in range(n)]
        is_over = [False] * n
        with torch.inference_mode():
            tokens = self._prefix.sampled(head, n, temperature, generator)
            for column in islice(tokens, length):
                for row, token in enumerate(column[:, 0].tolist()):
                    if is_over[row] or token in ends:
                        is_over[row] = True
                        continue
                    rows[row].append(token)
                    is_over[row] = "\n" in tokenizer.decode(rows[row]).lstrip()
                if all(is_over):
                    break
        return [first_line(str(tokenizer.decode(row))) for row in rows]

    def head(self, turns: Sequence[Turn]) -> list[int]:
        """Return the tokens of a conversation up to the answer."""
        return self.scorer.head_tokens([joined(turns) + END])[0]


class Prefix:
    """The key-value cache of the last request; the next one reads only what differs."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer = scorer
        self.tokens: list[int] = []
        self.cache: Any = None

    def sampled(
        self, head: list[int], n: int, temperature: float, generator: torch.Generator
    ) -> Iterator[Tensor]:
        """Yield the next tokens of n continuations [n, 1], endlessly.

        They are sampled from the full softmax: no truncation or penalty, regardless of the model's
        generation settings. Temperature 0 takes the most probable token.
        """
        logits, cache = self._after(head)
        if n > 1:
            cache.batch_repeat_interleave(n)
        logits = logits.expand(n, -1)
        while True:
            logits = logits.float().cpu()
            if temperature == 0:
                token = logits.argmax(dim=-1, keepdim=True)
            else:
                p = torch.softmax(logits / temperature, dim=-1)
                token = torch.multinomial(p, 1, generator=generator)
            yield token
            logits, cache = self._read(token, cache)

    def _after(self, tokens: list[int]) -> tuple[Tensor, Any]:
        """Return the logits of the next token [1, V], and a cache that the caller may modify."""
        # The last token has to be read for its logits.
        shared = min(shared_length(self.tokens, tokens), len(tokens) - 1)
        cache = self.cache
        if shared == 0 or not hasattr(cache, "crop"):
            shared = 0
            cache = None
        elif shared < len(self.tokens):
            cache.crop(shared - len(self.tokens))  # negative: the number to remove
        logits, self.cache = self._read(torch.tensor([tokens[shared:]]), cache)
        self.tokens = tokens
        return logits, copy.deepcopy(self.cache)

    def _read(self, tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Return the logits after the last of these tokens, and the cache with them."""
        ids = tokens.to(self.scorer.device)
        step = self.scorer.model(input_ids=ids, past_key_values=cache, use_cache=True)
        return step.logits[:, -1], step.past_key_values


def shared_length(a: Sequence[int], b: Sequence[int]) -> int:
    """Return how many tokens two texts share from their start.

    >>> shared_length([1, 2, 3], [1, 2, 4, 5])
    2
    """
    shorter = min(len(a), len(b))
    for position in range(shorter):
        if a[position] != b[position]:
            return position
    return shorter
