"""Sentences worth parsing, found without a parser."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from clinometer.contexts.mining.automaton import WordAutomaton

LONGEST = 400  # characters; longer sentences are rarely parsed correctly
SHORTEST = 4  # words


class Candidates:
    """The sentences of an article with one of the words in a usable position.

    words      what to look for
    counts     (sentence, position, word) -> whether the word stands in a usable position
    sentences  text -> start and end of each sentence
    clean      a sentence without what the parser should not see
    """

    def __init__(
        self,
        words: Iterable[str],
        counts: Callable[[str, int, str], bool],
        *,
        sentences: Callable[[str], Iterator[tuple[int, int]]],
        clean: Callable[[str], str],
    ) -> None:
        self._words = WordAutomaton(words)
        self._counts = counts
        self._split = sentences
        self._clean = clean

    def find(self, text: str) -> list[str]:
        """The cleaned sentences in order, unparsed."""
        hits = list(self._words.find(text))
        return list(self._sentences(text, hits)) if hits else []

    def _sentences(self, text: str, hits: list[tuple[int, str]]) -> Iterator[str]:
        hits.sort()
        at = 0
        for begin, end in self._split(text):
            while at < len(hits) and hits[at][0] < begin:
                at += 1
            wanted = False
            while at < len(hits) and hits[at][0] < end:
                place, word = hits[at]
                wanted = wanted or self._counts(text[begin:end], place - begin, word)
                at += 1
            if wanted and end - begin <= LONGEST:
                sentence = self._clean(text[begin:end])
                if sentence.count(" ") >= SHORTEST - 1 and not sentence.endswith("?"):
                    yield sentence


def later_word(sentence: str, at: int, word: str) -> bool:
    """A word of Y after at least two others: something must be said of the subject first."""
    return sentence.count(" ", 0, at) >= 2
