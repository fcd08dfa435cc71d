"""Texts as flat arrays of tokens: which are scored, which are target, where a word ends.

All texts of a chunk are tokenised in one call and concatenated; everything after that is arithmetic
on arrays, because a benchmark has a hundred thousand versions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import ModelError
from clinometer.models.local.batches import Ids
from clinometer.models.texts.types import MarkedText, TextOptions

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class EncodedTexts:
    """N tokens of T texts.

    ids [N]         token ids
    starts [T + 1]  where each text begins
    special [N]     special tokens around the text
    target [N]      tokens that overlap a target term
    word_end [N]    index of the last token of the same word
    """

    ids: Ids
    starts: Ids
    special: Flags
    target: Flags
    word_end: Ids

    @property
    def lengths(self) -> Ids:
        return np.diff(self.starts)

    @property
    def text_of(self) -> Ids:
        """The text that each token belongs to."""
        return np.repeat(np.arange(len(self.starts) - 1), self.lengths)


def encode_texts(tokenizer: Any, texts: Sequence[MarkedText], options: TextOptions) -> EncodedTexts:
    """Tokenise texts and mark their tokens."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ModelError(
            "scoring whole texts needs a fast tokenizer (tokenizer.json), which reports where each "
            "token is in the text: use the model's fast tokenizer"
        )
    backend.no_truncation()
    backend.no_padding()
    plain = [t.text.lower() if options.lower else t.text for t in texts]
    found = backend.encode_batch(plain, add_special_tokens=options.special_tokens)
    lengths = np.fromiter(map(len, found), dtype=np.int64, count=len(found))
    starts = np.concatenate([[0], np.cumsum(lengths)])
    total = int(starts[-1])
    words = np.fromiter(
        (-1 if w is None else w for w in chain.from_iterable(e.word_ids for e in found)),
        dtype=np.int64,
        count=total,
    )
    text_of = np.repeat(np.arange(len(found)), lengths)
    special = _flat((e.special_tokens_mask for e in found), total) > 0
    target = np.zeros(total, dtype=np.bool_)
    if options.targets != "scored" and any(t.targets for t in texts):
        offsets = np.array(list(chain.from_iterable(e.offsets for e in found)), dtype=np.int64)
        target = _overlapping(offsets.reshape(-1, 2), starts, texts) & ~special
    return EncodedTexts(
        ids=_flat((e.ids for e in found), total),
        starts=starts,
        special=special,
        target=target,
        word_end=_word_ends(words, text_of),
    )


def _flat(lists: Any, total: int) -> Ids:
    return np.fromiter(chain.from_iterable(lists), dtype=np.int64, count=total)


def _word_ends(words: Ids, text_of: Ids) -> Ids:
    """Index of the last token of each token's word; a special token is its own word."""
    n = len(words)
    if not n:
        return np.empty(0, dtype=np.int64)
    ends = np.ones(n, dtype=np.bool_)
    ends[:-1] = (words[1:] != words[:-1]) | (text_of[1:] != text_of[:-1]) | (words[:-1] < 0)
    places = np.flatnonzero(ends)
    return np.asarray(places[np.concatenate([[0], np.cumsum(ends)[:-1]])])


def _overlapping(offsets: Ids, starts: Ids, texts: Sequence[MarkedText]) -> Flags:
    """Tokens that share a character with one of their text's target spans."""
    spans = [(i, a, b) for i, text in enumerate(texts) for a, b in text.targets]
    found = np.zeros(len(offsets), dtype=np.bool_)
    for i, a, b in spans:
        here = slice(int(starts[i]), int(starts[i + 1]))
        found[here] |= (offsets[here, 0] < b) & (offsets[here, 1] > a)
    return found
