"""Prompts as token arrays around one marked slot.

Masked and permutation models mark the slot with their mask token, sequence-to-sequence models with
a mask or a sentinel. Prompts are tokenised many at a time and collected by length; everything after
that is arithmetic on arrays, because on a GPU a prompt may cost no more than a few microseconds of
Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinometer.errors import ContextError, ModelError
from clinometer.models.tokens.word_tokens import continuations, encode_all
from clinometer.statistics.arrays import IntArray
from clinometer.topics import Prompt

#: Prompts tokenised at a time: enough for all cores, few enough that a GPU starts soon.
_SLICE = 4_096


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
    """Prompts of one length: tokens [n, L] with one marker each, at positions [n].

    `members` [n] are their indices in the original list.
    """

    tokens: IntArray
    positions: IntArray
    members: IntArray

    def __len__(self) -> int:
        return len(self.members)

    def part(self, start: int, stop: int) -> SlotGroup:
        """Some of the rows."""
        rows = slice(start, stop)
        return SlotGroup(self.tokens[rows], self.positions[rows], self.members[rows])

    def filled(self, rows: IntArray, *, places: int, known: IntArray) -> IntArray:
        """Token rows with the marker `places` times over, the first of them
        replaced by the tokens `known` [n, depth].

        >>> group = SlotGroup(np.array([[1, 9, 2]]), np.array([1]), np.array([0]))
        >>> group.filled(np.array([0]), places=3, known=np.array([[5]])).tolist()
        [[1, 5, 9, 9, 2]]
        """
        tokens, at = self.tokens[rows], self.positions[rows][:, None]
        if places > 1:
            columns = np.arange(tokens.shape[1] + places - 1)
            source = np.where(columns < at, columns, np.maximum(columns - (places - 1), at))
            tokens = np.take_along_axis(tokens, source, axis=1)
        if known.shape[1]:
            np.put_along_axis(tokens, at + np.arange(known.shape[1]), known, axis=1)
        return tokens


def slot_groups(
    tokenizer: Any, prompts: Sequence[Prompt], marker: Marker, *, size: int
) -> Iterator[SlotGroup]:
    """Prompts with the marker in the slot, collected by length.

    A group is yielded as soon as it has `size` rows, the others at the end: a model then gets full
    batches however much the lengths vary.
    """
    waiting: dict[int, list[tuple[IntArray, IntArray]]] = {}
    for start in range(0, len(prompts), _SLICE):
        ids = _around_marker(tokenizer, prompts[start : start + _SLICE], marker)
        lengths = np.fromiter(map(len, ids), dtype=np.intp, count=len(ids))
        for length in np.unique(lengths).tolist():
            members = np.flatnonzero(lengths == length)
            tokens = np.array([ids[i] for i in members.tolist()], dtype=np.int64)
            pieces = waiting.setdefault(length, [])
            pieces.append((tokens, members + start))
            if sum(len(m) for _, m in pieces) >= size:
                group = _group(waiting.pop(length), prompts, marker)
                while len(group) >= size:
                    yield group.part(0, size)
                    group = group.part(size, len(group))
                if len(group):
                    waiting[length] = [(group.tokens, group.members)]
        if start == 0 and set(waiting) == set(lengths.tolist()):
            # None is full yet: yield the most frequent length at once, so that work can start.
            yield _group(waiting.pop(int(np.bincount(lengths).argmax())), prompts, marker)
    for length in sorted(waiting):
        yield _group(waiting[length], prompts, marker)


def _around_marker(tokenizer: Any, prompts: Sequence[Prompt], marker: Marker) -> list[list[int]]:
    """Token ids of each prompt.

    The marker replaces the word and its space (RoBERTa's mask swallows that space by itself), so it
    follows the text directly. The text after the slot continues a word: some tokenizers treat what
    follows a special token as the start of a text and would write ▁. instead of a full stop.
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
    return ids


def _group(
    pieces: Sequence[tuple[IntArray, IntArray]], prompts: Sequence[Prompt], marker: Marker
) -> SlotGroup:
    tokens = np.concatenate([t for t, _ in pieces])
    members = np.concatenate([m for _, m in pieces])
    marks = tokens == marker.id
    found = marks.sum(axis=1)
    if (found != 1).any():
        bad = int(np.flatnonzero(found != 1)[0])
        raise ContextError(
            f"prompt {prompts[members[bad]].fill('[Y]')!r}: expected the slot's {marker.token} "
            f"once among its tokens, found it {found[bad]} times"
        )
    return SlotGroup(tokens, marks.argmax(axis=1), members)
