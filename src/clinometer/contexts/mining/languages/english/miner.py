"""From English sentences to templates: the paper's two strategies, one decision per word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Decision, Dropped
from clinometer.contexts.mining.languages.english.coreference.dependency_paths import (
    Link,
    clause_link,
    connector,
    opening_word,
    subject_of,
    word_link,
)
from clinometer.contexts.mining.languages.english.coreference.rules import (
    Resolver,
    by_rules,
    person_kind,
)
from clinometer.contexts.mining.languages.english.lexicon import (
    POSSESSIVES,
    REFLEXIVES,
    SUBJECT_PRONOUNS,
    listed,
)
from clinometer.contexts.mining.languages.english.people import People, identity_nouns
from clinometer.contexts.mining.languages.english.skeleton.completeness import (
    check_joint,
    check_possessive,
    check_reflexive,
    check_words,
)
from clinometer.contexts.mining.languages.english.skeleton.phrases import Rendering
from clinometer.contexts.mining.languages.english.skeleton.predicate import (
    predicate,
    whole_predicate,
)
from clinometer.contexts.mining.languages.english.skeleton.template_checks import (
    check_sentence,
    finish,
)

if TYPE_CHECKING:
    from spacy.tokens import Token

    from clinometer.contexts.mining.languages.english.parse import Parsed

TOPIC_CUE = "cue of the topic in the skeleton"
UNSURE = "confidence below the minimum"

#: The words that each kind of link looks for.
LINK_WORDS = {
    "clause": frozenset(SUBJECT_PRONOUNS),
    "reflexive": frozenset(REFLEXIVES),
    "possessive": frozenset(POSSESSIVES),
}


def coreference_templates(
    parsed: Parsed,
    *,
    links: Iterable[str],
    persons: Set[str],
    cues: Set[str],
    resolver: Resolver = by_rules,
    min_confidence: float = 0.0,
) -> Iterator[Decision]:
    """ "The [X] said that [Y]": one decision for every word of Y that can be linked."""
    sentence = parsed.doc.text
    for token in parsed.doc:
        for kind in links:
            if token.lower_ not in LINK_WORDS[kind] or token.i == 0:
                continue
            if kind == "possessive" and token.dep_ != "poss":
                continue
            decision = _decide(token, kind, parsed, sentence, persons, cues, resolver)
            sure = decision.confidence
            if decision.template and sure is not None and sure < min_confidence:
                decision = replace(decision, template=None, rule=UNSURE)
            yield decision


def _decide(
    token: Token,
    kind: str,
    parsed: Parsed,
    sentence: str,
    persons: Set[str],
    cues: Set[str],
    resolver: Resolver,
) -> Decision:
    evidence = f"{token.text}@{token.i}"
    try:
        check_sentence(parsed.doc, token)
        link = clause_link(token) if kind == "clause" else word_link(token)
        evidence = _evidence(link)
        found = resolver(link, parsed, persons)
        evidence += f"; subject is a {found.kind}; confidence {found.confidence:.2f}"
        words = _template(link, kind, Rendering(parsed.entity, persons))
        check_words(words)
        template = finish(words, cues=cues | listed("cues_by_meaning"))
    except Dropped as no:
        return Decision(sentence, None, no.rule, evidence)
    return Decision(sentence, template, "", evidence, found.confidence)


def _template(link: Link, kind: str, how: Rendering) -> list[str]:
    if link.fronted:
        words = [opening_word(link), "the", "[X]", *predicate(link.path, how)]
        return [*words[:-1], words[-1] + ",", "[Y]"]
    joined: list[str] = []
    words = ["The", "[X]", *predicate(link.path, how)]
    if kind == "clause":
        joined = connector(link)
        check_joint(link, words, joined, how.persons)
    elif kind == "possessive":
        check_possessive(link, words, how.persons)
    else:
        check_reflexive(link)
    return [*words, *joined, "[Y]"]


def _evidence(link: Link) -> str:
    path = " > ".join(f"{t.text}/{t.dep_}" for t in link.path)
    return f"[X]={link.subject.text}@{link.subject.i} [Y]={link.y.text}@{link.y.i} path {path}"


def predicate_templates(
    parsed: Parsed, *, persons: Set[str], cues: Set[str], people: People | None = None
) -> Iterator[Decision]:
    """ "The [X], who played a role, is [Y]": one decision for every predicate of a person,
    or of one of the topic's `people`."""
    sentence = parsed.doc.text
    how = Rendering(parsed.entity, persons, alone=True)
    told = cues | listed("identity_cues")
    for verb in parsed.doc:
        if verb.pos_ not in ("VERB", "AUX") or verb.dep_ in ("aux", "auxpass"):
            continue
        own = [c for c in verb.lefts if c.dep_ in ("nsubj", "nsubjpass")]
        if not own:
            continue
        evidence = f"{own[-1].text}@{own[-1].i} < {verb.text}@{verb.i}"
        try:
            check_sentence(parsed.doc, verb)
            _check_person(verb, own[-1], parsed, persons, people)
            if any(c.dep_ in ("dobj", "attr", "acomp", "oprd") for c in verb.lefts):
                raise Dropped("object before its verb")
            words = ["The", "[X],", "who", *whole_predicate(verb, how)]
            template = finish(words, cues=told, rule=TOPIC_CUE) + ", is [Y]"
        except Dropped as no:
            yield Decision(sentence, None, no.rule, evidence)
            continue
        yield Decision(sentence, template, "", evidence)


def _check_person(
    verb: Token, own: Token, parsed: Parsed, persons: Set[str], people: People | None
) -> None:
    """The subject of a predicate must be one person, and one of the people if they are given."""
    subject = subject_of(verb)
    if subject is None:
        raise Dropped("subject is no person")
    if people is not None:
        if people.mentioned(subject):
            if verb.dep_ == "relcl" and own.text != "who":
                raise Dropped("predicate of a relative clause")
            return
        if not people.described(subject):
            raise Dropped("not of the topic's people")
        persons = persons | {noun.lower() for noun in identity_nouns()}
    if subject.lower_ in ("he", "she"):
        raise Dropped("subject is no person")
    kind = person_kind(subject, parsed, persons)
    if own.text != "who":
        if kind != "person noun" and people is None:
            raise Dropped("subject is no occupation or person noun")
        if verb.dep_ == "relcl":
            raise Dropped("predicate of a relative clause")
