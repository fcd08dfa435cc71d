"""Blanks filled by a causal model, which cannot see what follows. It continues the text from the
blank, and each continuation is weighted by the probability of the rest of the statement after it
(importance resampling), so that a fill fits on both sides.

Every blank has one pool, made with the other blanks empty, from which all versions sample. This is
far cheaper than one pool per version, but the fills of one version are independent of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.models.generation.local import continue_tokens
from clinometer.models.generation.writer import seed_for
from clinometer.reliability.blank_notation import Blanks
from clinometer.reliability.variants.accepted import join
from clinometer.reliability.variants.filling import (
    FUNCTION_WORDS,
    Fills,
    is_modifier,
    neighbours,
    sample_length,
)

if TYPE_CHECKING:
    from clinometer.models.local.causal import CausalScorer

#: Candidate continuations per blank, in addition to one per version; and tokens of each.
_CANDIDATES = 12
_TOKENS = {True: 5, False: 9}
#: Sampling is without replacement until the pool is exhausted, so every phrase needs some weight.
_LEAST = 1e-9


class CausalFiller:
    """A causal model (`smollm2`), without its chat template: it continues the statement."""

    def __init__(self, scorer: CausalScorer) -> None:
        self.scorer, self.info = scorer, scorer.info

    def fill(self, blanks: Blanks, *, n: int, temperature: float, seed: int) -> list[Fills]:
        chance = np.random.default_rng(seed)
        columns = []
        for number in range(len(blanks)):
            pool, weights = self._pool(blanks, number, n, temperature, seed, chance)
            once = chance.choice(pool, size=min(n, len(pool)), replace=False, p=weights).tolist()
            columns.append([once[i % len(once)] for i in range(n)])
        return [tuple(row) for row in zip(*columns, strict=True)]

    def _pool(
        self,
        blanks: Blanks,
        number: int,
        n: int,
        temperature: float,
        seed: int,
        chance: np.random.Generator,
    ) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
        """Phrases for one blank and their weights; only the empty phrase if none was usable."""
        head = blanks.plain[: blanks.positions[number]].rstrip()
        drawn = continue_tokens(
            self.scorer,
            self.scorer.head_tokens([head])[0],
            n=_CANDIDATES + n,
            temperature=temperature,
            seed=seed_for(seed, number),
            length=_TOKENS[is_modifier(blanks, number)],
        )
        closed = neighbours(blanks.parts, number)
        found = {self._cut(text, sample_length(blanks, number, chance)) for text in drawn}
        good = sorted(f for f in found if f and not closed & set(f.casefold().split()))
        if not good:
            return [""], np.ones(1)
        alone = [""] * len(blanks)
        whole = [join(blanks, [*alone[:number], f, *alone[number + 1 :]]) for f in good]
        weights = self._rest([f"{head} {f}".strip() for f in good], whole)
        weights = np.maximum(np.exp(weights - weights.max()), _LEAST)
        return good, weights / weights.sum()

    @staticmethod
    def _cut(text: str, words: int) -> str:
        """The first words of a continuation; "" if they are not a phrase of whole words.

        >>> CausalFiller._cut(" at the office. Then", 3), CausalFiller._cut("s and", 1)
        ('at the office', '')
        """
        if not text.startswith(" "):
            return ""
        phrase: list[str] = []
        pieces = text.split()
        whole = pieces if text[-1:].isspace() else pieces[:-1]
        for piece in whole[:words]:
            bare = piece.rstrip(".,;:!?")
            if not bare.replace("-", "").replace("'", "").isalpha():
                break
            phrase.append(bare)
            if bare != piece:
                break
        while phrase and phrase[-1].casefold() in FUNCTION_WORDS:
            phrase.pop()
        return " ".join(phrase)

    def _rest(self, heads: list[str], whole: list[str]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Log-probability of what follows each head in its whole text."""
        import torch

        from clinometer.models.tokens.word_tokens import encode_all

        tokenizer, device = self.scorer.tokenizer, self.scorer.device
        rows = self.scorer.head_tokens(whole)
        extra = [
            len(row) - len(ids)
            for row, ids in zip(rows, encode_all(tokenizer, whole, special=False), strict=True)
        ]
        begin = [
            e + len(ids)
            for e, ids in zip(extra, encode_all(tokenizer, heads, special=False), strict=True)
        ]
        width = max(map(len, rows))
        ids = torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
        with torch.inference_mode():
            # Tokens never attend to the padding on their right.
            found = self.scorer.model(input_ids=ids).logits.float().log_softmax(dim=-1)
        own = found[:, :-1].gather(-1, ids[:, 1:, None])[..., 0].double().cpu().numpy()
        return np.array(
            [
                own[i, b - 1 : len(row) - 1].sum()
                for i, (row, b) in enumerate(zip(rows, begin, strict=True))
            ]
        )
