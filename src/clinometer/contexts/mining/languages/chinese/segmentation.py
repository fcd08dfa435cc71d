"""Words of Chinese text with their classes, from jieba."""

from __future__ import annotations

from collections.abc import Set
from functools import cache
from typing import Any, NamedTuple

from clinometer.contexts.mining.languages.chinese.vocabulary import listed

PERSON_NAMES = ("nr", "nrfg", "nrt")
"""jieba's classes of names of persons."""

NAMES = ("nr", "ns", "nt", "nz", "eng", "x", "nrt", "nrfg")
"""jieba's classes of all names and foreign words."""


class Word(NamedTuple):
    """A word and its class."""

    text: str
    kind: str


def segment(text: str) -> list[Word]:
    """Return the words of a text; names of institutions and destinations are made general."""
    words: list[Word] = []
    for pair in segmenter().cut(text):
        word = Word(pair.word, pair.flag)
        previous = words[-1] if words else Word("", "")
        institution = _institution(word, previous)
        if institution:  # 莱顿大学: 一所大学
            if word.kind not in NAMES or previous.text in listed("institutions"):
                words.pop()
            words.append(Word(institution, "n"))
        elif word.kind == "ns" and previous.text in listed("going"):
            words.append(Word("外地", "n"))
        else:
            words.append(word)
    return words


def _institution(word: Word, previous: Word) -> str:
    """Return what a named institution is in general, "" for any other word."""
    follows_name = previous.kind in NAMES or previous.text in listed("institutions")
    if word.kind not in NAMES and not follows_name:
        return ""
    for institution in listed("institutions"):
        if word.text.endswith(institution[2:]):
            return institution
    return ""


@cache
def dictionary() -> Set[str]:
    """Return words that jieba knows; it guesses others, such as foreign names, and their class."""
    freq: dict[str, int] = segmenter().tokenizer.FREQ
    return {word for word, count in freq.items() if count}


@cache
def segmenter() -> Any:
    """Return jieba with word classes, loaded when the first clause is segmented.

    Its dictionary is built from its own list of words, in less than a second: jieba by itself would
    take what anybody left as jieba.cache in the folder for temporary files.
    """
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba imports pkg_resources, which warns
        import jieba
        import jieba.posseg
    words = jieba.Tokenizer()
    words.FREQ, words.total = words.gen_pfdict(words.get_dict_file())
    words.initialized = True
    return jieba.posseg.POSTokenizer(words)
