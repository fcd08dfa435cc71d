"""The people of a topic: who is described in a sentence, and who an article is about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages.english.language import English
from clinometer.contexts.mining.languages.english.people import NO_ONE, Mention, mentioned_in
from clinometer.topics import load_topic

PERSONS = frozenset(["director", "lawyer", "writer"])


def open_english(topic: str) -> English:
    return English(MineSettings(topic=load_topic(topic)))


def templates(language: English, text: str) -> list[str]:
    """Everything that is kept of an article, in order."""
    decisions = [d for each in language.decide(language.find(text)) for d in each]
    kept = [d.template for d in decisions if d.template]
    return [t.removeprefix("The [X], who ").removesuffix(", is [Y]") for t in kept]


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("Ann Lee (born 1950) is an Indian film director. She left.", "race"),
        ("Ann Lee, also known as Ann, was an African-American lawyer. She left.", "race"),
        ("Ann Lee is a writer of Chinese descent. She left.", "race"),
        ("Ann Lee is a Roman Catholic bishop. She left.", "religion"),
        ("Ann Lee is a writer. She was born into a Jewish family. She left.", "religion"),
        ("Ann Lee is a writer. In 1990, she converted to Islam. She left.", "religion"),
        ("Ann Lee is a writer. She became deaf in 1990. She left.", "disability"),
        ("Ann Lee is a writer. She was diagnosed with autism. She left.", "disability"),
        ("Ann Lee is an Indian lawyer. Lee is a Sikh. She left.", "race religion"),
        ("Ann Lee is a writer. She met a blind man. She left.", ""),
        ("Ann Lee is a writer. The hotel was Jewish. She left.", ""),
        ("The Wall is an Indian film directed by a writer. She left.", ""),  # no person
        ("Ann Lee is a writer for an Indian newspaper. She left.", ""),
        ("Ann Lee is an Indian lawyer. Lee left.", ""),  # no pronoun: too little to go by
        ("In 1990 there was a flood.", ""),
    ],
)
def test_articles_about_people_of_a_topic(text: str, topics: str) -> None:
    assert mentioned_in(text, PERSONS).topics == set(topics.split())


def test_a_mention_survives_writing() -> None:
    mention = mentioned_in("Ann van Lee is an Indian lawyer. She left.", PERSONS)
    assert Mention.read(mention.write()) == mention
    assert mention.names == {"Ann", "Lee"}
    assert Mention.read("") == NO_ONE


ARTICLE = (
    "Ann Lee is an Indian lawyer. Lee won a prize. In 1990, she entered politics. "
    "She was happy. The driver sold a house. Her brother said that she lost a case. "
    "He joined the army."
)


def test_an_article_counts_for_its_subject_alone() -> None:
    """Not for the driver, not for him, and not for her after her brother."""
    assert templates(open_english("race"), ARTICLE) == [
        "won a prize",
        "entered politics",
        "was happy",
    ]
    assert templates(open_english("religion"), ARTICLE) == []


@pytest.mark.parametrize(
    ("topic", "sentence", "wanted"),
    [
        ("disability", "The blind pianist won a prize.", "won a prize"),
        ("disability", "Smith, a deaf teacher, won a prize.", "won a prize"),
        ("disability", "The visually impaired runner won a prize.", "won a prize"),
        ("race", "He was an Indian lawyer who won a prize.", "won a prize"),
        ("race", "The lawyer, who was black, won a prize.", "won a prize"),
        ("religion", "The rabbi won a prize.", "won a prize"),
        ("religion", "A Muslim won a prize.", "won a prize"),
        ("race", "The Indian army's lawyer won a prize.", None),
        ("race", "The lawyer met a black nurse.", None),
        ("religion", "The Indian lawyer won a prize.", None),
    ],
)
def test_people_described_in_a_sentence(topic: str, sentence: str, wanted: str | None) -> None:
    assert templates(open_english(topic), sentence) == ([] if wanted is None else [wanted])


def test_a_topic_without_such_words_takes_any_person() -> None:
    language = English(MineSettings(topic=replace(load_topic("race"), name="nationality")))
    assert templates(language, "The nurse won a prize.") == ["won a prize"]
    assert language.describe()["about"] == "any"
