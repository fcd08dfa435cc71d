"""Which phrases suit a blank, by the parse of the statement without blanks.

A blank is of one of four kinds, by where it is: before a noun, after a noun, before an adjective or
a verb, after a clause. A modifier must suit the kind of noun (nouns that lexicon.toml does not list
take none); what follows a clause must suit its tense, whether it tells of a state, a habit or an
event, who says it, and what it already says about when and where. Blanks that no list suits stay
empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from clinometer.reliability.blank_rules import NOUNS
from clinometer.reliability.lexicon import (
    ADJUNCT,
    ADVERB,
    AFTER_NOUN,
    MODIFIER,
    PEOPLE,
    class_of,
    phrases,
    word_list,
)
from clinometer.topics.prompt import english_article

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_FINITE = ("VBD", "VBZ", "VBP", "MD")
"""Tags of finite verbs."""

_ENDS = ".!?…\"”’'"
"""What may follow a phrase about the whole sentence."""


def kind_of(doc: Doc, position: int) -> str:
    """Return which kind of phrases a blank takes."""
    before, after = neighbouring_words(doc, position)
    if after is None or after.is_punct:
        return ADJUNCT
    if after.pos_ in NOUNS or (after.dep_ == "amod" and after.head.i > after.i):
        return MODIFIER
    if before is None:
        return ADJUNCT
    is_predicate = after.pos_ in ("VERB", "AUX") or after.dep_ in ("neg", "advmod")
    if before.pos_ in NOUNS and is_predicate:
        return AFTER_NOUN
    if before.pos_ in ("AUX", "PRON") and after.pos_ in ("ADJ", "VERB"):
        return ADVERB
    return ADJUNCT


def neighbouring_words(doc: Doc, position: int) -> tuple[Token | None, Token | None]:
    """Return the words before and after an offset, such as that of a blank."""
    before = None
    for token in doc:
        if token.is_space:
            continue
        if token.idx >= position:
            return before, token
        before = token
    return before, None


def candidates(kind: str, doc: Doc, position: int) -> list[str]:
    """Return the phrases of this kind that suit the blank; none if no list does."""
    lists = phrases()[kind]
    before, after = neighbouring_words(doc, position)
    if kind == MODIFIER and after is not None:
        return _modifiers(lists, before, after)
    if kind == AFTER_NOUN and before is not None:
        return list(lists["people"]) if class_of(before) in PEOPLE else []
    if kind == ADVERB:
        return list(lists["time"])
    if before is None or (after is not None and after.text[0] not in _ENDS):
        return []
    suitable: list[str] = []
    for name in _lists_after(before):
        suitable += lists[name]
    return list(dict.fromkeys(suitable))


def _modifiers(
    lists: Mapping[str, tuple[str, ...]], before: Token | None, after: Token
) -> list[str]:
    """Return the modifiers that suit the noun after a blank, and the article before it."""
    noun = after
    while noun.dep_ in ("compound", "amod") and noun.head.i > noun.i:
        noun = noun.head
    if class_of(after) == "countries":
        suits = noun is after and before is not None and before.pos_ == "ADP"
        return list(lists["countries"]) if suits else []
    if after.pos_ not in NOUNS and not after.text[:1].isupper():  # "the ___ tall man"
        return []
    words = list(lists.get(class_of(noun), ()))
    if before is not None and before.lower_ in ("a", "an"):
        words = [word for word in words if english_article(word) == before.lower_]
    if any(token.lower_ in word_list("ages") for token in noun.doc):
        words = [word for word in words if word not in word_list("of_age")]
    return words


def _lists_after(last: Token) -> list[str]:
    """Return the names of the lists that may follow the clause that ends with this word."""
    sentence: Span = last.sent
    root = sentence.root
    words = [token for token in sentence if token.i <= last.i]
    lower = {token.lower_ for token in words}
    has_time = bool(lower & word_list("times")) or any(map(_is_year, lower))
    tense = _tense(sentence, root, words)
    if tense == "":
        return []
    if tense in ("question", "request"):
        return [] if has_time else [tense]
    aspect = _aspect(root)
    subject = _subject(root, tense)
    is_simple = sum(token.tag_ in _FINITE for token in words) < 2  # one verb only
    names = [] if has_time else _times(tense, aspect, subject, is_simple=is_simple)
    if lower & word_list("speaker"):
        return names
    names.append("hearsay")
    if tense == "past":
        names.append("fiction")
    if tense in ("present", "modal") and aspect != "now":
        names.append("opinion")
        if subject in ("kind", "example"):
            names.append("general")
        if subject == "kind" and is_simple and not any(map(_says_where, words)):
            names.append("region")
    return names


def _is_year(word: str) -> bool:
    return word.isdigit() and len(word) == 4


def _says_where(token: Token) -> bool:
    return token.pos_ in ("ADP", "ADV", "SCONJ") and token.lower_ in word_list("places")


def _times(tense: str, aspect: str, subject: str, *, is_simple: bool) -> list[str]:
    """Return the names of the lists that say when."""
    if tense in ("perfect", "future"):
        return [tense] if is_simple else []
    if tense == "past":
        if aspect == "now":
            return ["past_now"]
        if aspect == "event":
            return ["past_event"]
        is_of_a_person = is_simple and subject == "person"
        return ["past_state", "past_person"] if is_of_a_person else ["past_state"]
    if tense == "present":
        if aspect == "now":
            return ["present_now"]
        if aspect == "event" and is_simple:
            return ["present_habit"]
        return ["present_state"]
    return []


def _subject(root: Token, tense: str) -> str:
    """Return kind (women, everyone), example (a nurse is), person (she, the nurse, Susie) or ""."""
    subjects = (t for t in root.lefts if t.dep_ in ("nsubj", "nsubjpass"))
    noun = next(subjects, None)
    if noun is None:
        return ""
    if noun.lower_ in word_list("anybody"):
        return "kind"
    noun_class = class_of(noun)
    if noun_class in PEOPLE:
        modifiers = set()
        for token in noun.lefts:
            if token.dep_ in ("det", "poss", "nummod", "amod"):
                modifiers.add(token.lower_)
        if tense != "past" and modifiers & {"a", "an"}:
            return "example"
        is_general = not modifiers or bool(modifiers & word_list("of_a_kind"))
        is_plural = noun.tag_ in ("NNS", "NNPS")
        return "kind" if is_plural and is_general else "person"
    if noun.lower_ in ("he", "she", "they", "i", "we"):
        return "person"
    return "person" if noun.pos_ == "PROPN" and not noun_class else ""


def _tense(sentence: Span, root: Token, words: list[Token]) -> str:
    """Return past, present, perfect, future, modal, mixed, question, request, or "" without a
    verb."""
    if sentence.text.rstrip(" \"'”’").endswith("?"):
        return "question"
    has_subject = any("subj" in t.dep_ or t.dep_ == "expl" for t in root.children)
    finite_verbs = (t for t in [*_helpers(root), root] if t.tag_ in _FINITE)
    verb = next(finite_verbs, None)
    if verb is None or not has_subject:
        return "request" if root.tag_ == "VB" and not has_subject else ""
    if verb.tag_ == "MD":
        return "future" if verb.lower_ in ("will", "'ll", "wo", "shall") else "modal"
    tags = [token.tag_ for token in words if token.tag_ in _FINITE]
    is_past = verb.tag_ == "VBD"
    ends_in_past = bool(tags) and tags[-1] == "VBD"
    if is_past != ends_in_past:
        return "mixed"
    if is_past:
        return "past"
    if root.tag_ == "VBN" and verb.lower_ in ("has", "have", "'ve"):
        return "perfect"
    return "present"


def _aspect(root: Token) -> str:
    """Return state, event or now (in progress)."""
    helpers = _helpers(root)
    if root.tag_ == "VBG" and any(token.pos_ == "AUX" for token in helpers):
        return "now"
    if root.pos_ == "AUX" or any(token.dep_ == "auxpass" for token in helpers):
        return "state"
    verb = root.lower_  # "wants", "wanted", "lived"
    forms = {verb, *(verb.removesuffix(ending) for ending in ("s", "ed", "d"))}
    return "state" if forms & word_list("states") else "event"


def _helpers(root: Token) -> list[Token]:
    return [token for token in root.lefts if token.dep_ in ("aux", "auxpass")]
