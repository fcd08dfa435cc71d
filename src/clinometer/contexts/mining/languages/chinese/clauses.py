"""One Chinese clause: its opening, its subject, and a predicate that can stand in a template.

All text is turned into simplified characters first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any

from clinometer.contexts.mining.languages.shared import Dropped, drop_if, read_lexicon, word_list

PRONOUNS = ("他", "她")
LONGEST = 15  # words of a predicate
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


def to_simplified(text: str) -> str:
    """Text with the characters of our table simplified.

    >>> to_simplified("她離開了學校，看著天，很著名")
    '她离开了学校，看着天，很著名'
    """
    return _ASPECT.sub("着", text.translate(_table()))


def is_simplified(text: str) -> bool:
    """Whether every character is a simplified one, that is, in GB 2312.

    >>> is_simplified("离开学校"), is_simplified("離開学校")
    (True, False)
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


def subject_of(clause: str, persons: Set[str], names: Sequence[str] = ()) -> ChineseClause:
    """Split a clause; `Dropped` if its subject is not a person. `names` are known to be persons."""
    opening, rest = _opening(_without_adverbial(clause))
    timed = rest.endswith(tuple(listed("times")))
    drop_if(opening in listed("opens_time") and not timed, "clause opens with a preposition")
    name = next((name for name in names if rest.startswith(name)), None)
    foreign = None if name else _FOREIGN.match(rest)
    rest = rest[foreign.end() :] if foreign else rest.removeprefix(name or "")
    drop_if(len(rest) > 3 * LONGEST, "too long")
    words = [(name, "nr")] if name else []
    words = _without_title(_without_place(words + _segment(rest)))
    drop_if(len(words) < 2, "incomplete predicate")
    (first, kind), others = words[0], words[1:]
    is_name = kind in _PERSON_NAMES and not first.endswith("人")
    is_person = first in persons or is_name or _is_title(words[0])
    if first in PRONOUNS or is_person or foreign:
        if others[0][0][:1] in ("们", "的", "和", "与", "等", "本", "及", "之") or _modified(
            others
        ):
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
    return flag.startswith("n") and text.endswith(_TITLES[:7]) and text not in listed("no_title")


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
    drop_if(len(words) > LONGEST, "too long")
    # the segmenter takes 毕业 for a noun
    says = any(flag.startswith(("v", "a")) or w in listed("verbs") for w, flag in words)
    drop_if(not clause.timed and not says, "incomplete predicate")
    for word, flag in words:
        drop_if(word in cues or set(word) & _GENDERED, "gender cue in the skeleton")
        drop_if(set(word) & set("我你您"), "first or second person")
        era = flag == "t" and word.endswith(("朝", "代", "年", "年间", "公元前", "公元"))
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
        words[0][0] == "在" and last in ("下", "中", "里", "上", "方面"), "incomplete predicate"
    )
    if last.endswith((*_TITLES, "之一")) and {word for word, _ in words} & listed("copulas"):
        raise Dropped("another job in the skeleton")


def _can_begin(words: list[Word]) -> bool:
    """Whether words are a predicate whose subject is left out, and a person's."""
    for word, flag in words[:3]:
        if word in listed("no_person_does") or word not in _dictionary() or flag == "vg":
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
