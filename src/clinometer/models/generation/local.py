"""Draws from a local causal model."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from clinometer.models.generation.sampled import seed_of
from clinometer.models.local.causal import CausalScorer
from clinometer.models.options import SampleOptions

#: Draws of one text that are made together.
_TOGETHER = 256


class CausalSampler:
    """Writes on with a transformers model: whole distribution, a seed of its own for every text."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer = scorer

    def notes(self) -> tuple[str, ...]:
        return ("asked inside its chat template",) if self.scorer.chat is not None else ()

    def draw(self, texts: Sequence[str], options: SampleOptions) -> list[list[str]]:
        heads = self.scorer.head_tokens(texts)
        return [self._draw(h, t, options) for h, t in zip(heads, texts, strict=True)]

    def _draw(self, head: list[int], text: str, options: SampleOptions) -> list[str]:
        """Token after token from the softmax itself: no cut, no penalty, whatever the model's own
        settings for writing say."""
        device = self.scorer.device
        chance = torch.Generator(device="cpu").manual_seed(seed_of(text, options))
        found: list[str] = []
        for first in range(0, options.draws, _TOGETHER):
            n = min(_TOGETHER, options.draws - first)
            written: list[torch.Tensor] = []
            with torch.inference_mode():
                step = self.scorer.model(
                    input_ids=torch.tensor([head], device=device), use_cache=True
                )
                cache = step.past_key_values
                cache.batch_repeat_interleave(n)
                logits = step.logits[:, -1].expand(n, -1)
                for place in range(options.length):
                    p = torch.softmax(logits.float().cpu() / options.temperature, dim=-1)
                    token = torch.multinomial(p, 1, generator=chance)
                    written.append(token)
                    if place + 1 < options.length:
                        step = self.scorer.model(
                            input_ids=token.to(device), past_key_values=cache, use_cache=True
                        )
                        cache, logits = step.past_key_values, step.logits[:, -1]
            ids = torch.cat(written, dim=1).tolist()
            found += [self._text(row) for row in ids]
        return found

    def _text(self, ids: list[int]) -> str:
        """The text up to where the model ended it."""
        tokenizer = self.scorer.tokenizer
        ends = set(tokenizer.all_special_ids)
        stop = next((i for i, token in enumerate(ids) if token in ends), len(ids))
        return str(tokenizer.decode(ids[:stop]))
