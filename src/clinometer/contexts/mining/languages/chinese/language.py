"""The Chinese miner: shallow, over segmented text.

No Chinese dependency parser installs from PyPI without a further download, so there is no parse.
Words and their classes come from jieba; these patterns of neighbouring clauses are recognised:

    他说他…                 [X]说[Y]             a verb of saying or thinking between two pronouns
    医生很累，但他…          [X]很累，但[Y]        two clauses, joined by a conjunction or, as in
                                                 Chinese they may be, by a comma alone
    当他毕业时，他…          当[X]毕业时，[Y]      a clause of time, cause or concession first
    离开学校后，他…          [X]离开学校后，[Y]    such a clause without a subject: it is that of
                                                 the main clause, so [X] may be written
    他毕业了，做了教师，他…   [X]做了教师，[Y]      the subject of an earlier clause, left out
    他做了教师。后来他…      [X]做了教师。后来[Y]  the next sentence, if it begins with [Y]

It does not handle subjects with modifiers (的), a dropped subject in place of [Y] (most subjects in
Chinese), or another person between. A name before a verb of thinking is not used: in
普鲁塔克认为他… the pronoun is someone else. All text is turned into simplified characters first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from clinometer.contexts.mining.languages.chinese.adverbials import (
    is_adverbial,
    is_prepositional,
    is_start,
)
from clinometer.contexts.mining.languages.chinese.clauses import (
    ChineseClause,
    parse_clause,
)
from clinometer.contexts.mining.languages.chinese.predicates import predicate
from clinometer.contexts.mining.languages.chinese.script import to_simplified
from clinometer.contexts.mining.languages.chinese.vocabulary import (
    PRONOUNS,
    listed,
    longest_first,
)
from clinometer.contexts.mining.languages.decisions import Decision, Dropped, drop_if
from clinometer.contexts.mining.settings import MineSettings
from clinometer.errors import SettingsError
from clinometer.extras import require

TOPIC = "gender-zh"
"""The built-in topic in this language."""

LONGEST = 250
"""Characters of a sentence."""

_SENTENCE = re.compile(r"[^。！？]+")
_ASIDE = re.compile(r"（[^（）]*）|\([^()]*\)|-\{[^{}]*\}-")
_STOP = re.compile(r"[，,；。]")
_ENDS = ("。", "！", "？", "」", "”", "）")
_QUOTES = '“”「」『』"'

_Y = re.compile(r"(?<![其吉耳尔排利])他(?![们人国者处日乡信加杀州山途故])|她(?!们)")
"""A pronoun: not 其他, 他人, 吉他, 马耳他, 他信 and the like."""

_NAME = re.compile(r"\W*([一-鿿][一-鿿·]{1,19}?)(?:[（(，,、\s]|是)")
"""What an article begins with, up to the first mark or 是."""


class Chinese:
    """A `Language`."""

    def __init__(self, settings: MineSettings) -> None:
        words = set(settings.topic.words)
        if not words.issuperset(PRONOUNS):
            raise SettingsError(
                f"topic {settings.topic.name!r}: expected the words 他 and 她 and clauses, "
                f"not adjectives, for Chinese mining; see the topic {TOPIC}"
            )
        require("mining Chinese text", "jieba")
        self._persons = frozenset(group.text for group in settings.topic.groups)
        self._cues = frozenset(words) | listed("gender_cues")

    def find(self, text: str) -> list[str]:
        """Return sentences with a pronoun, after the name that the article begins with and |.

        Before a sentence that begins with the pronoun stands the one before it.
        """
        pronouns = sum(text.count(pronoun) for pronoun in PRONOUNS)
        if pronouns == 0:
            return []
        name = _NAME.match(to_simplified(text[:80])) if pronouns > 2 else None
        about = f"{name[1]}|" if name else "|"
        candidates = []
        previous = ""
        for paragraph in _paragraphs(text):
            for match in _SENTENCE.finditer(paragraph):
                sentence = to_simplified(_ASIDE.sub("", match[0].strip()))
                if _is_candidate(sentence):
                    continues = previous and _begins_with_pronoun(sentence)
                    earlier = f"{previous}。" if continues else ""
                    candidates.append(about + earlier + sentence)
                previous = _end_of_sentence(sentence)
            if not paragraph.endswith(_ENDS):  # a heading, or the item of a list
                previous = ""
        return candidates

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        """Yield the decisions on each sentence, in order."""
        for sentence in sentences:
            yield list(self._decide(sentence))

    def _decide(self, candidate: str) -> Iterator[Decision]:
        name, _, text = candidate.rpartition("|")
        last_name = name.split("·")[-1]
        names = [part for part in (name, last_name) if len(part) > 1]
        start = text.rfind("。") + 1
        for match in _Y.finditer(text, start):
            y = match.start()
            if y == 0:
                continue
            evidence = f"[Y]={match[0]}@{y} after {text[max(0, y - 16) : y]}"
            # The sentence before matters only where this one begins with [Y].
            begin = 0 if is_start(text[start:y]) else start
            try:
                template = self._template(text[begin:], y - begin, names)
            except Dropped as drop:
                yield Decision(text, None, drop.rule, evidence)
            else:
                yield Decision(text, template, "", evidence)

    def _template(self, text: str, y: int, names: Sequence[str]) -> str:
        """Return the template for the pronoun at `y`."""
        beginning = text[:y]
        quotes = sum(beginning.count(mark) for mark in _QUOTES)
        drop_if(quotes % 2, "inside a quotation")
        pieces = _STOP.split(beginning)
        joint = pieces[-1]
        saying = _saying().fullmatch(joint)
        if saying:
            drop_if(saying["subject"] != text[y], "subject and [Y] differ in gender")
            return f"[X]{saying['verb']}[Y]"
        is_joining = joint in listed("joining")
        if is_adverbial(joint) and not is_joining:  # 1859年他: the stop joins
            joint = ""
        drop_if(joint and not is_joining, "nothing joins the clauses")
        clauses = _without_last_adverbials(pieces[:-1])
        drop_if(not clauses, "no predicate before [Y]")
        opening, words = self._clause(clauses, text[y], names)
        stop = "。" if "。" in beginning else "，"
        if stop == "。":
            drop_if(opening or _needs_clause(words), "incomplete predicate")
        return f"{opening}[X]{words}{stop}{joint}[Y]"

    def _clause(
        self, clauses: list[str], pronoun: str, names: Sequence[str]
    ) -> tuple[str, str]:
        """Return opening and predicate of the last clause before [Y] that can be in a template.

        Adverbials, and clauses that continue with the same subject, may be left out. The error is
        that of the last clause.
        """
        first_drop: Dropped | None = None
        for end in range(len(clauses), 0, -1):
            text = clauses[end - 1]
            try:
                clause = parse_clause(text, self._persons, names)
            except Dropped as drop:
                first_drop = first_drop or drop
                if not is_prepositional(text):
                    raise first_drop from None
                continue
            self._check_subject(clause, clauses[:end], pronoun, names)
            try:
                words = predicate(clause, self._cues)
                if first_drop is not None:
                    _check_last(clause, words)
            except Dropped as drop:
                first_drop = first_drop or drop
                if clause.subject is not None or clause.opening or clause.timed:
                    raise first_drop from None
            else:
                return clause.opening, words
        raise first_drop or Dropped("no predicate before [Y]")

    def _check_subject(
        self,
        last: ChineseClause,
        clauses: list[str],
        pronoun: str,
        names: Sequence[str],
    ) -> None:
        """Refuse a clause whose subject is not the person of the pronoun."""
        if last.subject is None and not last.timed:
            # its subject is that of an earlier clause
            _check_other_pronoun(clauses, pronoun)
            if len(clauses) > 1:
                is_person = self._has_subject(clauses[:-1], names)
                drop_if(not is_person, "subject is not a person")
        elif last.subject in PRONOUNS:
            drop_if(last.subject != pronoun, "subject and [Y] differ in gender")

    def _has_subject(self, clauses: list[str], names: Sequence[str]) -> bool:
        """Return whether the subject of the last of these clauses that has one is a person."""
        for clause in reversed(clauses):
            if clause.startswith((*PRONOUNS, *names)):
                return True
            try:
                parsed = parse_clause(clause, self._persons)
            except Dropped:
                return False
            if parsed.subject is not None:
                return True
        return False

    def merge_key(self, template: str) -> str:
        """Return the template without 了: 离开了学校 and 离开学校 are one context."""
        return template.replace("了", "")

    def describe(self) -> dict[str, str]:
        """Return strategy, parser and its version, for the sidecar."""
        import jieba

        return {
            "strategy": "patterns over segmented text",
            "parser": "jieba",
            "parser_version": str(jieba.__version__),
            "resolver": "patterns",
        }


open_language = Chinese


def _paragraphs(text: str) -> list[str]:
    lines = [line.strip() for line in text.split("\n")]
    return [line for line in lines if line]


def _is_candidate(sentence: str) -> bool:
    return len(sentence) <= LONGEST and _Y.search(sentence) is not None


def _begins_with_pronoun(sentence: str) -> bool:
    """Return whether only adverbials and conjunctions stand before the first pronoun."""
    y = _Y.search(sentence)
    return y is not None and is_start(sentence[: y.start()])


def _end_of_sentence(sentence: str) -> str:
    """Return what may stand before the next sentence: of a long one the last clause."""
    if len(sentence) <= LONGEST:
        return sentence
    return _STOP.split(sentence)[-1]


def _without_last_adverbials(clauses: list[str]) -> list[str]:
    end = len(clauses)
    while end > 0 and is_adverbial(clauses[end - 1]):
        end -= 1
    return clauses[:end]


def _needs_clause(words: str) -> bool:
    """Return whether a predicate ends with a verb that needs a clause after it."""
    return words.endswith(tuple(listed("needs_clause")))


def _check_last(clause: ChineseClause, words: str) -> None:
    """Refuse a clause that cannot be the last: it needs the one that is left out."""
    first = clause.words[0]
    is_beginning = first.text in listed("no_verb") or first.kind == "p"
    drop_if(is_beginning or _needs_clause(words), "incomplete predicate")


def _check_other_pronoun(clauses: list[str], pronoun: str) -> None:
    """Refuse clauses that mention a person of the other gender."""
    text = "，".join(clauses)
    is_mentioned = any(p in text for p in PRONOUNS if p != pronoun)
    drop_if(is_mentioned, "another person before")


@cache
def _saying() -> re.Pattern[str]:
    """Return a pattern for 他 and a verb of saying, or a name and one that speaks of oneself."""
    adverbial = "|".join(longest_first("before_subject"))
    verb = "|".join(longest_first("saying"))
    adverbs = (
        r"(?:[一曾也又还却则便就常再]|公开|后来|一直|曾经|多次|"
        r"自己|同时|随后|当时|经常|始终){0,2}"
    )
    return re.compile(rf"(?:{adverbial})?(?P<subject>[他她]){adverbs}(?P<verb>{verb})")
