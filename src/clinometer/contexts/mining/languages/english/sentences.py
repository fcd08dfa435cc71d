"""Sentences of a raw text, without a parser: where they end, and what is cleaned from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from clinometer.contexts.mining.languages.automaton import WordAutomaton

LONGEST = 400
"""Characters of a sentence; longer ones are rarely parsed correctly."""

SHORTEST = 4
"""Words of a sentence."""

_END = re.compile(
    r"[.!?…](?:\s?»|[\"”’')\]])*\s+(?=(?:[\"“‘'(\[]|[«–—]\s?)?[A-Z0-9À-ÖØ-Þ])|\n\s*\n|\n(?=\S)"
)
_ABBREVIATIONS = frozenset(
    "mr mrs ms dr st jr sr prof rev gen col lt sgt capt hon gov sen rep vs no nos vol pp ca c cf "
    "al etc e.g i.e u.s u.k d.c inc ltd co corp bros mt ft fr approx b d jan feb mar apr aug sept "
    "oct nov dec messrs op".split()
)
_SPEAKER = re.compile(r"^(?:[A-Z]\.\d+|@@?[A-Z]\d*):?\s*")
_NOISE = re.compile(r"<[^<>]{0,200}>|\[\[|\]\]|\{\{|\}\}|--+|\s-\s*$|\[\s*\d+\s*\]")
_FILLER = re.compile(
    r",?\s*\b(?:uh|um|uh-huh|you know|I mean)\b,?(?=\s|$)", re.IGNORECASE
)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every sentence; a full stop after an abbreviation ends none.

    >>> text = "Dr. Smith left. He said no."
    >>> [text[a:b] for a, b in sentences(text)]
    ['Dr. Smith left.', 'He said no.']
    """
    begin = 0
    for match in _END.finditer(text):
        mark = text[match.start()]
        if mark == "." and _is_abbreviation(text, match.start()):
            continue
        end = match.start() if mark == "\n" else match.end()
        if text[begin:end].strip():
            yield begin, begin + len(text[begin:end].rstrip())
        begin = match.end()
    if text[begin:].strip():
        yield begin, begin + len(text[begin:].rstrip())


def _is_abbreviation(text: str, dot: int) -> bool:
    """Return whether the word before a full stop is an abbreviation or an initial."""
    start = dot
    while start and (text[start - 1].isalnum() or text[start - 1] == "."):
        start -= 1
    word = text[start:dot]
    is_initial = len(word) == 1 and word.isupper()
    return is_initial or word.lower() in _ABBREVIATIONS


def clean(sentence: str) -> str:
    """Return one line, without mark-up and without fillers and speaker names of transcripts.

    >>> clean("B.42: Well, uh, he thought <laughter> of it.")
    'Well he thought of it.'
    """
    text = _SPEAKER.sub("", sentence)
    text = _FILLER.sub("", _NOISE.sub(" ", text))
    return " ".join(text.split())


class SentenceFinder:
    """A finder of the sentences with one of some words in a usable position, unparsed.

    `is_usable(sentence, position, word)` says which positions these are. Without a parser it is
    cheap enough for every article.
    """

    def __init__(
        self, words: Iterable[str], is_usable: Callable[[str, int, str], bool]
    ) -> None:
        self._words = WordAutomaton(words)
        self._is_usable = is_usable

    def find(self, text: str) -> list[str]:
        """Return the sentences, cleaned."""
        hits = sorted(self._words.find(text))
        if not hits:
            return []
        usable = []
        next_hit = 0
        for begin, end in sentences(text):
            in_sentence = []
            while next_hit < len(hits) and hits[next_hit][0] < end:
                position, word = hits[next_hit]
                next_hit += 1
                if position >= begin:
                    in_sentence.append((position - begin, word))
            if end - begin <= LONGEST and self._has_usable(
                text[begin:end], in_sentence
            ):
                sentence = clean(text[begin:end])
                if _is_long_enough(sentence) and not sentence.endswith("?"):
                    usable.append(sentence)
        return usable

    def _has_usable(self, sentence: str, hits: Iterable[tuple[int, str]]) -> bool:
        return any(self._is_usable(sentence, position, word) for position, word in hits)


def _is_long_enough(sentence: str) -> bool:
    return sentence.count(" ") >= SHORTEST - 1
