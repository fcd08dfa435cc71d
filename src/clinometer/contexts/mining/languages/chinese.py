"""Chinese: a shallow miner over segmented text.

No Chinese dependency parser installs from PyPI without a further download, so there is no parse.
Words and their classes come from jieba; three patterns of neighbouring clauses are recognised:

    他说他…                 [X]说[Y]             a verb of saying or thinking between two pronouns
    医生很累，但他…          [X]很累，但[Y]        two clauses, joined by a conjunction or, as in
                                                 Chinese they may be, by a comma alone
    当他毕业时，他…          当[X]毕业时，[Y]      a clause of time, cause or concession first

It does not handle long-distance links, subjects with modifiers (的), dropped subjects (most
subjects in Chinese), or pronouns with another person between them and the subject. A name before a
verb of thinking is not used: in 普鲁塔克认为他… the pronoun is someone else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from clinometer.contexts.mining.automaton import WordAutomaton
from clinometer.contexts.mining.decision import Decision, Dropped
from clinometer.contexts.mining.settings import MineSettings
from clinometer.errors import SettingsError
from clinometer.extras import require

PRONOUNS = ("他", "她")
SAYING = frozenset(
    "说 称 表示 认为 相信 指出 宣布 承认 知道 觉得 发现 希望 声称 宣称 强调 透露 回忆 以为 担心 "
    "感到 意识到 坚持 解释 写道 猜测 预言 发誓 证明 记得 听说".split()
)
JOINING = frozenset("因为 但 但是 所以 因此 而且 并且 不过 然而 于是 直到 可是 而".split())
TIMES = ("时", "后", "前", "之后", "以后", "之前", "以前", "期间")
OPENING = ("当", "在", "虽然", "尽管", "由于", "因为", "如果", "自从")
_SAID = re.compile(
    r"(?P<subject>[他她])(?:[一曾也又还却则便就常再]|公开|后来|一直|曾经|多次|自己){0,2}"
    r"(?P<verb>" + "|".join(sorted(SAYING, key=len, reverse=True)) + ")"
)
LONGEST = 8  # words of a predicate
_SENTENCE = re.compile(r"[^。！？；\n]+")
_Y = re.compile(r"[他她](?![们們])")
_CLAUSES = re.compile(r"[，,：:、（）()《》]")
#: Classes of words that can follow a subject: verbs, adverbs, adjectives, prepositions.
_BEGIN = ("v", "d", "a", "p", "zg")
#: jieba's classes of names, dates and foreign words: never left in a skeleton.
_NAMES = ("nr", "ns", "nt", "nz", "eng", "x", "nrt", "nrfg", "t")
_TO_SIMPLIFIED = str.maketrans(
    "說認為稱發現覺決報寫見後離開對學會來時個這們還過讓與從當進業間無國長實種動體點電門問題"
    "師員職書記務處運應請給結婚親愛樂視聽讀語講話談論證預誓堅強調釋猜測憶擔識終於雖隻並卻獲選"
    "則帶沒將擁經課幾訪採單獎勵歸犧彈舉兩説連獨續產際麼樣類響興龍區層據"
    "聲極討厭醫廣內變難願擊敗勝戰爭軍隊領導議聯盟會黨總統歲歷馬車東傳條線級組織",
    "说认为称发现觉决报写见后离开对学会来时个这们还过让与从当进业间无国长实种动体点电门问题"
    "师员职书记务处运应请给结婚亲爱乐视听读语讲话谈论证预誓坚强调释猜测忆担识终于虽只并却获选"
    "则带没将拥经课几访采单奖励归牺弹举两说连独续产际么样类响兴龙区层据"
    "声极讨厌医广内变难愿击败胜战争军队领导议联盟会党总统岁历马车东传条线级组织",
)


class Chinese:
    """A `Language`."""

    def __init__(self, settings: MineSettings) -> None:
        words = set(settings.topic.words)
        if not set(PRONOUNS) <= words or settings.strategy == "predicate":
            raise SettingsError(
                f"topic {settings.topic.name!r}: expected the words 他 and 她 and clauses, "
                "not adjectives, for Chinese mining; found others"
            )
        require("mining Chinese text", "jieba")
        self._persons = frozenset(group.text for group in settings.topic.groups)
        self._cues = frozenset(words)
        self._find = WordAutomaton(PRONOUNS, whole=False)

    def find(self, text: str) -> list[str]:
        """Sentences with a pronoun after their start."""
        if next(iter(self._find.find(text)), None) is None:
            return []
        found = []
        for match in _SENTENCE.finditer(text):
            sentence = match[0].strip().translate(_TO_SIMPLIFIED)
            if any(p in sentence[2:] for p in PRONOUNS) and len(sentence) <= 120:
                found.append(sentence)
        return found

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        for sentence in sentences:
            yield list(self._decide(sentence))

    def _decide(self, sentence: str) -> Iterator[Decision]:
        for match in _Y.finditer(sentence):
            y = match.start()
            if y == 0:
                continue
            evidence = f"[Y]={match[0]}@{y} after {sentence[max(0, y - 16) : y]}"
            try:
                template = self._template(sentence, y)
            except Dropped as no:
                yield Decision(sentence, None, no.rule, evidence)
            else:
                yield Decision(sentence, template, "", evidence)

    def _template(self, sentence: str, y: int) -> str:
        before = sentence[:y]
        if sum(before.count(mark) for mark in '“”「」『』"') % 2:
            raise Dropped("inside a quotation")
        *earlier, clause = _CLAUSES.split(before)
        if saying := _SAID.fullmatch(clause):
            if saying["subject"] != sentence[y]:
                raise Dropped("subject and [Y] differ in gender")
            return f"[X]{saying['verb']}[Y]"
        if clause and clause not in JOINING:
            raise Dropped("nothing joins the clauses")
        if not earlier or before[len(before) - len(clause) - 1] not in "，,":
            raise Dropped("no predicate before [Y]")
        opening, rest = _opening(earlier[-1])
        return f"{opening}[X]{self._predicate(rest, sentence[y])}，{clause}[Y]"

    def _predicate(self, clause: str, pronoun: str) -> str:
        if len(clause) > 3 * LONGEST:
            raise Dropped("too long")
        words = [(pair.word, pair.flag) for pair in _segmenter().cut(clause)]
        if len(words) < 2:
            raise Dropped("incomplete predicate")
        (subject, kind), rest = words[0], words[1:]
        if subject in PRONOUNS:
            if subject != pronoun:
                raise Dropped("subject and [Y] differ in gender")
        elif subject not in self._persons and kind not in ("nr", "nrfg"):
            raise Dropped("subject is no person")
        if rest[0][0][:1] in ("们", "的", "和", "与", "等", "本"):
            raise Dropped("subject is not one person")
        if subject not in PRONOUNS and not rest[0][1].startswith(_BEGIN):
            raise Dropped("name cut in two")  # 贝|克 本人, 路易|十二
        if len(rest) > LONGEST:
            raise Dropped("too long")
        timed = rest[-1][0].endswith(TIMES)  # the segmenter takes 毕业 for a noun
        if not timed and not any(flag.startswith(("v", "a")) for _, flag in rest):
            raise Dropped("incomplete predicate")
        for word, flag in rest:
            if word in PRONOUNS or word in self._cues or "男" in word or "女" in word:
                raise Dropped("gender cue in the skeleton")
            if flag in _NAMES or not all("一" <= c <= "鿿" for c in word):
                raise Dropped("name in the skeleton")
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


def _opening(clause: str) -> tuple[str, str]:
    """当, 虽然, … at the beginning of a clause, and the rest of it."""
    for word in OPENING:
        if clause.startswith(word):
            closed = clause.endswith(TIMES)
            if word in ("当", "在") and not closed:
                raise Dropped("clause opens with a preposition")
            return word, clause[len(word) :]
    return "", clause


@cache
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
