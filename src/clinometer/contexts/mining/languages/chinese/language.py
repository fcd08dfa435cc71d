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
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from clinometer.contexts.mining.languages import (
    Decision,
    Dropped,
    drop_if,
    read_lexicon,
    word_list,
)
from clinometer.errors import SettingsError
from clinometer.extras import require

if TYPE_CHECKING:
    from clinometer.contexts.mining.settings import MineSettings

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
PRONOUNS = ("他", "她")
MOST_WORDS = 15  # of a predicate
#: Classes of words that can follow a subject: verbs, adverbs, adjectives, prepositions, times.
_BEGIN = ("v", "d", "a", "p", "zg", "c", "t")
#: jieba's classes of names of persons, and of all names and foreign words.
_PERSON_NAMES = ("nr", "nrfg", "nrt")
_NAMES = ("nr", "ns", "nt", "nz", "eng", "x", "nrt", "nrfg")
_YEAR = r"(?:\d+年代|(?:公元前?)?\d{3,4}年|\d+世纪|[同次翌当]年|\d{1,2}月)"
_DATE = re.compile(
    rf"(?<![至到从近过约了])(?:自|在|于)?{_YEAR}(?:\d{{1,2}}月)?(?:\d{{1,2}}日)?(?:初期?|末期?|底|中期?|[春夏秋冬][天季]?|间|起|前后|左右)?"
)
#: A foreign name up to its last dot: 沃尔夫冈·本茨.
_FOREIGN = re.compile(r"^(?:[^\W\d_由和与在的是为被把对从向给但而都也将]{1,8}[·‧・])+")
#: Ends of words for what a person is: 化学家, 总统.
_TITLES = tuple(
    "家 师 员 者 手 人 官 王 长 士 统 相 臣 授 将 帝 客 工 匠 司令 导演 教练 法官 总理".split()
)

_GENDERED = frozenset("他她男女妈爸爷奶姐哥叔姑姨嫂婆姥娘妻妾妃")

Word = tuple[str, str]  # and its class
#: 著 is 着, except in words about writing, fame and visibility.
_ASPECT = re.compile(r"(?<![原名专显合编译土巨论所昭卓])著(?![名作述称有者书录])")
#: Traditional characters that are also simplified ones, in other words.
_EITHER = frozenset("乾夥摺捱")


class Chinese:
    """A `Language`."""

    def __init__(self, settings: MineSettings) -> None:
        words = set(settings.topic.words)
        if not set(PRONOUNS) <= words:
            raise SettingsError(
                f"topic {settings.topic.name!r}: expected the words 他 and 她 and clauses, "
                f"not adjectives, for Chinese mining; see the topic {TOPIC}"
            )
        require("mining Chinese text", "jieba")
        self._persons = frozenset(group.text for group in settings.topic.groups)
        self._cues = frozenset(words) | listed("gender_cues")

    def find(self, text: str) -> list[str]:
        """Sentences with a pronoun, after the name that the article begins with and |.

        Before a sentence that begins with the pronoun stands the one before it.
        """
        if not (hits := sum(map(text.count, PRONOUNS))):
            return []
        candidates = []
        name = _NAME.match(to_simplified(text[:80]))
        about = f"{name[1]}|" if name and hits > 2 else "|"
        before = ""
        for paragraph in filter(None, map(str.strip, text.split("\n"))):
            for match in _SENTENCE.finditer(paragraph):
                sentence = to_simplified(_ASIDE.sub("", match[0].strip()))
                if len(sentence) <= LONGEST and (y := _Y.search(sentence)):
                    follows = before and is_start(sentence[: y.start()])
                    candidates.append(
                        about + (f"{before}。{sentence}" if follows else sentence)
                    )
                before = (
                    sentence if len(sentence) <= LONGEST else _STOP.split(sentence)[-1]
                )
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

    def _clause(
        self, clauses: list[str], pronoun: str, names: Sequence[str]
    ) -> tuple[str, str]:
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
                begins = (
                    clause.words[0][0] in listed("no_verb") or clause.words[0][1] == "p"
                )
                if last and (begins or words.endswith(tuple(listed("needs_clause")))):
                    raise Dropped("incomplete predicate")
                return clause.opening, words
            except Dropped as no:
                if clause.who is not None or clause.opening or clause.timed:
                    raise last or no from None
                last = last or no
        raise last or Dropped("no predicate before [Y]")

    def _check_subject(
        self,
        last: ChineseClause,
        clauses: list[str],
        pronoun: str,
        names: Sequence[str],
    ) -> None:
        """Whether the subject of the last of these clauses is the person of the pronoun."""
        if (
            last.who is None and not last.timed
        ):  # its subject is that of an earlier clause
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


open_language = Chinese


@cache
def _said() -> re.Pattern[str]:
    """他 and a verb of saying, or a name and one that speaks of oneself."""

    def either(name: str) -> str:
        return "|".join(sorted(listed(name), key=len, reverse=True))

    adverbs = (
        r"(?:[一曾也又还却则便就常再]|公开|后来|一直|曾经|多次|"
        r"自己|同时|随后|当时|经常|始终){0,2}"
    )
    before = f"(?:{either('before_subject')})?"
    return re.compile(
        rf"{before}(?P<subject>[他她]){adverbs}(?P<verb>{either('saying')})"
    )


# --- One clause: its opening, its subject, and a predicate that can stand in a template ----------


def to_simplified(text: str) -> str:
    """Text with the characters of our table simplified.

    >>> to_simplified("她離開了學校，看著天，很著名")
    '她离开了学校，看着天，很著名'
    """
    return _ASPECT.sub("着", text.translate(_table()))


def is_simplified(text: str) -> bool:
    """Whether every character is a simplified one, that is, in GB 2312; of 乾燥 one is so only in
    other words.

    >>> is_simplified("离开学校"), is_simplified("離開學校"), is_simplified("乾燥")
    (True, False, False)
    """
    try:
        text.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return not _EITHER & set(text)


@cache
def _table() -> dict[int, int]:
    script = read_lexicon(__package__)["script"]
    traditional, simplified = (
        "".join(script[key].split()) for key in ("traditional", "simplified")
    )
    return str.maketrans(traditional, simplified)


@dataclass(frozen=True, slots=True)
class ChineseClause:
    """A clause in its parts.

    opening  当, 虽然, …, or ""
    who      the pronoun, name or occupation that is its subject; None if it has none
    words    its predicate, segmented
    timed    whether it ends as a clause of time does
    """

    opening: str
    who: str | None
    words: list[Word]
    timed: bool


#: The words of a list.
listed = partial(word_list, __package__)


def subject_of(
    clause: str, persons: Set[str], names: Sequence[str] = ()
) -> ChineseClause:
    """Split a clause; `Dropped` if its subject is not a person. `names` are known to be persons."""
    opening, rest = _opening(_without_adverbial(clause))
    timed = rest.endswith(tuple(listed("times")))
    drop_if(
        opening in listed("opens_time") and not timed, "clause opens with a preposition"
    )
    name = next((name for name in names if rest.startswith(name)), None)
    foreign = None if name else _FOREIGN.match(rest)
    rest = rest[foreign.end() :] if foreign else rest.removeprefix(name or "")
    drop_if(len(rest) > 3 * MOST_WORDS, "too long")
    words = [(name, "nr")] if name else []
    words = _without_title(_without_place(words + _segment(rest)))
    drop_if(len(words) < 2, "incomplete predicate")
    (first, kind), others = words[0], words[1:]
    is_name = kind in _PERSON_NAMES and not first.endswith("人")
    is_person = first in persons or is_name or _is_title(words[0])
    if first in PRONOUNS or is_person or foreign:
        if others[0][0][:1] in (
            "们",
            "的",
            "和",
            "与",
            "等",
            "本",
            "及",
            "之",
        ) or _modified(others):
            raise Dropped("subject is not one person")
        if first not in (*PRONOUNS, name) and not _follows_a_name(others[0], persons):
            raise Dropped("name cut in two")  # 贝|克 本人, 路易|十二
        return ChineseClause(opening, first, others, timed)
    if opening in ("当", "每当") or not _can_begin(words) or _modified(words):
        raise Dropped("subject is not a person")
    return ChineseClause(opening, None, words, timed)


def _modified(words: list[Word]) -> bool:
    """Whether the words go on to another noun: 最著名的案件, 举行的大选."""
    if words[0][1] == "p":  # 对音乐的想法改变了
        return False
    for (_, flag), (after, _) in pairwise(words):
        if after == "的":
            return True
        if flag.startswith("v"):
            return False
    return False


def is_adverbial(clause: str) -> bool:
    """Whether a clause is only a time or a connecting word: 1883年6月12日, 后来."""
    return not _DATE.sub("", clause, count=1) or clause in listed("before_subject")


def is_prepositional(clause: str) -> bool:
    """Whether a clause is a short adverbial with a preposition, and names no person: 在演说中."""
    return (
        len(clause) <= 14
        and clause[:1] in "在于对随为以据除自至"
        and not set(clause) & {"他", "她"}
    )


def is_start(text: str) -> bool:
    """Whether nothing but adverbials and conjunctions stands in a text: 后来，虽然."""
    pieces = re.split("[，,]", text)
    return all(
        is_adverbial(piece) or is_prepositional(piece) or piece in listed("joining")
        for piece in pieces
    )


def _segment(text: str) -> list[Word]:
    """Words with their classes; names of institutions and destinations are made general."""
    words: list[Word] = []
    for pair in segmenter().cut(text):
        word, flag = pair.word, pair.flag
        before, kind = words[-1] if words else ("", "")
        is_name = flag in _NAMES
        endings = (k for k in listed("institutions") if word.endswith(k[2:]))
        general = is_name or kind in _NAMES or before in listed("institutions")
        institution = next(endings, None) if general else None
        if institution:  # 莱顿大学: 一所大学
            if not is_name or before in listed("institutions"):
                words.pop()
            words.append((institution, "n"))
        elif flag == "ns" and before in listed("going"):
            words.append(("外地", "n"))
        else:
            words.append((word, flag))
    return words


def _is_title(word: Word) -> bool:
    """这位 and 总统, 作家, …: one person, not 国家 or 人."""
    text, flag = word
    return (
        flag.startswith("n")
        and text.endswith(_TITLES[:7])
        and text not in listed("no_title")
    )


def _follows_a_name(word: Word, persons: Set[str]) -> bool:
    """Whether a word begins a predicate, and is not the rest of a name that was cut in two."""
    if word[0] in persons or word[0] in listed("rests_of_names"):
        return False
    return word[1].startswith(_BEGIN)


def _without_title(words: list[Word]) -> list[Word]:
    """德国 科学家 欧姆 提出 … -> 欧姆 提出 …: what stands before a name and says what it is.

    这 位 作家 认为 … -> 作家 认为 …
    """
    for i, word in enumerate(words[:4]):
        if i and _is_title(word) and all(flag[0] in "rqmb" for _, flag in words[:i]):
            return words[i:]
    for i, (_, kind) in enumerate(words[1:5], start=1):
        if kind in _PERSON_NAMES:
            title = words[i - 1][0].endswith(_TITLES)
            nouns = all(flag[0] in "nbmqrj" for _, flag in words[:i])
            return words[i:] if title and nouns else words
    return words


def _without_place(words: list[Word]) -> list[Word]:
    """他 在 纽约 工作 … -> 他 工作 …: a named place between the subject and its verb."""
    for i, (word, _) in enumerate(words[:-2]):
        if word not in ("在", "从"):
            continue
        j = i + 1
        while j < len(words) and (words[j][1][0] in "nfmqb" or words[j][0] == "的"):
            j += 1
        has_name = any(flag in _NAMES for _, flag in words[i + 1 : j])
        if has_name and j < len(words) and words[j][1].startswith(("v", "d")):
            return words[:i] + words[j:]
    return words


def predicate(clause: ChineseClause, cues: Set[str]) -> str:
    """The predicate as text; `Dropped` if it is incomplete, or gives the answer away."""
    words = clause.words
    drop_if(len(words) > MOST_WORDS, "too long")
    # the segmenter takes 毕业 for a noun
    says = any(flag.startswith(("v", "a")) or w in listed("verbs") for w, flag in words)
    drop_if(not clause.timed and not says, "incomplete predicate")
    for word, flag in words:
        drop_if(word in cues or set(word) & _GENDERED, "gender cue in the skeleton")
        drop_if(set(word) & set("我你您"), "first or second person")
        era = flag == "t" and word.endswith(
            ("朝", "代", "年", "年间", "公元前", "公元")
        )
        if era or flag in _NAMES or not all("一" <= c <= "鿿" for c in word):
            raise Dropped("name in the skeleton")
        drop_if(not is_simplified(word), "traditional characters in the skeleton")
    _check_end(words)
    text = "".join(word for word, _ in words)
    drop_if(any(word in text for word in listed("dying")), "[X] is dead")
    return text


def _check_end(words: list[Word]) -> None:
    last, flag = words[-1]
    drop_if(
        flag in ("p", "c") or last.endswith(tuple("的是为在和与把被于到近过")),
        "incomplete predicate",
    )
    if (last == "开始" and len(words) <= 2) or words[0][0] in listed("needs_more"):
        raise Dropped("incomplete predicate")
    drop_if(
        words[0][0] == "在" and last in ("下", "中", "里", "上", "方面"),
        "incomplete predicate",
    )
    if last.endswith((*_TITLES, "之一")) and {word for word, _ in words} & listed(
        "copulas"
    ):
        raise Dropped("another job in the skeleton")


def _can_begin(words: list[Word]) -> bool:
    """Whether words are a predicate whose subject is left out, and a person's."""
    for word, flag in words[:3]:
        if (
            word in listed("no_person_does")
            or word not in _dictionary()
            or flag == "vg"
        ):
            return False
        if flag.startswith("v"):
            return True
        if not flag.startswith(("d", "p")):
            return False
    return False


def _without_adverbial(clause: str) -> str:
    """Without dates anywhere, and without what stands before a pronoun."""
    clause = _DATE.sub("", clause)
    for word in sorted(listed("before_subject"), key=len, reverse=True):
        rest = clause.removeprefix(word)
        if rest != clause and (len(word) > 1 or rest.startswith(PRONOUNS)):
            return rest
    return clause


def _opening(clause: str) -> tuple[str, str]:
    """当, 虽然, … at the beginning of a clause, and the rest of it."""
    for word in sorted(listed("opening"), key=len, reverse=True):
        if clause.startswith(word):
            return word, clause[len(word) :]
    return "", clause


@cache
def _dictionary() -> Set[str]:
    """Words that jieba knows; it guesses others, such as foreign names, and their class."""
    freq: dict[str, int] = segmenter().tokenizer.FREQ
    return {word for word, count in freq.items() if count}


@cache
def segmenter() -> Any:
    """jieba with word classes, loaded when the first clause is segmented.

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
