"""The people of a topic: who is one, by an article or by the sentence itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.contexts.mining.languages.english.conftest import WON, mined

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages.english.language import English
from clinometer.contexts.mining.languages.english.people import mentioned_in
from clinometer.topics import load_topic


@pytest.mark.parametrize(
    ("text", "topics"),
    [
        ("Ann Lee (born 1950) is an Indian film director. She left.", "race"),
        (
            "Ann Lee, also known as Ann, was an African-American lawyer. She left.",
            "race",
        ),
        ("Ann Lee is a writer of Chinese descent. She left.", "race"),
        ("Ann Lee is a Roman Catholic bishop. She left.", "religion"),
        (
            "Ann Lee is a writer. She was born into a Jewish family. She left.",
            "religion",
        ),
        ("Ann Lee is a writer. In 1990, she converted to Islam. She left.", "religion"),
        ("Ann Lee is a writer. She became deaf in 1990. She left.", "disability"),
        ("Ann Lee is a writer. She was diagnosed with autism. She left.", "disability"),
        ("Ann Lee is an Indian lawyer. Lee is a Sikh. She left.", "race religion"),
        ("Ann Lee is a writer. She met a blind man. She left.", ""),
        ("Ann Lee is a writer. The hotel was Jewish. She left.", ""),
        ("The Wall is an Indian film directed by a writer. She left.", ""),  # no person
        ("Ann Lee is a writer for an Indian newspaper. She left.", ""),
        (
            "Ann Lee is an Indian lawyer. Lee left.",
            "",
        ),  # no pronoun: too little to go by
        ("In 1990 there was a flood.", ""),
    ],
)
def test_articles_about_people_of_a_topic(text: str, topics: str) -> None:
    persons = frozenset(["director", "lawyer", "writer"])
    assert mentioned_in(text, persons).topics == set(topics.split())


def test_an_article_counts_for_its_subject_alone() -> None:
    """Not for the driver, not for him, and not for her after her brother."""
    article = (
        "Ann Lee is an Indian lawyer. Lee won a prize. In 1990, she entered politics. "
        "She was happy. The driver sold a house. Her brother said that she lost a case. "
        "He joined the army."
    )
    predicates = ["won a prize", "entered politics", "was happy"]
    templates = [f"The [X], who {predicate}, is [Y]" for predicate in predicates]
    assert mined(article, "race") == templates
    assert mined(article, "religion") == []


@pytest.mark.parametrize(
    ("topic", "sentence", "wanted"),
    [
        ("disability", "The blind pianist won a prize.", True),
        ("disability", "Smith, a deaf teacher, won a prize.", True),
        ("disability", "The visually impaired runner won a prize.", True),
        ("race", "He was an Indian lawyer who won a prize.", True),
        ("race", "The lawyer, who was black, won a prize.", True),
        ("religion", "The rabbi won a prize.", True),
        ("religion", "A Muslim won a prize.", True),
        ("race", "The Indian army's lawyer won a prize.", False),
        ("race", "The lawyer met a black nurse.", False),
        ("religion", "The Indian lawyer won a prize.", False),
    ],
)
def test_people_described_in_a_sentence(
    topic: str, sentence: str, wanted: bool
) -> None:
    assert mined(sentence, topic) == ([WON] if wanted else [])


def test_a_topic_without_such_words_takes_any_person() -> None:
    english = English(
        MineSettings(topic=replace(load_topic("race"), name="nationality"))
    )
    (decisions,) = english.decide(english.find("The nurse won a prize."))
    assert [d.template for d in decisions] == [WON]
    assert english.describe()["about"] == "any"
