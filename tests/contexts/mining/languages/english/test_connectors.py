"""What joins a predicate to the clause of [Y], where the table of sentences has no example."""

from __future__ import annotations

import pytest

from clinometer.contexts.mining.languages import Dropped, SpacyParser
from clinometer.contexts.mining.languages.english.connectors import connector
from clinometer.contexts.mining.languages.english.links import clause_link


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
