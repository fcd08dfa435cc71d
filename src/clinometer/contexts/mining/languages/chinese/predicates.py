"""A predicate that can stand in a template: complete, and without what gives the answer away."""

from __future__ import annotations

from collections.abc import Set

from clinometer.contexts.mining.languages.chinese.clauses import (
    MOST_WORDS,
    ChineseClause,
)
from clinometer.contexts.mining.languages.chinese.script import is_simplified
from clinometer.contexts.mining.languages.chinese.segmentation import NAMES, Word
from clinometer.contexts.mining.languages.chinese.vocabulary import TITLES, listed
from clinometer.contexts.mining.languages.decisions import drop_if

_INCOMPLETE = "incomplete predicate"
_GENDERED = frozenset("他她男女妈爸爷奶姐哥叔姑姨嫂婆姥娘妻妾妃")
_FIRST_OR_SECOND_PERSON = frozenset("我你您")
_ERAS = ("朝", "代", "年", "年间", "公元前", "公元")
_NEVER_LAST = tuple("的是为在和与把被于到近过")


def predicate(clause: ChineseClause, cues: Set[str]) -> str:
    """Return the predicate as text; it is dropped if incomplete, or if it gives the answer away."""
    words = clause.words
    drop_if(len(words) > MOST_WORDS, "too long")
    drop_if(not clause.timed and not _says_something(words), _INCOMPLETE)
    for word in words:
        _check_word(word, cues)
    _check_end(words)
    _check_beginning(words)
    _check_circumstances(words)
    _check_description(words)
    text = "".join(word.text for word in words)
    drop_if(any(word in text for word in listed("dying")), "[X] is dead")
    return text


def _says_something(words: list[Word]) -> bool:
    """Return whether there is a verb or an adjective; the segmenter takes 毕业 for a noun."""
    return any(
        word.kind.startswith(("v", "a")) or word.text in listed("verbs")
        for word in words
    )


def _check_word(word: Word, cues: Set[str]) -> None:
    """Refuse 女儿, 我们, 清朝, 北京 and 離開."""
    characters = set(word.text)
    is_cue = word.text in cues or bool(characters & _GENDERED)
    drop_if(is_cue, "gender cue in the skeleton")
    drop_if(characters & _FIRST_OR_SECOND_PERSON, "first or second person")
    is_era = word.kind == "t" and word.text.endswith(_ERAS)
    is_chinese = all("一" <= character <= "鿿" for character in word.text)
    is_name = is_era or word.kind in NAMES or not is_chinese
    drop_if(is_name, "name in the skeleton")
    drop_if(not is_simplified(word.text), "traditional characters in the skeleton")


def _check_end(words: list[Word]) -> None:
    """Refuse a predicate that stops short: 离开了的, 开始."""
    last = words[-1]
    is_open = last.kind in ("p", "c") or last.text.endswith(_NEVER_LAST)
    drop_if(is_open, _INCOMPLETE)
    drop_if(last.text == "开始" and len(words) <= 2, _INCOMPLETE)


def _check_beginning(words: list[Word]) -> None:
    """Refuse half of a pair: 一边唱歌."""
    drop_if(words[0].text in listed("needs_more"), _INCOMPLETE)


def _check_circumstances(words: list[Word]) -> None:
    """Refuse a place or a time by itself: 在学校里."""
    is_place = words[-1].text in ("下", "中", "里", "上", "方面")
    drop_if(words[0].text == "在" and is_place, _INCOMPLETE)


def _check_description(words: list[Word]) -> None:
    """Refuse what says what [X] is, which is an occupation: 成为一位作家."""
    if words[-1].text.endswith((*TITLES, "之一")):
        copulas = listed("copulas")
        describes = any(word.text in copulas for word in words)
        drop_if(describes, "another job in the skeleton")
