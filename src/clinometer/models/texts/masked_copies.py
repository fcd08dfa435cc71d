"""Masked copies of texts: one row per scored token, without duplicates.

Two versions of a sentence that differ in one word give the same row when that word is hidden, so
the copies of all texts are pooled by length and each distinct one is computed once, however many
tokens are read from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clinometer.models.local.batches import Batch, Ids
from clinometer.models.texts.types import TextOptions
from clinometer.models.tokens.flat_texts import EncodedTexts

#: Tokens of rows in memory at a time, for any length of text.
_HELD = 1 << 22


@dataclass(frozen=True)
class Copies:
    """Distinct masked rows of one length, and which scored token is read where.

    batch          the rows, with the tokens to read from each
    scored [S]     the scored tokens, as indices into the encoded texts
    row, column    position of each one's log-probability in the batch's answers
    """

    batch: Batch
    scored: Ids
    row: Ids
    column: Ids


def scored_tokens(texts: EncodedTexts, options: TextOptions) -> Ids:
    """Indices of the tokens whose log-probabilities are summed."""
    if options.targets == "scored":
        return np.flatnonzero(~texts.special)
    return np.flatnonzero(~texts.special & ~texts.target)


def masked_copies(
    texts: EncodedTexts, scored: Ids, options: TextOptions, mask_id: int
) -> Iterator[Copies]:
    """The masked copies for all scored tokens, longest rows first.

    The longest come first, so that running out of memory shows at once.
    """
    ids = np.where(texts.target, mask_id, texts.ids) if options.targets == "masked" else texts.ids
    text_of = texts.text_of[scored]
    lengths = texts.lengths[text_of]
    last = texts.word_end[scored] if options.masking == "within_word_l2r" else scored
    for length in np.unique(lengths)[::-1].tolist():
        members = np.flatnonzero(lengths == length)
        step = max(1, _HELD // length)
        for some in np.split(members, range(step, len(members), step)):
            begin = texts.starts[text_of[some]]
            columns = np.arange(length)
            rows = ids[begin[:, None] + columns]
            first = scored[some] - begin
            hidden = (columns >= first[:, None]) & (columns <= (last[some] - begin)[:, None])
            rows[hidden] = mask_id
            yield _distinct(rows, first, texts.ids[scored[some]], scored[some])


def _distinct(rows: Ids, positions: Ids, tokens: Ids, scored: Ids) -> Copies:
    keep, row = _first_of_each(np.column_stack([rows, positions]))
    order = np.argsort(row, kind="stable")
    counts = np.bincount(row)
    begins = np.concatenate([[0], np.cumsum(counts)[:-1]])
    column = np.empty_like(row)
    column[order] = np.arange(len(row)) - np.repeat(begins, counts)
    wants = np.repeat(tokens[keep][:, None], counts.max(), axis=1)
    wants[row, column] = tokens
    batch = Batch(
        tokens=rows[keep], positions=positions[keep], wants=wants, which=np.arange(len(keep))
    )
    return Copies(batch, scored, row, column)


def _first_of_each(table: Ids) -> tuple[Ids, Ids]:
    """(index of the first of each distinct row, which distinct row each row is).

    Rows are distinguished by a 64-bit fingerprint, and compared in full afterwards.

    >>> keep, row = _first_of_each(np.array([[1, 2], [3, 4], [1, 2]]))
    >>> keep.tolist(), row.tolist()
    ([0, 1], [0, 1, 0])
    """
    draw = np.random.default_rng(0).integers(1, 1 << 62, size=table.shape[1], dtype=np.int64)
    print_of = (table.astype(np.uint64) * (2 * draw + 1).astype(np.uint64)).sum(axis=1)
    _, keep, row = np.unique(print_of, return_index=True, return_inverse=True)
    if not np.array_equal(table[keep][row], table):
        _, keep, row = np.unique(table, axis=0, return_index=True, return_inverse=True)
    # In the order of appearance, so that the order of texts alone decides the order of rows.
    rank = np.argsort(np.argsort(keep))
    return np.sort(keep), rank[row.reshape(-1)]
