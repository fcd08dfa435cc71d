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
普鲁塔克认为他… the pronoun is someone else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from clinometer.contexts.mining.languages.chinese.clauses import (
    PRONOUNS,
    ChineseClause,
    is_adverbial,
    is_prepositional,
    is_start,
    listed,
    predicate,
    subject_of,
    to_simplified,
)
from clinometer.contexts.mining.languages.shared import Decision, Dropped, WordAutomaton, drop_if
from clinometer.contexts.mining.settings import MineSettings
from clinometer.errors import SettingsError
from clinometer.extras import require

#: The built-in topic in this language.
TOPIC = "gender-zh"
LONGEST = 250  # characters of a sentence
_SENTENCE = re.compile(r"[^。！？]+")
_ASIDE = re.compile(r"（[^（）]*）|\([^()]*\)|-\{[^{}]*\}-")
#: Not 其他, 他人, 吉他, 马耳他, 他信 and the like.
_Y = re.compile(r"(?<![其吉耳尔排利])他(?![们人国者处日乡信加杀州山途故])|她(?!们)")
_STOP = re.compile(r"[，,；。]")
#: What an article begins with, up to the first mark or 是.
_NAME = re.compile(r"\W*([一-鿿][一-鿿·]{1,19}?)(?:[（(，,、\s]|是)")
_ENDS = ("。", "！", "？", "」", "”", "）")
_QUOTES = '“”「」『』"'


class Chinese:
    """A `Language`."""

    def __init__(self, settings: MineSettings) -> None:
        words = set(settings.topic.words)
        if not set(PRONOUNS) <= words or settings.strategy == "predicate":
            raise SettingsError(
                f"topic {settings.topic.name!r}: expected the words 他 and 她 and clauses, "
                f"not adjectives, for Chinese mining; see the topic {TOPIC}"
            )
        require("mining Chinese text", "jieba")
        self._persons = frozenset(group.text for group in settings.topic.groups)
        self._cues = frozenset(words) | listed("gender_cues")
        self._find = WordAutomaton(PRONOUNS, whole=False)

    def find(self, text: str) -> list[str]:
        """Sentences with a pronoun, after the name that the article begins with and |.

        Before a sentence that begins with the pronoun stands the one before it.
        """
        if not (hits := list(self._find.find(text))):
            return []
        candidates = []
        name = _NAME.match(to_simplified(text[:80]))
        about = f"{name[1]}|" if name and len(hits) > 2 else "|"
        before = ""
        for paragraph in filter(None, map(str.strip, text.split("\n"))):
            for match in _SENTENCE.finditer(paragraph):
                sentence = to_simplified(_ASIDE.sub("", match[0].strip()))
                if len(sentence) <= LONGEST and (y := _Y.search(sentence)):
                    follows = before and is_start(sentence[: y.start()])
                    candidates.append(about + (f"{before}。{sentence}" if follows else sentence))
                before = sentence if len(sentence) <= LONGEST else _STOP.split(sentence)[-1]
            if not paragraph.endswith(_ENDS):  # a heading, or the item of a list
                before = ""
        return candidates

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        for sentence in sentences:
            yield list(self._decide(sentence))

    def _decide(self, candidate: str) -> Iterator[Decision]:
        name, _, text = candidate.rpartition("|")
        names = [part for part in (name, name.split("·")[-1]) if len(part) > 1]
        start = text.rfind("。") + 1
        for match in _Y.finditer(text, start):
            y = match.start()
            if y == 0:
                continue
            evidence = f"[Y]={match[0]}@{y} after {text[max(0, y - 16) : y]}"
            begins = is_start(text[start:y])
            try:
                whole, at = (text, y) if begins else (text[start:], y - start)
                template = self._template(whole, at, names)
            except Dropped as no:
                yield Decision(text, None, no.rule, evidence)
            else:
                yield Decision(text, template, "", evidence)

    def _template(self, text: str, y: int, names: Sequence[str]) -> str:
        before = text[:y]
        drop_if(sum(before.count(mark) for mark in _QUOTES) % 2, "inside a quotation")
        *earlier, joint = _STOP.split(before)
        stop = "。" if "。" in before else "，"
        if saying := _said().fullmatch(joint):
            drop_if(saying["subject"] != text[y], "subject and [Y] differ in gender")
            return f"[X]{saying['verb']}[Y]"
        if is_adverbial(joint):  # 1859年他: the stop joins
            joint = joint if joint in listed("joining") else ""
        drop_if(joint and joint not in listed("joining"), "nothing joins the clauses")
        while earlier and is_adverbial(earlier[-1]):
            earlier.pop()
        drop_if(not earlier, "no predicate before [Y]")
        opening, words = self._clause(earlier, text[y], names)
        if stop == "。" and (opening or words.endswith(tuple(listed("needs_clause")))):
            raise Dropped("incomplete predicate")
        return f"{opening}[X]{words}{stop}{joint}[Y]"

    def _clause(self, clauses: list[str], pronoun: str, names: Sequence[str]) -> tuple[str, str]:
        """Opening and predicate of the last clause before [Y] that can stand in a template.

        Adverbials, and clauses that continue with the same subject, may be left out.
        """
        last: Dropped | None = None
        for end in range(len(clauses), 0, -1):
            try:
                clause = subject_of(clauses[end - 1], self._persons, names)
            except Dropped as no:
                if not is_prepositional(clauses[end - 1]):
                    raise last or no from None
                last = last or no
                continue
            self._check_subject(clause, clauses[:end], pronoun, names)
            try:
                words = predicate(clause, self._cues)
                begins = clause.words[0][0] in listed("no_verb") or clause.words[0][1] == "p"
                if last and (begins or words.endswith(tuple(listed("needs_clause")))):
                    raise Dropped("incomplete predicate")
                return clause.opening, words
            except Dropped as no:
                if clause.who is not None or clause.opening or clause.timed:
                    raise last or no from None
                last = last or no
        raise last or Dropped("no predicate before [Y]")

    def _check_subject(
        self, last: ChineseClause, clauses: list[str], pronoun: str, names: Sequence[str]
    ) -> None:
        """Whether the subject of the last of these clauses is the person of the pronoun."""
        if last.who is None and not last.timed:  # its subject is that of an earlier clause
            if any(p in clause for clause in clauses for p in PRONOUNS if p != pronoun):
                raise Dropped("another person before")
            if len(clauses) > 1 and not self._has_subject(clauses[:-1], names):
                raise Dropped("subject is not a person")
        elif last.who in PRONOUNS and last.who != pronoun:
            raise Dropped("subject and [Y] differ in gender")

    def _has_subject(self, clauses: list[str], names: Sequence[str]) -> bool:
        """Whether the last of these clauses that has a subject has a person as its subject."""
        for clause in reversed(clauses):
            if clause.startswith((*PRONOUNS, *names)):
                return True
            try:
                if subject_of(clause, self._persons).who is not None:
                    return True
            except Dropped:
                return False
        return False

    def merge_key(self, template: str) -> str:
        """Without the particle 了: 离开了学校 and 离开学校 are one context."""
        return template.replace("了", "")

    def describe(self) -> dict[str, str]:
        import jieba

        return {
            "strategy": "patterns over segmented text",
            "parser": "jieba",
            "parser_version": str(jieba.__version__),
            "resolver": "patterns",
        }


@cache
def _said() -> re.Pattern[str]:
    """他 and a verb of saying, or a name and one that speaks of oneself."""

    def either(name: str) -> str:
        return "|".join(sorted(listed(name), key=len, reverse=True))

    adverbs = (
        r"(?:[一曾也又还却则便就常再]|公开|后来|一直|曾经|多次|自己|同时|随后|当时|经常|始终){0,2}"
    )
    before = f"(?:{either('before_subject')})?"
    return re.compile(rf"{before}(?P<subject>[他她]){adverbs}(?P<verb>{either('saying')})")


open_language = Chinese
