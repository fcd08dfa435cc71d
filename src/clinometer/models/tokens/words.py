"""How tokenizers write the words that may fill a slot.

Tokenizer families treat the space before a word differently: byte-level BPE attaches it ("Ġhe"),
SentencePiece and Unigram mark it ("▁he"), WordPiece drops it and marks continuations instead
("##he"). Tokenising the bare word gets several of them wrong, so the word is written after an
anchor, and the anchor's tokens are removed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from copy import copy
from typing import Any

from clinometer.models.protocol import WordReport
from clinometer.models.tokens.trie import Tokens, Trie
from clinometer.statistics.arrays import FloatArray

_LETTERS = ("that", "x", "1")
"""Anchors for a word after a space, and for text that continues a word."""

_SIGNS = ('"', "(", "。", "1", "x")
"""Anchors for a word without a space: characters that no tokenizer merges into the word."""

_AT_ONCE = 512
"""Texts tokenised in one call: what the library returns for many leaves the processor's caches
before it is read, which then takes six times as long."""

_ENCODING = threading.Lock()
"""Tokenizers of some versions refuse two threads at once."""


def word_tokens(
    tokenizer: Any, word: str, *, space: bool, opening: bool = False
) -> Tokens:
    """Return the token ids of a word as it stands in a sentence.

    With its leading space if `space`; directly after another character if not (an opening quote,
    Chinese); as the text's first word if `opening`.
    """
    if opening:
        return tuple(_encode(tokenizer, word))
    if space:
        return _after_anchor(tokenizer, " " + word, _LETTERS, bare=word)
    return _after_anchor(tokenizer, word, _SIGNS, bare=word)


def continuations(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Return the token ids of texts that continue a word (" was late", ".", "'s"); all in one call
    where the first anchor works."""
    anchor = _LETTERS[0]
    head = _encode(tokenizer, anchor)
    is_anchor_known = tokenizer.unk_token_id not in head
    together = encode_all(tokenizer, [anchor + text for text in texts], special=False)
    tokens: list[Tokens] = []
    for text, token_ids in zip(texts, together, strict=True):
        if is_anchor_known and _continues(token_ids, head):
            tokens.append(tuple(token_ids[len(head) :]))
        else:
            tokens.append(_after_anchor(tokenizer, text, _LETTERS, bare=text))
    return tokens


def _continues(token_ids: list[int], head: list[int]) -> bool:
    """Return whether tokens begin with those of a head, and go on."""
    return len(token_ids) > len(head) and token_ids[: len(head)] == head


def _after_anchor(
    tokenizer: Any, text: str, anchors: Sequence[str], *, bare: str
) -> Tokens:
    """Return the tokens of a text behind the first anchor that keeps its own tokens before it; of
    the `bare` text where none does."""
    for anchor in anchors:
        head = _encode(tokenizer, anchor)
        if tokenizer.unk_token_id in head:
            continue  # an unknown sign can swallow an unknown character of the word
        token_ids = _encode(tokenizer, anchor + text)
        if _continues(token_ids, head):
            return tuple(token_ids[len(head) :])
    token_ids = _encode(tokenizer, bare)
    if text[:1].isspace() or len(token_ids) < 2:
        return tuple(token_ids)
    # Some tokenizers put a space marker before every text: it is not the word's.
    begins_with_space = tokenizer.decode(token_ids[:1]).strip() == ""
    return tuple(token_ids[1:] if begins_with_space else token_ids)


def encode_all(
    tokenizer: Any, texts: Sequence[str], *, special: bool
) -> list[list[int]]:
    """Return the token ids of many texts.

    Fast tokenizers are called below the library's wrapper, which costs several times the
    tokenising itself for short texts.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        encoded = tokenizer(list(texts), add_special_tokens=special)
        return [list(token_ids) for token_ids in encoded["input_ids"]]
    encode = getattr(backend, "encode_batch_fast", backend.encode_batch)
    rows: list[list[int]] = []
    with _ENCODING:
        backend.no_truncation()
        backend.no_padding()
        for start in range(0, len(texts), _AT_ONCE):
            some = list(texts[start : start + _AT_ONCE])
            encodings = encode(some, add_special_tokens=special)
            rows += [encoding.ids for encoding in encodings]
    return rows


def _encode(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


class WordList:
    """The words of a topic under one tokenizer: which can be scored, and their token sequences."""

    columns: tuple[int, ...]
    """The columns of the words that are scored."""

    sequences: tuple[Tokens, ...]
    """The tokens of each word that is scored."""

    counts: FloatArray | None
    """How much each scored word counts for each category [columns, Y], where that is known."""

    report: WordReport
    """What became of each word."""

    def __init__(
        self,
        tokenizer: Any,
        words: Sequence[str],
        *,
        space: bool,
        opening: bool = False,
        single_token: bool = False,
    ) -> None:
        tokens = [
            word_tokens(tokenizer, word, space=space, opening=opening) for word in words
        ]
        unknown = tokenizer.unk_token_id
        word_of_tokens: dict[Tokens, str] = {}
        same_tokens: dict[str, str] = {}
        unwritable: list[str] = []
        restricted: list[str] = []
        columns: list[int] = []
        for column, word in enumerate(words):
            token_ids = tokens[column]
            if not token_ids or (unknown is not None and unknown in token_ids):
                unwritable.append(word)
            elif token_ids in word_of_tokens:
                same_tokens[word] = word_of_tokens[token_ids]
            elif single_token and len(token_ids) > 1:
                restricted.append(word)
            else:
                word_of_tokens[token_ids] = word
                columns.append(column)
        self.counts = None
        self.columns = tuple(columns)
        self.sequences = tuple(tokens[column] for column in columns)
        pieces = {}
        for word, token_ids in zip(words, tokens, strict=True):
            pieces[word] = tuple(tokenizer.convert_ids_to_tokens(list(token_ids)))
        self.report = WordReport(
            tokens=pieces,
            unwritable=tuple(unwritable),
            same_tokens=same_tokens,
            restricted=tuple(restricted),
            prefixes=self._prefixes(words),
        )

    def _prefixes(self, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
        """Return the scored words that begin others, with the nearest of these."""
        trie = Trie.of(self.sequences)
        word_of_node = {
            node: words[column]
            for node, column in zip(trie.terminal, self.columns, strict=True)
        }
        prefixes = {}
        for node, word in word_of_node.items():
            longer = tuple(word_of_node[below] for below in trie.longer[node])
            if longer:
                prefixes[word] = longer
        return prefixes

    def counted(self, counts: FloatArray | None) -> WordList:
        """Return the same words, with what each of all of them counts for [V, Y]."""
        if counts is None:
            return self
        words = copy(self)
        words.counts = counts[list(self.columns)]
        return words
