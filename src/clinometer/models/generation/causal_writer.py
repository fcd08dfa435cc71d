"""Replies of a local causal model, inside its chat template where it has one."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clinometer.errors import ModelError
from clinometer.models.generation.writer import Turn, first_line, transcript

if TYPE_CHECKING:
    from torch import Tensor

    from clinometer.models.local.causal import CausalScorer


class CausalWriter:
    """A local causal model, inside its chat template where it has one."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer, self.info = scorer, scorer.info
        self._read = _Read(scorer)

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
                f"{self.info.name}: the request has {len(head)} tokens and leaves no room for an "
                f"answer of {length} (the model reads {limit})"
            )
        answers = continue_tokens(
            self.scorer,
            head,
            n=n,
            temperature=temperature,
            seed=seed,
            length=length,
            read=self._read,
        )
        return [first_line(answer) for answer in answers]

    def head(self, turns: Sequence[Turn]) -> list[int]:
        """Tokens of a conversation up to the answer."""
        tokenizer = self.scorer.tokenizer
        if getattr(tokenizer, "chat_template", None):
            text = tokenizer.apply_chat_template(
                [{"role": role, "content": said} for role, said in turns],
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,  # templates without it ignore it
            )
            return list(tokenizer.encode(text, add_special_tokens=False))
        return list(self.scorer.head_tokens([transcript(turns)])[0])


def continue_tokens(
    scorer: CausalScorer,
    head: Sequence[int],
    *,
    n: int,
    temperature: float,
    seed: int,
    length: int,
    read: _Read | None = None,
) -> list[str]:
    """n continuations to the end of a line, drawn token after token from the softmax itself: no
    cut, no penalty."""
    import torch

    tokenizer, device = scorer.tokenizer, scorer.device
    ends = set(tokenizer.all_special_ids)
    chance = torch.Generator(device="cpu").manual_seed(seed)
    rows: list[list[int]] = [[] for _ in range(n)]
    over = [False] * n
    with torch.inference_mode():
        logits, cache = (read or _Read(scorer)).after(list(head))
        if n > 1:
            cache.batch_repeat_interleave(n)
        logits = logits.expand(n, -1)
        for place in range(length):
            token = _drawn(logits.float().cpu(), temperature, chance)
            for row, drawn in enumerate(token[:, 0].tolist()):
                if over[row] or drawn in ends:
                    over[row] = True
                    continue
                rows[row].append(drawn)
                text = tokenizer.decode(rows[row]).lstrip()
                over[row] = "\n" in text
            if all(over) or place + 1 == length:
                break
            step = scorer.model(input_ids=token.to(device), past_key_values=cache, use_cache=True)
            cache, logits = step.past_key_values, step.logits[:, -1]
    return [str(tokenizer.decode(row)) for row in rows]


class _Read:
    """What a model has read: requests begin alike, and only what differs is read again."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer = scorer
        self.tokens: list[int] = []
        self.cache: Any = None

    def after(self, tokens: list[int]) -> tuple[Tensor, Any]:
        """Logits of the next token [1, V], and a cache that the caller may change."""
        import torch

        same = next(
            (i for i, (a, b) in enumerate(zip(self.tokens, tokens, strict=False)) if a != b),
            min(len(self.tokens), len(tokens)),
        )
        same = min(same, len(tokens) - 1)  # the last one has to be read for its logits
        cache = None
        if same > 0 and self.cache is not None and hasattr(self.cache, "crop"):
            cache = self.cache
            if same < len(self.tokens):
                cache.crop(same - len(self.tokens))  # negative: so many less
        else:
            same = 0
        ids = torch.tensor([tokens[same:]], device=self.scorer.device)
        step = self.scorer.model(input_ids=ids, past_key_values=cache, use_cache=True)
        self.tokens, self.cache = tokens, step.past_key_values
        return step.logits[:, -1], copy.deepcopy(self.cache)


def _drawn(logits: Tensor, temperature: float, chance: Any) -> Tensor:
    import torch

    if temperature == 0:
        return logits.argmax(dim=-1, keepdim=True)
    return torch.multinomial(torch.softmax(logits / temperature, dim=-1), 1, generator=chance)
