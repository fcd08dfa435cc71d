"""Sentences to templates, decided by the real parser: a table by hand, mining as the BVF paper
describes it, the people of a topic, and whom a pronoun means, on GUM as benchmarks/coreference.py
measures it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.present import loaded

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.languages import Dropped, Parsed, SpacyParser
from clinometer.contexts.mining.languages.english import coreference
from clinometer.contexts.mining.languages.english.confidence import LinkFacts, facts_of
from clinometer.contexts.mining.languages.english.connectors import connector
from clinometer.contexts.mining.languages.english.language import English
from clinometer.contexts.mining.languages.english.links import clause_link, word_link
from clinometer.contexts.mining.languages.english.parser import open_parser
from clinometer.contexts.mining.languages.english.people import NO_ONE, mentioned_in
from clinometer.contexts.mining.settings import MIN_CONFIDENCE
from clinometer.errors import SettingsError
from clinometer.topics import load_topic

HERE = Path(__file__).parent
WON = "The [X], who won a prize, is [Y]"


def cases(name: str) -> list[tuple[str, str]]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line and not line.startswith("#")]
    return [
        (sentence, wanted) for sentence, wanted in (row.split(" => ") for row in rows)
    ]


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., English]:
    """The miner of gender, looking for links of these kinds alone."""

    def of_kinds(*kinds: str) -> English:
        words = {kind: coreference.LINK_WORDS[kind] for kind in kinds}
        monkeypatch.setattr(coreference, "LINK_WORDS", words)
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
        (
            "She made her debut in Paris.",
            "([Y] could be another person)",
        ),  # or: made her a star
        ("Smith received his degree from the college.", "The [X] received [Y]"),
        ("The pilot flew to Leeds, starting her first race.", "The [X] started [Y]"),
        ("She met her husband in Paris.", "([Y] could be another person)"),
        (
            "He supported his plan.",
            "([Y] could be another person)",
        ),  # or: supported him
        ("He was himself a victim.", "([Y] is not an object)"),
    ],
)
def test_other_links(only: Callable[..., English], sentence: str, wanted: str) -> None:
    assert decisions_on(only("reflexive", "possessive"), sentence) == [wanted]


def test_only_sentences_with_a_candidate_are_found(
    only: Callable[..., English],
) -> None:
    english = only("clause")
    text = "He was born in 1900. It rained. The nurse said that she would stay. Was he ill?"
    assert english.find(text) == [("The nurse said that she would stay.", NO_ONE)]
    assert english.find("Nothing of the kind.") == []


#: sentence -> the template by default, and as in the paper
GENDER = {
    "Detective Smith said he would leave no stone unturned.": ("The [X] said that [Y]",)
    * 2,
    "The female engineer explained that it was late.": (
        None,
        "The [X] explained that [Y]",
    ),
    "The female engineer explained the plan.": (None, "The [X] explained the plan [Y]"),
    "The woman announced that the bridge had collapsed.": (
        None,
        "The [X] announced that [Y]",
    ),
    "The king died in those days.": (None, "The [X] died that [Y]"),
    "The female population grew quickly.": (None, None),
    "The men said that it was late.": (None, None),
}


def mined(text: str, topic: str, **settings: Any) -> list[str]:
    """The templates of an article, in order."""
    english = English(MineSettings(topic=load_topic(topic), **settings))
    return [
        d.template
        for each in english.decide(english.find(text))
        for d in each
        if d.template
    ]


@pytest.mark.parametrize("sentence", GENDER)
def test_a_word_may_be_or_modify_the_subject_as_in_the_paper(sentence: str) -> None:
    for as_in_paper, expected in zip((False, True), GENDER[sentence], strict=True):
        found = mined(sentence, "gender", as_in_paper=as_in_paper)
        assert found == ([] if expected is None else [expected])


def test_predicates_have_any_length_as_in_the_paper() -> None:
    sentence = (
        "Smith managed to persuade the board to agree to fund the school for the children of the "
        "workers before he left."
    )
    template = (
        "The [X] managed to persuade the board to agree to fund the school before [Y]"
    )
    assert mined(sentence, "gender", min_confidence=0) == []
    assert mined(sentence, "gender", as_in_paper=True) == [template]


def test_for_race_the_subjects_are_occupations_as_in_the_paper() -> None:
    for subject, expected in (("engineer", [WON]), ("woman", [])):
        sentence = f"The {subject} won a prize in the summer."
        assert mined(sentence, "race", as_in_paper=True) == expected
        assert mined(sentence, "race", about="any") == [WON]


def test_other_languages_have_no_paper() -> None:
    with pytest.raises(SettingsError, match="English"):
        MineSettings(topic=load_topic("gender-zh"), as_in_paper=True)


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
    did = ["won a prize", "entered politics", "was happy"]
    assert mined(article, "race") == [f"The [X], who {what}, is [Y]" for what in did]
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
    assert mined(sentence, topic) == [WON] * wanted


def test_a_topic_without_such_words_takes_any_person() -> None:
    english = English(
        MineSettings(topic=replace(load_topic("race"), name="nationality"))
    )
    (decisions,) = english.decide(english.find("The nurse won a prize."))
    assert [d.template for d in decisions] == [WON]
    assert english.describe()["about"] == "any"


# --- Whom a word of Y means ---------------------------------------------------------------------

BENCHMARK = Path(__file__).resolve().parents[5] / "benchmarks" / "coreference.py"


@pytest.fixture(scope="module")
def parser() -> SpacyParser:
    return open_parser()


def test_precision_on_gum(shared_data: Path, parser: SpacyParser) -> None:
    found = loaded(BENCHMARK).measure_gum(parser, shared_data / "parsing" / "gum", [])
    assert found["precision"] >= 0.90
    assert found["accepted"] >= 10
    assert found["recall"] >= 0.2


def facts(parser: SpacyParser, sentence: str, **labels: str) -> LinkFacts:
    """What the link of the last pronoun rests on, with these labels of names."""
    from spacy.tokens import Doc, Span

    words = sentence.replace(",", " ,").replace(".", " .").split()
    doc = parser.nlp(Doc(parser.nlp.vocab, words=words))
    doc.set_ents(
        [Span(doc, t.i, t.i + 1, label=labels[t.text]) for t in doc if t.text in labels]
    )
    y = [t for t in doc if t.lower_ in ("he", "she", "his", "her")][-1]
    link = clause_link(y) if y.dep_ == "nsubj" else word_link(y)
    return facts_of(link, Parsed(doc), frozenset())


def test_a_name_with_a_wrong_label_may_be_another_person(parser: SpacyParser) -> None:
    sentence = "Leadbetter consulted with Longstreet before he wrote the letter."
    found = facts(parser, sentence, Leadbetter="PERSON", Longstreet="ORG")
    assert (found.persons, found.hidden) == (0, 1)
    assert found.confidence < MIN_CONFIDENCE
    place = facts(
        parser, "Smith lived in Longstreet before he wrote a book.", Longstreet="ORG"
    )
    club = facts(
        parser, "Smith joined Longstreet before he wrote a book.", Longstreet="ORG"
    )
    assert place.hidden == club.hidden == 0
    assert place.confidence >= MIN_CONFIDENCE


def test_another_person_before_the_subject_makes_a_possessive_unsure(
    parser: SpacyParser,
) -> None:
    alone = facts(parser, "Riley lost his radio.")
    other = facts(
        parser, "When Winston arrived, Riley lost his radio.", Winston="PERSON"
    )
    assert (alone.earlier, other.earlier) == (False, True)
    assert other.confidence < MIN_CONFIDENCE <= alone.confidence
    woman = facts(parser, "When Emma arrived, Riley lost his radio.", Emma="PERSON")
    assert not woman.earlier


def test_first_names_have_a_gender(parser: SpacyParser) -> None:
    with pytest.raises(Dropped, match="differ in gender"):
        facts(parser, "Philip Carey said that she was tired.", Carey="PERSON")
    met = "Carey met Alice Jones before he wrote the letter."
    assert facts(parser, met, Carey="PERSON", Jones="PERSON").persons == 0
    assert (
        facts(
            parser, met.replace("Alice", "Kim"), Carey="PERSON", Jones="PERSON"
        ).persons
        == 1
    )


@pytest.mark.parametrize(
    "sentence", ["God knows where he went.", "Heaven knows where he went."]
)
def test_god_is_not_a_person(parser: SpacyParser, sentence: str) -> None:
    with pytest.raises(Dropped, match="not a person"):
        facts(parser, sentence)


def test_a_clause_after_a_preposition_needs_a_joining_word(parser: SpacyParser) -> None:
    """The parser reads such clauses in long articles; there is nothing to write before [Y]."""
    from spacy.tokens import Doc

    doc = Doc(
        parser.nlp.vocab,
        words=["She", "thought", "of", "he", "left"],
        heads=[1, 1, 1, 4, 2],
        deps=["nsubj", "ROOT", "prep", "nsubj", "pcomp"],
        tags=["PRP", "VBD", "IN", "PRP", "VBD"],
        pos=["PRON", "VERB", "ADP", "PRON", "VERB"],
    )
    with pytest.raises(Dropped, match="nothing joins"):
        connector(clause_link(doc[3]))
