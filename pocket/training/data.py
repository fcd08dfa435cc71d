"""Text as one flat array of tokens on the device, and batches gathered from it by index."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import NamedTuple

import numpy as np
import torch
from transformers import PreTrainedTokenizerFast

from .text import sentences

MIN_SENTENCE = 4
WIDEST = 512


@dataclass(frozen=True)
class Rows:
    """A batch without special tokens: tokens of shape (rows, width), and how many are real."""

    tokens: torch.Tensor
    lengths: torch.Tensor
    whole: torch.Tensor
    """Whether a row ends where its sentence ends."""
    full: bool
    """Whether every row fills the width, so that nothing is padding."""


@dataclass(frozen=True)
class Stream:
    """All tokens in order, with the place and length of every sentence.

    Documents are joined by a separator token. `starts` are the places in `tokens` where a sentence
    begins and at least WIDEST tokens follow. `bare` is the same text
    with every sentence written as if it stood alone; where a tokenizer does not mark a word's
    leading space that is `tokens` itself.
    """

    tokens: torch.Tensor
    starts: torch.Tensor
    bare: torch.Tensor
    bare_starts: torch.Tensor
    bare_lengths: torch.Tensor

    def long_rows(self, count: int, width: int, generator: torch.Generator) -> Rows:
        """Windows of `width` tokens that begin where a random sentence begins."""
        pick = torch.randint(
            len(self.starts), (count,), generator=generator, device=self.device
        )
        return self._window(self.starts[pick], width)

    def short_rows(self, count: int, width: int, generator: torch.Generator) -> Rows:
        """Random single sentences of at most `width` tokens, half of them cut at random."""
        pick = torch.randint(
            len(self.bare_starts), (count,), generator=generator, device=self.device
        )
        cut = torch.randint(
            MIN_SENTENCE, width + 1, (count,), generator=generator, device=self.device
        )
        cut = torch.where(torch.arange(count, device=self.device) % 2 == 0, width, cut)
        return self._sentence(pick, cut, width)

    def windows(self, count: int, width: int) -> Iterator[Rows]:
        """Every window once, in order, side by side: for the held-out loss."""
        offsets = torch.arange(
            0, len(self.tokens) - width + 1, width, device=self.device
        )
        for part in offsets.split(count):
            yield self._window(part, width)

    def whole_sentences(self, count: int, width: int) -> Iterator[Rows]:
        """Every sentence once, in order, cut at `width`: for the held-out loss."""
        for pick in torch.arange(len(self.bare_starts), device=self.device).split(
            count
        ):
            yield self._sentence(pick, torch.full_like(pick, width), width)

    @property
    def device(self) -> torch.device:
        """Where the tokens lie."""
        return self.tokens.device

    def _window(self, offsets: torch.Tensor, width: int) -> Rows:
        index = offsets[:, None] + torch.arange(width, device=self.device)
        lengths = torch.full_like(offsets, width)
        no = torch.zeros_like(offsets, dtype=torch.bool)
        return Rows(self.tokens[index].long(), lengths, whole=no, full=True)

    def _sentence(self, pick: torch.Tensor, cut: torch.Tensor, width: int) -> Rows:
        lengths = torch.minimum(self.bare_lengths[pick], cut)
        index = self.bare_starts[pick][:, None] + torch.arange(
            width, device=self.device
        )
        tokens = self.bare[index.clamp_(max=len(self.bare) - 1)].long()
        whole = lengths == self.bare_lengths[pick]
        return Rows(tokens, lengths, whole=whole, full=False)


def encode(
    documents: Sequence[str],
    tokenizer: PreTrainedTokenizerFast,
    *,
    separator: int,
    spaced: bool,
    device: torch.device,
) -> Stream:
    """Tokenize documents sentence by sentence into a Stream on `device`.

    `spaced` is for tokenizers in which a word within a text differs from the same word at its
    beginning (byte-level BPE): running text then gets its spaces and line ends.
    """
    work = partial(
        _encode_part, tokenizer=tokenizer, separator=separator, spaced=spaced
    )
    workers = min(os.cpu_count() or 1, 1 + len(documents) // 500)
    size = -(-len(documents) // workers)
    parts = [documents[i : i + size] for i in range(0, len(documents), size)]
    if workers == 1:
        encoded = [work(documents)]
    else:
        with ProcessPoolExecutor(workers, mp_context=get_context("fork")) as pool:
            encoded = list(pool.map(work, parts))
    running = _join([part[0] for part in encoded])
    alone = _join([part[1] for part in encoded]) if spaced else running
    useful = alone.lengths >= MIN_SENTENCE
    starts = running.starts[running.starts + WIDEST <= len(running.tokens)]

    def place(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(device)

    tokens = place(running.tokens.astype(np.int32))
    return Stream(
        tokens=tokens,
        starts=place(starts if len(starts) else np.zeros(1, dtype=np.int64)),
        bare=place(alone.tokens.astype(np.int32)) if spaced else tokens,
        bare_starts=place(alone.starts[useful]),
        bare_lengths=place(alone.lengths[useful]),
    )


def frequency_loss(train: torch.Tensor, held_out: torch.Tensor, *, words: int) -> float:
    """Loss in nats a token of guessing by frequency alone: what a model must beat to know anything.

    Frequencies are those of the tokens of `train`, with one added to each count.

    >>> train, held_out = torch.tensor([0, 0, 1]), torch.tensor([0, 1])
    >>> round(frequency_loss(train, held_out, words=3), 4)  # -(log 3/6 + log 2/6) / 2
    0.8959
    """
    counts = torch.bincount(train, minlength=words).double() + 1.0
    return float(-(counts / counts.sum()).log()[held_out.long()].mean())


class _Flat(NamedTuple):
    """Tokens of many sentences in one array, and the start and length of each sentence."""

    tokens: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray


def _encode_part(
    documents: Sequence[str],
    *,
    tokenizer: PreTrainedTokenizerFast,
    separator: int,
    spaced: bool,
) -> tuple[_Flat, _Flat | None]:
    """Tokenize some documents, as running text and, if that differs, sentence by sentence."""
    pieces, firsts = _pieces(documents, spaced=spaced)
    running = _flatten(pieces, tokenizer, firsts=firsts, separator=separator)
    if not spaced:
        return running, None
    bare = [piece.lstrip() for piece in pieces]
    return running, _flatten(bare, tokenizer, firsts=firsts, separator=separator)


def _join(parts: Sequence[_Flat]) -> _Flat:
    """One array of several, with the starts moved along."""
    ends = np.cumsum([0, *(len(part.tokens) for part in parts)])
    return _Flat(
        tokens=np.concatenate([part.tokens for part in parts]),
        starts=np.concatenate(
            [p.starts + end for p, end in zip(parts, ends, strict=False)]
        ),
        lengths=np.concatenate([part.lengths for part in parts]),
    )


def _pieces(documents: Sequence[str], *, spaced: bool) -> tuple[list[str], np.ndarray]:
    """Sentences of all documents, and the index of each document's first one."""
    pieces: list[str] = []
    firsts: list[int] = []
    for document in documents:
        firsts.append(len(pieces))
        for number, paragraph in enumerate(document.split("\n")):
            for place, sentence in enumerate(sentences(paragraph)):
                lead = " " if place else "\n" if number else ""
                pieces.append(lead + sentence if spaced else sentence)
    return pieces, np.asarray(firsts, dtype=np.int64)


def _flatten(
    pieces: list[str],
    tokenizer: PreTrainedTokenizerFast,
    *,
    firsts: np.ndarray,
    separator: int,
) -> _Flat:
    """Tokens of all pieces, with a separator before each document."""
    encodings = tokenizer.backend_tokenizer.encode_batch_fast(
        pieces, add_special_tokens=False
    )
    ids = [np.asarray(encoding.ids, dtype=np.uint16) for encoding in encodings]
    lengths = np.asarray([len(piece) for piece in ids], dtype=np.int64)
    flat = np.concatenate(ids)
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    tokens = np.insert(flat, starts[firsts], separator)
    documents_so_far = np.searchsorted(firsts, np.arange(len(ids)), side="right")
    return _Flat(tokens, starts + documents_so_far, lengths)
