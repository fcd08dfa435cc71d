"""Text from a local causal model, sampled token by token."""

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

#: Samples of one text that are made together.
_TOGETHER = 256


class CausalSampler(SampledScorer):
    """Continues texts with a transformers model: full distribution, one seed per text."""

    def __init__(self, scorer: CausalScorer, options: SampleOptions) -> None:
        super().__init__(scorer.info, options, *([] if scorer.chat is None else [IN_TEMPLATE]))
        self.scorer = scorer

    def draw(self, texts: Sequence[str]) -> list[list[str]]:
        return list(map(self._draw, self.scorer.head_tokens(texts), texts))

    def _draw(self, head: list[int], text: str) -> list[str]:
        options, tokenizer = self.options, self.scorer.tokenizer
        chance = torch.Generator(device="cpu").manual_seed(seed_for(options.seed, 0, text))
        ends = set(tokenizer.all_special_ids)
        replies: list[str] = []
        for first in range(0, options.replies, _TOGETHER):
            n = min(_TOGETHER, options.replies - first)
            with torch.inference_mode():
                tokens = Prefix(self.scorer).sampled(head, n, options.temperature, chance)
                # Run to the full length even if all have ended: later texts share the generator.
                ids = torch.cat(list(islice(tokens, options.tokens)), dim=1).tolist()
            for row in ids:
                stop = next((i for i, token in enumerate(row) if token in ends), len(row))
                replies.append(str(tokenizer.decode(row[:stop])))
        return replies


class CausalWriter:
    """A local causal model, inside its chat template where it has one."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer, self.info = scorer, scorer.info
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
        chance = torch.Generator(device="cpu").manual_seed(seed)
        rows: list[list[int]] = [[] for _ in range(n)]
        over = [False] * n
        with torch.inference_mode():
            for token in islice(self._prefix.sampled(head, n, temperature, chance), length):
                for row, sampled in enumerate(token[:, 0].tolist()):
                    if over[row] or sampled in ends:
                        over[row] = True
                        continue
                    rows[row].append(sampled)
                    over[row] = "\n" in tokenizer.decode(rows[row]).lstrip()
                if all(over):
                    break
        return [first_line(str(tokenizer.decode(row))) for row in rows]

    def head(self, turns: Sequence[Turn]) -> list[int]:
        """Tokens of a conversation up to the answer."""
        return self.scorer.head_tokens([joined(turns) + END])[0]


class Prefix:
    """The key-value cache of the last request; the next one reads only what differs."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer = scorer
        self.tokens: list[int] = []
        self.cache: Any = None

    def sampled(
        self, head: list[int], n: int, temperature: float, chance: torch.Generator
    ) -> Iterator[Tensor]:
        """Yield the next tokens of n continuations [n, 1], endlessly, sampled from the full
        softmax: no truncation or penalty, regardless of the model's generation settings."""
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
                token = torch.multinomial(p, 1, generator=chance)
            yield token
            logits, cache = self._read(token, cache)

    def _after(self, tokens: list[int]) -> tuple[Tensor, Any]:
        """Logits of the next token [1, V], and a cache that the caller may modify."""
        same = next(
            (i for i, (a, b) in enumerate(zip(self.tokens, tokens, strict=False)) if a != b),
            min(len(self.tokens), len(tokens)),
        )
        same = min(same, len(tokens) - 1)  # the last one has to be read for its logits
        cache = None
        if same > 0 and self.cache is not None and hasattr(self.cache, "crop"):
            cache = self.cache
            if same < len(self.tokens):
                cache.crop(same - len(self.tokens))  # negative: the number to remove
        else:
            same = 0
        logits, self.cache = self._read(torch.tensor([tokens[same:]]), cache)
        self.tokens = tokens
        return logits, copy.deepcopy(self.cache)

    def _read(self, tokens: Tensor, cache: Any) -> tuple[Tensor, Any]:
        """Logits after the last of these tokens, and the cache with them."""
        ids = tokens.to(self.scorer.device)
        step = self.scorer.model(input_ids=ids, past_key_values=cache, use_cache=True)
        return step.logits[:, -1], step.past_key_values
