"""Blanks filled by a masked model: each is replaced by masks, which are sampled one by one.

Only tokens that begin a word are sampled, from the most probable ones that make up three quarters
of the probability: the tail of a small model is noise. A small vocabulary has tokens that begin a
word and are not words themselves, so this is not the default filler.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clinometer.reliability.blank_notation import Blanks
from clinometer.reliability.variants.filling import FUNCTION_WORDS, Fills, neighbours, sample_length

if TYPE_CHECKING:
    from clinometer.models.local.masked import MaskedScorer

_NUCLEUS = 0.75
#: Prefixes by which tokenizers mark the start of a word.
_SPACES = ("Ġ", "▁")


class MaskedFiller:
    """A masked model (`pocket:bert`)."""

    def __init__(self, scorer: MaskedScorer) -> None:
        self.scorer, self.info = scorer, scorer.info
        self.words = _words(scorer.tokenizer)
        size = scorer.model.get_input_embeddings().num_embeddings
        self._may_stand = np.zeros(size, dtype=np.bool_)
        self._may_stand[list(self.words)] = True
        self._may_end = self._may_stand.copy()
        self._may_end[[i for i, w in self.words.items() if w in FUNCTION_WORDS]] = False

    def fill(self, blanks: Blanks, *, n: int, temperature: float, seed: int) -> list[Fills]:
        chance = np.random.default_rng(seed)
        lengths = [[sample_length(blanks, b, chance) for b in range(len(blanks))] for _ in range(n)]
        mask = self.scorer.tokenizer.mask_token
        texts = [blanks.fill([" ".join([mask] * m) for m in row]) for row in lengths]
        ids = [self.scorer.tokenizer.encode(text) for text in texts]
        closed = [self._ids_of(neighbours(blanks.parts, b)) for b in range(len(blanks))]
        drawn: list[list[list[int]]] = [[[] for _ in range(len(blanks))] for _ in range(n)]
        for _ in range(max(map(sum, lengths), default=0)):
            waiting = [i for i in range(n) if self._mask_id in ids[i]]
            logits = self._logits([ids[i] for i in waiting])
            for row, i in enumerate(waiting):
                place = ids[i].index(self._mask_id)
                blank = next(b for b, m in enumerate(lengths[i]) if len(drawn[i][b]) < m)
                last = len(drawn[i][blank]) + 1 == lengths[i][blank]
                allowed = (self._may_end if last else self._may_stand).copy()
                allowed[[*closed[blank], *drawn[i][blank]]] = False
                token = _nucleus(logits[row][place], allowed, temperature, chance)
                ids[i][place] = token
                drawn[i][blank].append(token)
        return [tuple(" ".join(self.words[t] for t in tokens) for tokens in row) for row in drawn]

    @property
    def _mask_id(self) -> int:
        return int(self.scorer.tokenizer.mask_token_id)

    def _ids_of(self, words: frozenset[str]) -> list[int]:
        return [i for i, word in self.words.items() if word.casefold() in words]

    def _logits(self, rows: list[list[int]]) -> list[np.ndarray[Any, np.dtype[np.float64]]]:
        """Logits of every position of every row; rows are padded, and the padding is masked."""
        import torch

        tokenizer, width = self.scorer.tokenizer, max(map(len, rows))
        pad = tokenizer.pad_token_id or 0
        ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
        seen = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        with torch.inference_mode():
            found = self.scorer.model(
                input_ids=ids.to(self.scorer.device), attention_mask=seen.to(self.scorer.device)
            ).logits
        return [np.asarray(r, dtype=np.float64) for r in found.float().cpu().numpy()]


def _nucleus(
    logits: np.ndarray[Any, np.dtype[np.float64]],
    allowed: np.ndarray[Any, np.dtype[np.bool_]],
    temperature: float,
    chance: np.random.Generator,
) -> int:
    """Sample one of the tokens that make up most of the probability, at a temperature."""
    logits = np.where(allowed[: len(logits)], logits, -np.inf) / temperature
    p = np.exp(logits - logits.max())
    p /= p.sum()
    order = np.argsort(-p)
    kept = order[: 1 + int(np.searchsorted(np.cumsum(p[order]), _NUCLEUS))]
    return int(chance.choice(kept, p=p[kept] / p[kept].sum()))


def _words(tokenizer: Any) -> dict[int, str]:
    """Tokens that are whole words of letters, in the form that follows a space."""
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    marked = any(t.startswith(_SPACES) for t in vocabulary)
    special = set(tokenizer.all_special_ids)
    found = {}
    for token, number in vocabulary.items():
        word = token[1:] if token.startswith(_SPACES) else token
        begins = token.startswith(_SPACES) if marked else not token.startswith("##")
        long_enough = len(word) > 1 or word.casefold() in ("a", "i")
        if begins and word.isascii() and word.isalpha() and long_enough and number not in special:
            found[number] = word
    return found
