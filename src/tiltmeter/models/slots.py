"""Prompts as tokens around one marked slot, ready to be multiplied by numpy.

Masked and permutation models mark the slot with their mask token, sequence-to-sequence models with
a mask or a sentinel. Whole lists of prompts are tokenised at once and sorted by length; everything
after that is arithmetic on arrays, because on a GPU a prompt may cost no more than a few
microseconds of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.errors import ContextError, ModelError
from tiltmeter.models.rows import Ids
from tiltmeter.models.words import continuations, encode_all
from tiltmeter.topics import Prompt


@dataclass(frozen=True)
class Marker:
    """The token that stands for the slot, and the special tokens that close a text after it."""

    token: str
    id: int
    closing: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any, token: str) -> Marker:
        number = int(tokenizer.convert_tokens_to_ids(token))
        alone = encode_all(tokenizer, [token], special=True)[0]
        if number not in alone:
            raise ModelError(
                f"the tokenizer does not recognise its own token {token!r}: use the tokenizer that "
                "the model was trained with"
            )
        return cls(token, number, tuple(alone[alone.index(number) + 1 :]))


@dataclass(frozen=True)
class SlotGroup:
    """Prompts of one length: tokens [n, L] with one marker each, at positions [n]."""

    tokens: Ids
    positions: Ids

    def rows(self, members: NDArray[np.intp], *, places: int, known: Ids) -> Ids:
        """Token rows of some members with the marker `places` times over, the first of them
        replaced by the tokens `known` [n, depth].

        >>> group = SlotGroup(np.array([[1, 9, 2]]), np.array([1]))
        >>> group.rows(np.array([0]), places=3, known=np.array([[5]])).tolist()
        [[1, 5, 9, 9, 2]]
        """
        tokens, at = self.tokens[members], self.positions[members][:, None]
        if places > 1:
            columns = np.arange(tokens.shape[1] + places - 1)
            source = np.where(columns < at, columns, np.maximum(columns - (places - 1), at))
            tokens = np.take_along_axis(tokens, source, axis=1)
        if known.shape[1]:
            np.put_along_axis(tokens, at + np.arange(known.shape[1]), known, axis=1)
        return tokens


@dataclass(frozen=True)
class SlotTexts:
    """P prompts in groups of equal length: where each one is found."""

    groups: tuple[SlotGroup, ...]
    group_of: NDArray[np.intp]
    row_of: NDArray[np.intp]

    @classmethod
    def of(cls, tokenizer: Any, prompts: Sequence[Prompt], marker: Marker) -> SlotTexts:
        """Tokenise prompts with the marker in the slot.

        The marker replaces the word and its space (RoBERTa's mask swallows that space by itself),
        so it follows the text directly. What comes after the slot goes on from a word: some
        tokenizers begin anew behind a special token and would write ▁. instead of a full stop.
        """
        ids = encode_all(
            tokenizer, [f"{p.before}{marker.token}{p.after}" for p in prompts], special=True
        )
        glued = [i for i, p in enumerate(prompts) if p.after and not p.after[0].isspace()]
        if glued:
            texts = sorted({prompts[i].after for i in glued})
            tails = dict(zip(texts, continuations(tokenizer, texts), strict=True))
            for i in glued:
                head = ids[i][: ids[i].index(marker.id) + 1] if marker.id in ids[i] else []
                ids[i] = [*head, *tails[prompts[i].after], *marker.closing]
        lengths = np.fromiter(map(len, ids), dtype=np.intp, count=len(ids))
        sizes, group_of = np.unique(lengths, return_inverse=True)
        row_of = np.empty(len(ids), dtype=np.intp)
        groups = []
        for g in range(len(sizes)):
            members = np.flatnonzero(group_of == g)
            row_of[members] = np.arange(len(members))
            tokens = np.array([ids[i] for i in members], dtype=np.int64)
            marks = tokens == marker.id
            found = marks.sum(axis=1)
            if (found != 1).any():
                bad = int(np.flatnonzero(found != 1)[0])
                raise ContextError(
                    f"prompt {prompts[members[bad]].fill('[Y]')!r}: expected the slot's "
                    f"{marker.token} once among its tokens, found it {found[bad]} times"
                )
            groups.append(SlotGroup(tokens, marks.argmax(axis=1)))
        return cls(tuple(groups), group_of.astype(np.intp), row_of)
