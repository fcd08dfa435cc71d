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
    "聲極討厭醫廣內變難願擊敗勝戰爭軍隊領導議聯盟會黨總統歲歷馬車東傳條線級組織"
    "數爾亞機義華關灣設約計權場達羅蘭島許質臺歐別紀較漢縣萬術團該資劇屬賽氣圖觀號陽張參風轉蘇"
    "濟創標規陸維構專聖陳頭眾黃畫隨節裝製孫遊備奧園衛環戲繼魯納確劃協辦顯積熱藝裡態遠詞編準錄"
    "狀勢圍倫係佔飛邊復營壓網護殺斷價僅溫項絕劉簡鐵執詩雙載漸滿負譯紅費兒責鄭槍嚴舊遼農評適恆"
    "須餘範宮異細習階諾佈況試滅諸驗繩館軟沖吳魚鎮減貝儀腦韓監鏡輸擴麗臘訊頓遺藥薩曆換輕樓禮億"
    "楊寶遷麥築呂鮮憲戶夠慶亂奪轄優雲臨駐雜嶺併榮傷碼貨貴鄉療獻靈屆針廢齊競週訓寧廠圓銀軌險順"
    "粵訂凱複聞輪財練勞衝購萊養補閣紐鬥辭葉頂啟誌簽飲瑪橋顆隕礎艦敵輔幣賓審縮蓋盤烏穩襲畢剛謂"
    "擇錢豐毀庫揮稅獵爲緣頒陰猶銷盡嶼歡攝棄徑壽貿媽陣樹輯貢顏晉譜誤幹尋脫懷訴鳥檢藍惡頻壞蔣顧"
    "額蕭幫謀婦筆飾譽釣髮韻燒輝純茲揚廟劍紛廳輛錯綠鐘壘鍵買緊傾錫寬麵偉靜繪損賣慮趙謝側齡鄰傑"
    "澤暫紹繞鹽誕觸災溝隸盧躍喬違敘裏鳳儘廈緩閩韋軸賴橫鋼績贊跡脈濃賀賞脅塊趨慣緯絲賭驅虛偵峽"
    "糧詳隱腳匯紙漿託湯壇緒籌輻騎賦遜漁肅脹綱莊冊殘潛鋒辯斬夢砲獄閱憑劑禦儲喪徹礦詢鄧疊誠縱倉"
    "邁擾覽嘗蓮擬繫噴鎖郵註潔鳴閉娛綜牆絡檔遞罰駕鯨彙轟戀雞礙掛彌罷銅賢殼駛貧飯販驚膠撥淵迴勸"
    "閃撫貞餅銘窮賜銜獅錦塵荊趕壯鬆騰潰貫懸馮擺慘蹟獸遲龐煙盜濱帳攜贈龜碩淨蟲頗貓掃淺貼漲恥艱",
    "说认为称发现觉决报写见后离开对学会来时个这们还过让与从当进业间无国长实种动体点电门问题"
    "师员职书记务处运应请给结婚亲爱乐视听读语讲话谈论证预誓坚强调释猜测忆担识终于虽只并却获选"
    "则带没将拥经课几访采单奖励归牺弹举两说连独续产际么样类响兴龙区层据"
    "声极讨厌医广内变难愿击败胜战争军队领导议联盟会党总统岁历马车东传条线级组织"
    "数尔亚机义华关湾设约计权场达罗兰岛许质台欧别纪较汉县万术团该资剧属赛气图观号阳张参风转苏"
    "济创标规陆维构专圣陈头众黄画随节装制孙游备奥园卫环戏继鲁纳确划协办显积热艺里态远词编准录"
    "状势围伦系占飞边复营压网护杀断价仅温项绝刘简铁执诗双载渐满负译红费儿责郑枪严旧辽农评适恒"
    "须余范宫异细习阶诺布况试灭诸验绳馆软冲吴鱼镇减贝仪脑韩监镜输扩丽腊讯顿遗药萨历换轻楼礼亿"
    "杨宝迁麦筑吕鲜宪户够庆乱夺辖优云临驻杂岭并荣伤码货贵乡疗献灵届针废齐竞周训宁厂圆银轨险顺"
    "粤订凯复闻轮财练劳冲购莱养补阁纽斗辞叶顶启志签饮玛桥颗陨础舰敌辅币宾审缩盖盘乌稳袭毕刚谓"
    "择钱丰毁库挥税猎为缘颁阴犹销尽屿欢摄弃径寿贸妈阵树辑贡颜晋谱误干寻脱怀诉鸟检蓝恶频坏蒋顾"
    "额萧帮谋妇笔饰誉钓发韵烧辉纯兹扬庙剑纷厅辆错绿钟垒键买紧倾锡宽面伟静绘损卖虑赵谢侧龄邻杰"
    "泽暂绍绕盐诞触灾沟隶卢跃乔违叙里凤尽厦缓闽韦轴赖横钢绩赞迹脉浓贺赏胁块趋惯纬丝赌驱虚侦峡"
    "粮详隐脚汇纸浆托汤坛绪筹辐骑赋逊渔肃胀纲庄册残潜锋辩斩梦炮狱阅凭剂御储丧彻矿询邓叠诚纵仓"
    "迈扰览尝莲拟系喷锁邮注洁鸣闭娱综墙络档递罚驾鲸汇轰恋鸡碍挂弥罢铜贤壳驶贫饭贩惊胶拨渊回劝"
    "闪抚贞饼铭穷赐衔狮锦尘荆赶壮松腾溃贯悬冯摆惨迹兽迟庞烟盗滨帐携赠龟硕净虫颇猫扫浅贴涨耻艰",
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
            if not is_simplified(word):
                raise Dropped("traditional characters in the skeleton")
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


def is_simplified(text: str) -> bool:
    """Whether every character is a simplified one, that is, in GB 2312.

    >>> is_simplified("离开学校"), is_simplified("離開学校")
    (True, False)
    """
    try:
        text.encode("gb2312")
    except UnicodeEncodeError:
        return False
    return True


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
