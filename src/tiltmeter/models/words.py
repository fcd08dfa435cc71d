"""How a tokenizer writes the words that may stand in the slot.

Every tokenizer family has its own habit with the space before a word: byte-level BPE glues it on
("Ġhe"), SentencePiece and Unigram mark it ("▁he"), WordPiece forgets it. Asking the tokenizer for
the bare word gets several of them wrong, so the word is written after an anchor and the anchor's
tokens are cut off again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tiltmeter.models.base import WordReport
from tiltmeter.models.trie import Tokens, Trie

_ANCHORS = ("that", "x", "1")


def word_tokens(tokenizer: Any, word: str, *, space: bool) -> Tokens:
    """Token ids of a word as it continues a sentence, with its leading space when `space`."""
    gap = " " if space else ""
    for anchor in _ANCHORS:
        head = _encode(tokenizer, anchor)
        whole = _encode(tokenizer, anchor + gap + word)
        if whole[: len(head)] == head and len(whole) > len(head):
            return tuple(whole[len(head) :])
    # No anchor keeps its own tokens beside this word (scripts without spaces): the word alone, less
    # the mark for a space that some tokenizers put before every text.
    alone = _encode(tokenizer, word)
    if not space and len(alone) > 1 and tokenizer.decode(alone[:1]).strip() == "":
        alone = alone[1:]
    return tuple(alone)


def continuation_tokens(tokenizer: Any, text: str) -> Tokens:
    """Token ids of text that continues a word (" was late", ".")."""
    return word_tokens(tokenizer, text, space=False)


def tokens_that_end_a_word(tokenizer: Any) -> list[int]:
    """Ids of the tokens before which a word is over: spaces, punctuation, control tokens.

    A token that begins with a letter, a digit, an apostrophe, or a byte that may be part of a
    letter continues the word.
    """
    special = set(tokenizer.all_special_ids)
    ids = range(len(tokenizer))
    names = tokenizer.convert_ids_to_tokens(list(ids))
    return [i for i, name in zip(ids, names, strict=True) if i in special or _ends_word(name)]


def _ends_word(token: str | None) -> bool:
    if not token:
        return False
    if token[0] in "Ġ▁Ċ":  # how byte-level BPE and SentencePiece write a space or a new line
        return True
    return ord(token[0]) < 128 and not token[0].isalnum() and token[0] not in "'#<"


def _encode(tokenizer: Any, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


class WordList:
    """The words of a topic under one tokenizer: which can be asked, and their token sequences."""

    def __init__(
        self, tokenizer: Any, words: Sequence[str], *, space: bool, single_token: bool = False
    ) -> None:
        self.words = tuple(words)
        tokens = [word_tokens(tokenizer, w, space=space) for w in words]
        unknown = tokenizer.unk_token_id
        first_with: dict[Tokens, str] = {}
        unwritable, restricted = [], []
        same: dict[str, str] = {}
        asked: list[int] = []
        for i, (word, ids) in enumerate(zip(words, tokens, strict=True)):
            if not ids or (unknown is not None and unknown in ids):
                unwritable.append(word)
            elif ids in first_with:
                same[word] = first_with[ids]
            elif single_token and len(ids) > 1:
                restricted.append(word)
            else:
                first_with[ids] = word
                asked.append(i)
        #: columns of `words` that are asked, and the token sequence of each
        self.columns = tuple(asked)
        self.sequences = tuple(tokens[i] for i in asked)
        self.report = WordReport(
            tokens={
                w: tuple(tokenizer.convert_ids_to_tokens(list(t)))
                for w, t in zip(words, tokens, strict=True)
            },
            unwritable=tuple(unwritable),
            same_tokens=same,
            restricted=tuple(restricted),
            prefixes=self._prefixes(),
        )

    def _prefixes(self) -> dict[str, tuple[str, ...]]:
        """Words whose tokens begin those of other words, with those words."""
        trie = Trie.of(self.sequences)
        word_at = {n: self.words[c] for n, c in zip(trie.terminal, self.columns, strict=True)}
        found: dict[str, tuple[str, ...]] = {}
        for node, word in word_at.items():
            longer = tuple(word_at[n] for n in trie.nearest_terminals_below(node))
            if longer:
                found[word] = longer
        return found
