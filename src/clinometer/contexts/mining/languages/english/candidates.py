"""Sentences worth parsing, found without a parser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from clinometer.contexts.mining.automaton import WordAutomaton
from clinometer.contexts.mining.languages.english.sentence_split import clean, sentences

LONGEST = 400  # characters; longer sentences are rarely parsed correctly
SHORTEST = 4  # words

#: A noun phrase that can be a subject: an article, no preposition or verb "to be" before it.
_SUBJECT_BEFORE = re.compile(
    r"(?:^|[\s\"“(,;:])"
    r"(?<!\bof )(?<!\bby )(?<!\bin )(?<!\bas )(?<!\bis )(?<!\bto )(?<!\bwas )(?<!\bfor )"
    r"(?<!\bwith )(?<!\bfrom )(?<!\bbecame )(?<!\bbeing )(?<!\bbeen )(?<!\bwere )(?<!\bare )"
    r"(?:the|an?|this|his|her|their|its|each|every|one|another|no|former)\s(?:[\w’'-]+\s){0,3}$",
    re.IGNORECASE,
)


class Candidates:
    """The sentences of an article with one of the words in a usable position."""

    def __init__(self, words: Iterable[str], counts: Callable[[str, int, str], bool]) -> None:
        self._words = WordAutomaton(words)
        self._counts = counts

    def find(self, text: str) -> list[str]:
        """The cleaned sentences in order, unparsed."""
        hits = list(self._words.find(text))
        return list(self._sentences(text, hits)) if hits else []

    def _sentences(self, text: str, hits: list[tuple[int, str]]) -> Iterator[str]:
        hits.sort()
        at = 0
        for begin, end in sentences(text):
            while at < len(hits) and hits[at][0] < begin:
                at += 1
            wanted = False
            while at < len(hits) and hits[at][0] < end:
                place, word = hits[at]
                wanted = wanted or self._counts(text[begin:end], place - begin, word)
                at += 1
            if wanted and end - begin <= LONGEST:
                sentence = clean(text[begin:end])
                if sentence.count(" ") >= SHORTEST - 1 and not sentence.endswith("?"):
                    yield sentence


def later_word(sentence: str, at: int, word: str) -> bool:
    """A word of Y after at least two others: something must be said of the subject first."""
    return sentence.count(" ", 0, at) >= 2


def possible_subject(sentence: str, at: int, word: str) -> bool:
    """A person who can be the subject: "who", or a noun after an article and no preposition."""
    return word == "who" or _SUBJECT_BEFORE.search(sentence, max(0, at - 60), at) is not None
