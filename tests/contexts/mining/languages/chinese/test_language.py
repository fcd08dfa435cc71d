"""The shallow Chinese miner: sentences to templates."""

from __future__ import annotations

import pytest

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages import open_language
from clinometer.contexts.mining.languages.chinese.language import Chinese
from clinometer.errors import SettingsError
from clinometer.topics import load_topic


@pytest.fixture(scope="module")
def chinese() -> Chinese:
    language = open_language(MineSettings(topic=load_topic("gender-zh")))
    assert isinstance(language, Chinese)
    return language


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
        ("普鲁塔克认为他是国王", "(nothing joins the clauses)"),
        ("他说她会回来", "(subject and [Y] differ in gender)"),
        ("大桥很长，他走了过去", "(subject is no person)"),
        ("他去了北京，但他不喜欢", "(name in the skeleton)"),
        ("她是一个女孩，但她很强", "(gender cue in the skeleton)"),
    ],
)
def test_pattern(chinese: Chinese, sentence: str, wanted: str) -> None:
    candidates = chinese.find(f"无关的句子。{sentence}。")
    assert len(candidates) == 1
    (decisions,) = chinese.decide(candidates)
    assert wanted in [d.template or f"({d.rule})" for d in decisions]


def test_plural_pronouns_are_not_candidates(chinese: Chinese) -> None:
    (decisions,) = chinese.decide(["医生很累，但他们没有休息"])
    assert decisions == []
    assert chinese.find("没有代词的文章。") == []


def test_only_pronouns_can_be_mined() -> None:
    with pytest.raises(SettingsError, match="not adjectives"):
        open_language(MineSettings(topic=load_topic("gender-zh"), strategy="predicate"))
