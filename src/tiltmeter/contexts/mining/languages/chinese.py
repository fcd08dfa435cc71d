"""Chinese: a shallow miner over segmented text.

No Chinese dependency parser installs from PyPI without a download of its own, so there is no parse.
Words and their classes come from jieba; three patterns of neighbouring clauses are read:

    他说他…                 [X]说[Y]             a verb of saying or thinking between two pronouns
    医生很累，但他…          [X]很累，但[Y]        two clauses joined by a conjunction
    他毕业后，他…            [X]毕业后，[Y]        a clause of time before that of [Y]

What it cannot do: long-distance links, subjects with modifiers (的), dropped subjects (most of them,
in Chinese), and telling whom a pronoun means where another person stands between. A name before a
verb of thinking is not taken: 普鲁塔克认为他… speaks of somebody else.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tiltmeter.contexts.mining.automaton import Words
from tiltmeter.contexts.mining.decision import Decision, Refused
from tiltmeter.contexts.mining.settings import MineSettings
from tiltmeter.errors import MissingExtra, SettingsError

PRONOUNS = ("他", "她")
SAYING = frozenset(
    "说 称 表示 认为 相信 指出 宣布 承认 知道 觉得 发现 希望 声称 宣称 强调 透露 回忆 以为 担心 "
    "感到 意识到 坚持 解释 写道 猜测 预言 发誓 证明 记得 听说".split()
)
JOINING = frozenset("因为 但 但是 所以 因此 而且 并且 不过 然而 于是 直到 可是 而".split())
TIMES = ("时", "后", "前", "之后", "以后", "之前", "以前", "期间")
LONGEST = 8  # words of a predicate
_SENTENCE = re.compile(r"[^。！？；\n]+")
_PLURAL = ("们", "們")
#: jieba's classes of names, numbers and foreign words: never left in a skeleton.
_NAMES = ("nr", "ns", "nt", "nz", "eng", "m", "x", "nrt", "nrfg", "t")
_ADVERBS = ("d", "ad", "p", "c", "f")
_TO_SIMPLIFIED = str.maketrans(
    "說認為稱發現覺決報寫見後離開對學會來時個這們還過讓與從當進業間無國長實種動體點電門問題"
    "師員職書記務處運應請給結婚親愛樂視聽讀語講話談論證預誓堅強調釋猜測憶擔識終於雖隻並卻獲選"
    "擊敗勝戰爭軍隊領導議聯盟會黨總統歲歷馬車東傳條線級組織",
    "说认为称发现觉决报写见后离开对学会来时个这们还过让与从当进业间无国长实种动体点电门问题"
    "师员职书记务处运应请给结婚亲爱乐视听读语讲话谈论证预誓坚强调释猜测忆担识终于虽只并却获选"
    "击败胜战争军队领导议联盟会党总统岁历马车东传条线级组织",
)


class Chinese:
    """A `Language`."""

    def __init__(self, settings: MineSettings) -> None:
        words = set(settings.topic.words)
        if not set(PRONOUNS) <= words or settings.strategy == "predicate":
            raise SettingsError(
                f"topic {settings.topic.name!r}: Chinese mining needs the words 他 and 她, and has "
                "no strategy for adjectives"
            )
        if importlib.util.find_spec("jieba") is None:
            raise MissingExtra("mining Chinese text", "jieba", extra="mining")
        self._persons = frozenset(group.text for group in settings.topic.groups)
        self._cues = frozenset(words)
        self._find = Words(PRONOUNS, whole=False)

    def find(self, text: str) -> list[str]:
        """Sentences with a pronoun that does not begin them."""
        if next(iter(self._find.find(text)), None) is None:
            return []
        found = []
        for match in _SENTENCE.finditer(text):
            sentence = match[0].strip().translate(_TO_SIMPLIFIED)
            if any(p in sentence[2:] for p in PRONOUNS) and len(sentence) <= 120:
                found.append(sentence)
        return found

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        posseg = _segmenter()
        for sentence in sentences:
            words = [(pair.word, pair.flag) for pair in posseg.cut(sentence)]
            yield list(self._decide(sentence, words))

    def _decide(self, sentence: str, words: list[tuple[str, str]]) -> Iterator[Decision]:
        for i, (word, _) in enumerate(words):
            following = words[i + 1][0] if i + 1 < len(words) else ""
            if i == 0 or word not in PRONOUNS or following[:1] in _PLURAL:
                continue
            before = [w for w, _ in words[:i]]
            evidence = f"[Y]={word}@{i} after {'/'.join(before[-LONGEST:])}"
            try:
                template = self._template(words, i)
            except Refused as no:
                yield Decision(sentence, None, no.rule, evidence)
            else:
                yield Decision(sentence, template, "", evidence)

    def _template(self, words: list[tuple[str, str]], y: int) -> str:
        if sum(w in '“”「」『』"' for w, _ in words[:y]) % 2:
            raise Refused("inside a quotation")
        pronoun = words[y][0]
        begin = max((k + 1 for k in range(y) if words[k][0] in "，,：:、（）()《》"), default=0)
        clause = words[begin:y]
        if len(clause) >= 2 and clause[-1][0] in SAYING:
            subject, said = clause[0], _skip_adverbs(clause[1:-1])
            if subject[0] != pronoun or said:
                raise Refused("subject is no person")
            return f"[X]{clause[-1][0]}[Y]"
        joint = "".join(w for w, _ in clause)
        if joint and joint not in JOINING:
            raise Refused("nothing joins the clauses")
        if begin < 2 or words[begin - 1][0] not in "，,":
            raise Refused("no predicate before [Y]")
        end = begin - 1
        first = max((k + 1 for k in range(end) if words[k][0] in "，,：:、（）()《》"), default=0)
        earlier = words[first:end]
        if earlier and earlier[0][0] in ("当", "在", "虽然", "由于"):
            raise Refused("clause opens with a preposition")
        if not joint and not (earlier and earlier[-1][0].endswith(TIMES)):
            raise Refused("nothing joins the clauses")
        predicate = self._predicate(earlier, pronoun)
        return f"[X]{predicate}，{joint}[Y]"

    def _predicate(self, clause: list[tuple[str, str]], pronoun: str) -> str:
        if len(clause) < 2:
            raise Refused("incomplete predicate")
        (subject, kind), rest = clause[0], clause[1:]
        if subject in PRONOUNS:
            if subject != pronoun:
                raise Refused("subject and [Y] differ in gender")
        elif subject not in self._persons and kind not in ("nr", "nrfg"):
            raise Refused("subject is no person")
        if len(rest) > LONGEST:
            raise Refused("too long")
        if not any(flag.startswith(("v", "a")) for _, flag in rest):
            raise Refused("incomplete predicate")
        for word, flag in rest:
            if word in PRONOUNS or word in self._cues or "男" in word or "女" in word:
                raise Refused("gender cue in the skeleton")
            if flag in _NAMES or not all("一" <= c <= "鿿" for c in word):
                raise Refused("name in the skeleton")
        if rest[0][0][:1] in ("们", "的", "和", "与"):
            raise Refused("subject is not one person")
        if any(one[0] == two[0] for one, two in pairwise(rest)):
            raise Refused("broken grammar")
        return "".join(word for word, _ in rest)

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


def _skip_adverbs(words: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(w, f) for w, f in words if f not in _ADVERBS]


def _segmenter():  # type: ignore[no-untyped-def]
    import logging
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # jieba imports pkg_resources, which warns
        import jieba
        import jieba.posseg
    jieba.setLogLevel(logging.ERROR)
    return jieba.posseg


def open_language(settings: MineSettings) -> Chinese:
    """The Chinese miner."""
    return Chinese(settings)
