"""Whom a pronoun means: on GUM, as benchmarks/coreference.py measures it, and by sentences."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.present import loaded

from clinometer.contexts.mining.languages import Dropped, Parsed, SpacyParser
from clinometer.contexts.mining.languages.english.grammar import (
    LinkFacts,
    clause_link,
    connector,
    facts_of,
    open_parser,
    word_link,
)
from clinometer.contexts.mining.settings import MIN_CONFIDENCE

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
    doc.set_ents([Span(doc, t.i, t.i + 1, label=labels[t.text]) for t in doc if t.text in labels])
    y = [t for t in doc if t.lower_ in ("he", "she", "his", "her")][-1]
    link = clause_link(y) if y.dep_ == "nsubj" else word_link(y)
    return facts_of(link, Parsed(doc), frozenset())


def test_a_name_with_a_wrong_label_may_be_another_person(parser: SpacyParser) -> None:
    sentence = "Leadbetter consulted with Longstreet before he wrote the letter."
    found = facts(parser, sentence, Leadbetter="PERSON", Longstreet="ORG")
    assert (found.persons, found.hidden) == (0, 1)
    assert found.confidence < MIN_CONFIDENCE
    place = facts(parser, "Smith lived in Longstreet before he wrote a book.", Longstreet="ORG")
    club = facts(parser, "Smith joined Longstreet before he wrote a book.", Longstreet="ORG")
    assert place.hidden == club.hidden == 0
    assert place.confidence >= MIN_CONFIDENCE


def test_another_person_before_the_subject_makes_a_possessive_unsure(parser: SpacyParser) -> None:
    alone = facts(parser, "Riley lost his radio.")
    other = facts(parser, "When Winston arrived, Riley lost his radio.", Winston="PERSON")
    assert (alone.earlier, other.earlier) == (False, True)
    assert other.confidence < MIN_CONFIDENCE <= alone.confidence
    woman = facts(parser, "When Emma arrived, Riley lost his radio.", Emma="PERSON")
    assert not woman.earlier


def test_first_names_have_a_gender(parser: SpacyParser) -> None:
    with pytest.raises(Dropped, match="differ in gender"):
        facts(parser, "Philip Carey said that she was tired.", Carey="PERSON")
    met = "Carey met Alice Jones before he wrote the letter."
    assert facts(parser, met, Carey="PERSON", Jones="PERSON").persons == 0
    assert facts(parser, met.replace("Alice", "Kim"), Carey="PERSON", Jones="PERSON").persons == 1


@pytest.mark.parametrize("sentence", ["God knows where he went.", "Heaven knows where he went."])
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
