"""The shallow Chinese miner: sentences to templates."""

from __future__ import annotations

import marshal
from dataclasses import replace
from pathlib import Path

import pytest
from tests.processes import python

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages import read_lexicon
from clinometer.contexts.mining.languages.chinese.language import TOPIC, Chinese
from clinometer.contexts.mining.languages.chinese.script import is_simplified
from clinometer.errors import SettingsError
from clinometer.topics import load_topic


@pytest.fixture(scope="module")
def chinese() -> Chinese:
    return Chinese(MineSettings(topic=load_topic(TOPIC)))


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("他说他会回来", "[X]说[Y]"),
        ("后来，她承认她就是女主角", "[X]承认[Y]"),
        ("她公開聲稱她極為討厭布道", "[X]声称[Y]"),
        ("医生很累，但他没有休息", "[X]很累，但[Y]"),
        ("她离开学校，因为她生病了", "[X]离开学校，因为[Y]"),
        ("当他毕业时，他找到了工作", "当[X]毕业时，[Y]"),
        ("他毕业以后，他找到了工作", "[X]毕业以后，[Y]"),
        ("她簽訂了合約，但她沒有畢業", "[X]签订了合约，但[Y]"),
        ("他離開了觀測檯，但他很累", "(traditional characters in the skeleton)"),
        (
            "离开学校之后，她开始工作",
            "[X]离开学校之后，[Y]",
        ),  # no subject: that of the second
        ("他学习法律，取得了学位，但他没有工作", "[X]取得了学位，但[Y]"),
        ("1990年她写了一本书，1995年她又写了一本", "[X]写了一本书，[Y]"),
        ("他在纽约工作了三年，后来他回国了", "[X]工作了三年，后来[Y]"),
        ("他毕业于莱顿大学，后来他回国了", "[X]毕业于一所大学，后来[Y]"),
        ("战争结束后，她回国了", "(subject is not a person)"),
        ("他死后，他的书才出版", "([X] is dead)"),
        ("她成为一位作家，但她很穷", "(another job in the skeleton)"),
        ("他最著名的书很厚，但他不满意", "(subject is not one person)"),
        ("普鲁塔克认为他是国王", "(nothing joins the clauses)"),
        ("他说她会回来", "(subject and [Y] differ in gender)"),
        ("大桥很长，他走了过去", "(subject is not a person)"),
        ("他去了北京，但他不喜欢", "(name in the skeleton)"),
        ("她是一个女孩，但她很强", "(gender cue in the skeleton)"),
        ("她一边唱歌，但她很累", "(incomplete predicate)"),  # half of a pair
        ("他于1980年代走红，后来他回国了", "[X]走红，后来[Y]"),  # not 代走红
        ("他继位后，他改革了税法", "(gender cue in the skeleton)"),
    ],
)
def test_pattern(chinese: Chinese, sentence: str, wanted: str) -> None:
    candidates = chinese.find(f"无关的句子。{sentence}。")
    assert len(candidates) == 1
    (decisions,) = chinese.decide(candidates)
    assert wanted in [d.template or f"({d.rule})" for d in decisions]


@pytest.mark.parametrize(
    "text",
    [
        "没有代词的文章。",
        "医生很累，但他们没有休息。",
        "马耳他是岛国，其他国家也有吉他，他人不知。",
    ],
)
def test_without_a_pronoun_by_itself_there_is_no_candidate(
    chinese: Chinese, text: str
) -> None:
    assert chinese.find(text) == []


def test_the_next_sentence_may_begin_with_y(chinese: Chinese) -> None:
    candidates = chinese.find(
        "医生很累。后来他休息了一天。标题\n护士走了。天气很好。她回来了。"
    )
    templates = [
        d.template for decisions in chinese.decide(candidates) for d in decisions
    ]
    assert templates == ["[X]很累。后来[Y]", None]


def test_the_name_of_the_article_is_a_person(chinese: Chinese) -> None:
    text = (
        "圣修伯里是作家。他会飞行。圣修伯里一生都在画画，但他没有学过画画。他很有名。"
    )
    templates = [
        d.template
        for decisions in chinese.decide(chinese.find(text))
        for d in decisions
    ]
    assert "[X]一生都在画画，但[Y]" in templates


def test_only_pronouns_can_be_mined() -> None:
    adjectives = replace(load_topic(TOPIC), attributes={"a": ("b",), "c": ("d",)})
    with pytest.raises(SettingsError, match=f"not adjectives.*see the topic {TOPIC}"):
        Chinese(MineSettings(topic=adjectives))


def test_the_table_pairs_characters_of_two_scripts() -> None:
    script = read_lexicon("clinometer.contexts.mining.languages.chinese")["script"]
    traditional, simplified = ("".join(script[key].split()) for key in script)
    assert len(traditional) == len(simplified) == len(set(traditional))
    assert is_simplified(simplified)
    assert not set(traditional) & set(simplified)


@pytest.mark.parametrize(
    "content", [marshal.dumps(({"他说": 10**9}, 10**9)), b"\xdb" * 64]
)
def test_what_lies_in_the_folder_for_temporary_files_is_not_read(
    tmp_path: Path, content: bytes
) -> None:
    """jieba by itself takes the dictionary of anybody who wrote a file of this name there."""
    (tmp_path / "jieba.cache").write_bytes(content)
    code = (
        "import sys, tempfile\n"
        "tempfile.tempdir = sys.argv[1]\n"
        "from clinometer.contexts.mining.languages.chinese.segmentation import segmenter\n"
        "print([pair.word for pair in segmenter().cut('他说他离开学校')])"
    )
    done = python(code, tmp_path)
    assert "['他', '说', '他', '离开', '学校']" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["jieba.cache"]
