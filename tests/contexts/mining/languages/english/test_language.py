"""Sentences to templates, decided by the real parser: a table by hand, mining as the BVF paper
describes it, and the people of a topic."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages.english import language
from clinometer.contexts.mining.languages.english.language import (
    NO_ONE,
    English,
    mentioned_in,
)
from clinometer.errors import SettingsError
from clinometer.topics import load_topic

HERE = Path(__file__).parent


def cases(name: str) -> list[tuple[str, str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    return [(sentence, wanted) for sentence, wanted in (row.split(" => ") for row in rows)]


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., English]:
    """The miner of gender, looking for links of these kinds alone."""

    def of_kinds(*kinds: str) -> English:
        monkeypatch.setattr(language, "LINK_WORDS", {k: language.LINK_WORDS[k] for k in kinds})
        return English(MineSettings(topic=load_topic("gender")))

    return of_kinds


@pytest.fixture(scope="module")
def race() -> English:
    return English(MineSettings(topic=load_topic("race"), about="any"))


def decisions_on(miner: English, sentence: str) -> list[str]:
    decisions = next(miner.decide([(sentence, NO_ONE)]))
    return [d.template or f"({d.rule})" for d in decisions]


@pytest.mark.parametrize(("sentence", "wanted"), cases("skeletons.txt"))
def test_skeleton(only: Callable[..., English], sentence: str, wanted: str) -> None:
    decisions = decisions_on(only("clause"), sentence)
    templates = [t for t in decisions if not t.startswith("(")]
    assert wanted in decisions
    assert templates == ([] if wanted.startswith("(") else [wanted])


@pytest.mark.parametrize(("sentence", "wanted"), cases("predicates.txt"))
def test_predicate(race: English, sentence: str, wanted: str) -> None:
    assert wanted in decisions_on(race, sentence)


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        ("She devoted herself to music.", "The [X] devoted [Y]"),
        ("The lawyer asked himself a question.", "The [X] asked [Y]"),
        ("The pilot lost his job.", "The [X] lost [Y]"),
        ("She was known for her novels.", "The [X] was known for [Y]"),
        ("The writer was known for her novels.", "(confidence below the minimum)"),
        ("The report lost his name.", "(subject is not a person)"),
        ("She began her career in Paris.", "The [X] began [Y]"),
        ("She made her debut in Paris.", "([Y] could be another person)"),  # or: made her a star
        ("Smith received his degree from the college.", "The [X] received [Y]"),
        ("The pilot flew to Leeds, starting her first race.", "The [X] started [Y]"),
        ("She met her husband in Paris.", "([Y] could be another person)"),
        ("He supported his plan.", "([Y] could be another person)"),  # or: supported him
        ("He was himself a victim.", "([Y] is not an object)"),
    ],
)
def test_other_links(only: Callable[..., English], sentence: str, wanted: str) -> None:
    assert decisions_on(only("reflexive", "possessive"), sentence) == [wanted]


def test_only_sentences_with_a_candidate_are_found(only: Callable[..., English]) -> None:
    english = only("clause")
    text = "He was born in 1900. It rained. The nurse said that she would stay. Was he ill?"
    assert english.find(text) == [("The nurse said that she would stay.", NO_ONE)]
    assert english.find("Nothing of the kind.") == []


#: sentence -> the template by default, and as in the paper
GENDER = {
    "Detective Smith said he would leave no stone unturned.": ("The [X] said that [Y]",) * 2,
    "The female engineer explained that it was late.": (None, "The [X] explained that [Y]"),
    "The female engineer explained the plan.": (None, "The [X] explained the plan [Y]"),
    "The woman announced that the bridge had collapsed.": (None, "The [X] announced that [Y]"),
    "The king died in those days.": (None, "The [X] died that [Y]"),
    "The female population grew quickly.": (None, None),
    "The men said that it was late.": (None, None),
}


def templates_of(sentence: str, settings: MineSettings) -> list[str]:
    """Of a sentence that is a candidate; none of one that is not."""
    language = English(settings)
    (decisions,) = language.decide(language.find(sentence) or [("None at all here.", NO_ONE)])
    return [one.template for one in decisions if one.template]


@pytest.mark.parametrize("sentence", GENDER)
def test_a_word_may_be_or_modify_the_subject_as_in_the_paper(sentence: str) -> None:
    topic = load_topic("gender")
    for as_in_paper, expected in zip((False, True), GENDER[sentence], strict=True):
        found = templates_of(sentence, MineSettings(topic=topic, as_in_paper=as_in_paper))
        assert found == ([] if expected is None else [expected])


def test_predicates_have_any_length_as_in_the_paper() -> None:
    sentence = (
        "Smith managed to persuade the board to agree to fund the school for the children of the "
        "workers before he left."
    )
    template = "The [X] managed to persuade the board to agree to fund the school before [Y]"
    topic = load_topic("gender")
    assert templates_of(sentence, MineSettings(topic=topic, min_confidence=0)) == []
    assert templates_of(sentence, MineSettings(topic=topic, as_in_paper=True)) == [template]


def test_for_race_the_subjects_are_occupations_as_in_the_paper() -> None:
    race = load_topic("race")
    played = "The [X], who played a role, is [Y]"
    for subject, expected in (("engineer", [played]), ("woman", [])):
        sentence = f"The {subject} played a role in the project."
        assert templates_of(sentence, MineSettings(topic=race, as_in_paper=True)) == expected
        assert templates_of(sentence, MineSettings(topic=race, about="any")) == [played]


def test_other_languages_have_no_paper() -> None:
    with pytest.raises(SettingsError, match="English"):
        MineSettings(topic=load_topic("gender-zh"), as_in_paper=True)


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
