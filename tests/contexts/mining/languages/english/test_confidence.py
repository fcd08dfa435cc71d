"""Whom a word of Y means: links by hand, and GUM as benchmarks/coreference.py measures it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.present import loaded

from clinometer.contexts.mining.languages import Dropped, Parsed, SpacyParser
from clinometer.contexts.mining.languages.english.confidence import LinkFacts, facts_of
from clinometer.contexts.mining.languages.english.links import clause_link, word_link
from clinometer.contexts.mining.settings import MIN_CONFIDENCE

BENCHMARK = Path(__file__).resolve().parents[5] / "benchmarks" / "coreference.py"


def test_precision_on_gum(shared_data: Path, parser: SpacyParser) -> None:
    report = loaded(BENCHMARK).measure_gum(parser, shared_data / "parsing" / "gum", [])
    assert report["precision"] >= 0.90
    assert report["accepted"] >= 10
    assert report["recall"] >= 0.2


def facts(parser: SpacyParser, sentence: str, **labels: str) -> LinkFacts:
    """Return what the link of the last pronoun rests on, with these labels of names."""
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
    person = facts(parser, sentence, Leadbetter="PERSON", Longstreet="ORG")
    assert (person.persons, person.hidden) == (0, 1)
    assert person.confidence < MIN_CONFIDENCE
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
    riley = facts(parser, "Riley lost his radio.")
    winston = facts(
        parser, "When Winston arrived, Riley lost his radio.", Winston="PERSON"
    )
    assert (riley.earlier, winston.earlier) == (False, True)
    assert winston.confidence < MIN_CONFIDENCE <= riley.confidence
    woman = facts(parser, "When Emma arrived, Riley lost his radio.", Emma="PERSON")
    assert not woman.earlier


def test_first_names_have_a_gender(parser: SpacyParser) -> None:
    with pytest.raises(Dropped, match="differ in gender"):
        facts(parser, "Philip Carey said that she was tired.", Carey="PERSON")
    for first_name, persons in (("Alice", 0), ("Kim", 1)):
        sentence = f"Carey met {first_name} Jones before he wrote the letter."
        link = facts(parser, sentence, Carey="PERSON", Jones="PERSON")
        assert link.persons == persons


@pytest.mark.parametrize(
    "sentence", ["God knows where he went.", "Heaven knows where he went."]
)
def test_god_is_not_a_person(parser: SpacyParser, sentence: str) -> None:
    with pytest.raises(Dropped, match="not a person"):
        facts(parser, sentence)
