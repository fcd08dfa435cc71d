"""One clause in its parts: what opens it, its subject, and its words."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from itertools import pairwise

from clinometer.contexts.mining.languages.chinese.adverbials import without_adverbial
from clinometer.contexts.mining.languages.chinese.segmentation import (
    NAMES,
    PERSON_NAMES,
    Word,
    dictionary,
    segment,
)
from clinometer.contexts.mining.languages.chinese.vocabulary import (
    PRONOUNS,
    TITLES,
    TITLES_OF_PERSONS,
    listed,
    longest_first,
)
from clinometer.contexts.mining.languages.decisions import drop_if

MOST_WORDS = 15
"""Words of a predicate."""

_MOST_CHARACTERS = 3 * MOST_WORDS
_NO_PERSON = "subject is not a person"
_BEGIN = ("v", "d", "a", "p", "zg", "c", "t")
"""Classes of words that can follow a subject: verbs, adverbs, adjectives, prepositions, times."""

_GOES_ON = ("们", "的", "和", "与", "等", "本", "及", "之")
"""Characters after a person that make more than one of it, or something else."""

_FOREIGN = re.compile(r"^(?:[^\W\d_由和与在的是为被把对从向给但而都也将]{1,8}[·‧・])+")
"""A foreign name up to its last dot: 沃尔夫冈·本茨."""


@dataclass(frozen=True, slots=True)
class ChineseClause:
    """A clause in its parts."""

    opening: str
    """当, 虽然, …, or ""."""

    subject: str | None
    """The pronoun, name or occupation that is its subject; None if it has none."""

    words: list[Word]
    """Its predicate, segmented."""

    timed: bool
    """Whether it ends as a clause of time does."""


def parse_clause(
    clause: str, persons: Set[str], names: Sequence[str] = ()
) -> ChineseClause:
    """Return a clause in its parts; it is dropped if its subject is not a person.

    `names` are known to be persons.
    """
    opening, rest = _opening(without_adverbial(clause))
    timed = rest.endswith(tuple(listed("times")))
    opens_time = opening in listed("opens_time")
    drop_if(opens_time and not timed, "clause opens with a preposition")
    name = _known_name(rest, names)
    foreign = None if name else _FOREIGN.match(rest)
    rest = rest[foreign.end() :] if foreign else rest.removeprefix(name)
    drop_if(len(rest) > _MOST_CHARACTERS, "too long")
    words = [Word(name, "nr")] if name else []
    words = _without_title(_without_place([*words, *segment(rest)]))
    drop_if(len(words) < 2, "incomplete predicate")
    first = words[0]
    if not foreign and not _is_person(first, persons):
        _check_no_subject(opening, words)
        return ChineseClause(opening, None, words, timed)
    predicate = words[1:]
    goes_on = predicate[0].text[:1] in _GOES_ON or _is_modified(predicate)
    drop_if(goes_on, "subject is not one person")
    if first.text not in (*PRONOUNS, name):
        begins = _begins_predicate(predicate[0], persons)
        drop_if(not begins, "name cut in two")  # 贝|克 本人, 路易|十二
    return ChineseClause(opening, first.text, predicate, timed)


def _opening(clause: str) -> tuple[str, str]:
    """Return 当, 虽然, … at the beginning of a clause, and the rest of it."""
    for word in longest_first("opening"):
        if clause.startswith(word):
            return word, clause[len(word) :]
    return "", clause


def _known_name(text: str, names: Sequence[str]) -> str:
    """Return the name that a text begins with, "" for none."""
    for name in names:
        if text.startswith(name):
            return name
    return ""


def _is_person(word: Word, persons: Set[str]) -> bool:
    if word.text in PRONOUNS or word.text in persons or _is_title(word):
        return True
    return word.kind in PERSON_NAMES and not word.text.endswith("人")


def _check_no_subject(opening: str, words: list[Word]) -> None:
    """Refuse a clause whose subject is a thing, 大桥很长; one without any is a predicate."""
    needs_subject = opening in ("当", "每当")
    is_predicate = _can_begin(words) and not _is_modified(words)
    drop_if(needs_subject or not is_predicate, _NO_PERSON)


def _can_begin(words: list[Word]) -> bool:
    """Return whether words are a predicate whose subject is left out, and a person's."""
    for text, kind in words[:3]:
        is_known = text in dictionary() and kind != "vg"
        if not is_known or text in listed("no_person_does"):
            return False
        if kind.startswith("v"):
            return True
        if not kind.startswith(("d", "p")):
            return False
    return False


def _is_modified(words: list[Word]) -> bool:
    """Return whether the words go on to another noun: 最著名的案件, 举行的大选."""
    if words[0].kind == "p":  # 对音乐的想法改变了
        return False
    for word, following in pairwise(words):
        if following.text == "的":
            return True
        if word.kind.startswith("v"):
            return False
    return False


def _begins_predicate(word: Word, persons: Set[str]) -> bool:
    """Return whether a word begins a predicate, and is not the rest of a name cut in two."""
    if word.text in persons or word.text in listed("rests_of_names"):
        return False
    return word.kind.startswith(_BEGIN)


def _is_title(word: Word) -> bool:
    """Return whether a word is one person, as 总统 and 作家 are, and 国家 and 人 are not."""
    is_noun = word.kind.startswith("n") and word.text.endswith(TITLES_OF_PERSONS)
    return is_noun and word.text not in listed("no_title")


def _without_title(words: list[Word]) -> list[Word]:
    """Return the words without what stands before a name and says what it is.

    德国 科学家 欧姆 提出 … -> 欧姆 提出 …, 这 位 作家 认为 … -> 作家 认为 …
    """
    for i, word in enumerate(words[:4]):
        if i > 0 and _is_title(word) and _have_kinds(words[:i], "rqmb"):
            return words[i:]
    for i, word in enumerate(words[1:5], start=1):
        if word.kind in PERSON_NAMES:
            has_title = words[i - 1].text.endswith(TITLES)
            is_noun_phrase = _have_kinds(words[:i], "nbmqrj")
            return words[i:] if has_title and is_noun_phrase else words
    return words


def _have_kinds(words: list[Word], kinds: str) -> bool:
    """Return whether the class of each word begins with one of these letters."""
    return all(word.kind[0] in kinds for word in words)


def _without_place(words: list[Word]) -> list[Word]:
    """Return the words without a named place between the subject and its verb.

    他 在 纽约 工作 … -> 他 工作 …
    """
    for i, word in enumerate(words[:-2]):
        if word.text not in ("在", "从"):
            continue
        end = _end_of_place(words, i + 1)
        has_name = any(part.kind in NAMES for part in words[i + 1 : end])
        if has_name and end < len(words) and words[end].kind.startswith(("v", "d")):
            return words[:i] + words[end:]
    return words


def _end_of_place(words: list[Word], start: int) -> int:
    """Return where the noun phrase that begins at `start` ends."""
    end = start
    while end < len(words) and (
        words[end].kind[0] in "nfmqb" or words[end].text == "的"
    ):
        end += 1
    return end
