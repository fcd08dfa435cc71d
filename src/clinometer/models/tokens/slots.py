"""Prompts as arrays of tokens around one marked slot.

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
from clinometer.models.tokens.words import continuations, encode_all
from clinometer.statistics.arrays import IntArray
from clinometer.topics import Prompt

_SLICE = 4_096
"""Prompts tokenised at a time: enough for all cores, few enough that a GPU starts soon."""


@dataclass(frozen=True)
class Marker:
    """The token that stands for the slot, and the special tokens that close a text after it."""

    token: str
    id: int
    closing: tuple[int, ...]

    @classmethod
    def of(cls, tokenizer: Any, token: str) -> Marker:
        token_id = int(tokenizer.convert_tokens_to_ids(token))
        text = encode_all(tokenizer, [token], special=True)[0]
        if token_id not in text:
            raise ModelError(
                f"the tokenizer does not recognise its own token {token!r}: use the tokenizer that "
                "the model was trained with"
            )
        return cls(token, token_id, tuple(text[text.index(token_id) + 1 :]))


@dataclass(frozen=True)
class SlotGroup:
    """Prompts of one length, with one marker each."""

    tokens: IntArray
    """Token rows [n, L]."""

    positions: IntArray
    """The position of the marker in each row [n]."""

    members: IntArray
    """The indices of the prompts in the original list [n]."""

    def __len__(self) -> int:
        return len(self.members)

    def take(self, rows: slice) -> SlotGroup:
        """Return the group of some of the rows."""
        return SlotGroup(self.tokens[rows], self.positions[rows], self.members[rows])

    def joined(self, other: SlotGroup) -> SlotGroup:
        """Return this group's rows and another's of the same length."""
        return SlotGroup(
            np.concatenate([self.tokens, other.tokens]),
            np.concatenate([self.positions, other.positions]),
            np.concatenate([self.members, other.members]),
        )

    def filled(self, rows: IntArray, *, places: int, prefixes: IntArray) -> IntArray:
        """Return token rows with the marker `places` times over, the first of them replaced by the
        tokens `prefixes` [n, depth].

        >>> group = SlotGroup(np.array([[1, 9, 2]]), np.array([1]), np.array([0]))
        >>> group.filled(np.array([0]), places=3, prefixes=np.array([[5]])).tolist()
        [[1, 5, 9, 9, 2]]
        """
        tokens = self.tokens[rows]
        slot = self.positions[rows][:, None]
        if places > 1:
            added = places - 1
            columns = np.arange(tokens.shape[1] + added)
            from_slot_on = np.maximum(columns - added, slot)
            source = np.where(columns < slot, columns, from_slot_on)
            tokens = np.take_along_axis(tokens, source, axis=1)
        depth = prefixes.shape[1]
        if depth:
            np.put_along_axis(tokens, slot + np.arange(depth), prefixes, axis=1)
        return tokens


def slot_groups(
    tokenizer: Any, prompts: Sequence[Prompt], marker: Marker, *, size: int
) -> Iterator[SlotGroup]:
    """Yield prompts with the marker in the slot, collected by length.

    A group is yielded as soon as it has `size` rows, the others at the end: a model then gets full
    batches however much the lengths vary.
    """
    waiting: dict[int, SlotGroup] = {}
    for start in range(0, len(prompts), _SLICE):
        some = prompts[start : start + _SLICE]
        token_ids = _around_marker(tokenizer, some, marker)
        lengths = np.fromiter(map(len, token_ids), dtype=np.intp, count=len(token_ids))
        for length in np.unique(lengths).tolist():
            rows = np.flatnonzero(lengths == length)
            tokens = np.array([token_ids[row] for row in rows.tolist()], dtype=np.int64)
            positions = _marked_positions(tokens, marker, prompts, rows + start)
            group = SlotGroup(tokens, positions, rows + start)
            if length in waiting:
                group = waiting.pop(length).joined(group)
            n_full = len(group) - len(group) % size
            for first in range(0, n_full, size):
                yield group.take(slice(first, first + size))
            if n_full < len(group):
                waiting[length] = group.take(slice(n_full, None))
        if start == 0 and set(waiting) == set(lengths.tolist()):
            # None is full yet: yield the most frequent length at once, so that work can start.
            yield waiting.pop(int(np.bincount(lengths).argmax()))
    for length in sorted(waiting):
        yield waiting[length]


def _marked_positions(
    tokens: IntArray, marker: Marker, prompts: Sequence[Prompt], members: IntArray
) -> IntArray:
    """Return where the marker stands in each row [n]; refuse a row that has not exactly one."""
    is_marker = tokens == marker.id
    n_markers = is_marker.sum(axis=1)
    wrong = np.flatnonzero(n_markers != 1)
    if len(wrong):
        row = int(wrong[0])
        raise ContextError(
            f"prompt {prompts[members[row]].fill('[Y]')!r}: expected the slot's "
            f"{marker.token} once among its tokens, found it {n_markers[row]} times"
        )
    return np.asarray(is_marker.argmax(axis=1))


def _around_marker(
    tokenizer: Any, prompts: Sequence[Prompt], marker: Marker
) -> list[list[int]]:
    """Return the token ids of each prompt.

    The marker replaces the word and its space (RoBERTa's mask swallows that space by itself), so it
    follows the text directly. The text after the slot continues a word: some tokenizers treat what
    follows a special token as the start of a text and would write ▁. instead of a full stop.
    """
    texts = [f"{prompt.before}{marker.token}{prompt.after}" for prompt in prompts]
    rows = encode_all(tokenizer, texts, special=True)
    glued = [
        row
        for row, prompt in enumerate(prompts)
        if prompt.after and not prompt.after[0].isspace()
    ]
    if not glued:
        return rows
    afters = sorted({prompts[row].after for row in glued})
    tails = dict(zip(afters, continuations(tokenizer, afters), strict=True))
    for row in glued:
        token_ids = rows[row]
        head = []
        if marker.id in token_ids:
            head = token_ids[: token_ids.index(marker.id) + 1]
        rows[row] = [*head, *tails[prompts[row].after], *marker.closing]
    return rows
