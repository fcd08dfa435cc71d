"""Which built-in phrases suit a blank, by the parse of the statement without blanks.

A blank is of one of four kinds, by where it is: before a noun, after a noun, before an adjective or
a verb, after what is said. A modifier must suit the kind of noun (nouns that lexicon.toml does not
know take none); what follows a clause must suit its tense, whether it tells of a state, a habit or
an event, who says it, and what it already says about when and where.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

MODIFIER, AFTER_NOUN, ADVERB, ADJUNCT = "modifier", "after_noun", "adverb", "adjunct"
_NOUNS = ("NOUN", "PROPN")
_FINITE = ("VBD", "VBZ", "VBP", "MD")
#: Classes of nouns that name people, and endings of nouns that do.
_PEOPLE = ("workers", "people", "relatives", "groups", "elders", "children", "criminals")
_WORKER_ENDINGS = ("man", "men", "woman", "women", "ist", "ists", "ician", "icians")
_PEOPLE_ENDINGS = ("eans", "ians", "cans")
#: Words that begin with another sound than their letter says.
_CONSONANT_SOUND, _VOWEL_SOUND = ("use", "uni", "eu", "one"), ("honest", "hour")
#: Verbs of states, which take no "yesterday" and no "after work".
_STATES = frozenset(
    """be have like love hate know want need own believe think seem look feel live smell mean
    deserve belong prefer understand cost tend remain stay care lack hope fear wish has had knew
    thought felt meant understood is are was were am 's 're 'm""".split()  # noqa: SIM905
)
#: Words after which a clause needs no other time, or no other place.
_TIMES = frozenset(
    """always never often usually sometimes every when while after before until till since ago today
    yesterday tomorrow tonight once again already finally soon then whenever day days night week
    weekend month year years morning evening afternoon time times later early late now still
    constantly rarely summer winter during forever anymore decades century daily weekly annual
    weeks months hours""".split()  # noqa: SIM905
)
_PLACES = frozenset(
    """in at on near from into around outside inside through across over under behind here there
    home everywhere where away abroad""".split()  # noqa: SIM905
)
#: Words after which nothing else is said about age.
_AGES = frozenset("young old older younger elderly aged age years teenage senior child".split())  # noqa: SIM905
_OF_AGE = frozenset("young older middle-aged retired little ninety-year-old".split())  # noqa: SIM905
#: What may follow a phrase about the whole sentence.
_ENDS = ".!?…\"”’'"
_SPEAKER = frozenset({"i", "we", "my", "our", "me", "us"})
_ANYBODY = frozenset(
    {"everyone", "everybody", "nobody", "people", "anyone", "many", "most", "those"}
)
#: Determiners of a plural that is about all of a kind.
_OF_A_KIND = frozenset({"all", "most", "many", "some", "few", "no"})


@cache
def phrases() -> dict[str, dict[str, tuple[str, ...]]]:
    """All phrases by kind and list, and the nouns by class."""
    text = files(__package__).joinpath("lexicon.toml").read_text(encoding="utf-8")
    found = {}
    for kind, lists in tomllib.loads(text).items():
        separator = r";\s+|;$" if kind in (AFTER_NOUN, ADJUNCT) else r"\s+"
        found[kind] = {
            name: tuple(dict.fromkeys(filter(None, re.split(separator, " ".join(some.split())))))
            for name, some in lists.items()
        }
    return found


def kind_of(doc: Doc, place: int) -> str:
    """Which kind of phrases a blank takes."""
    before, after = beside(doc, place)
    if after is None or after.is_punct:
        return ADJUNCT
    if after.pos_ in _NOUNS or (after.dep_ == "amod" and after.head.i > after.i):
        return MODIFIER
    if before is not None and before.pos_ in _NOUNS and _is_predicate(after):
        return AFTER_NOUN
    if before is not None and before.pos_ in ("AUX", "PRON") and after.pos_ in ("ADJ", "VERB"):
        return ADVERB
    return ADJUNCT


def candidates(kind: str, doc: Doc, place: int) -> list[str]:
    """Phrases of this kind that suit the blank; none if no list does."""
    lists = phrases()[kind]
    before, after = beside(doc, place)
    if kind == MODIFIER and after is not None:
        return _modifiers(lists, before, after)
    if kind == AFTER_NOUN and before is not None:
        return list(lists["people"]) if _class_of(before) in _PEOPLE else []
    if kind == ADVERB:
        return list(lists["time"])
    if before is None or (after is not None and after.text[0] not in _ENDS):
        return []
    names = Sentence.of(before).lists()
    return list(dict.fromkeys(p for name in names for p in lists[name]))


def beside(doc: Doc, place: int) -> tuple[Token | None, Token | None]:
    """The words before and after a blank."""
    after = next((t for t in doc if t.idx >= place and not t.is_space), None)
    before = next((t for t in reversed(doc) if t.idx < place and not t.is_space), None)
    return before, after


def _is_predicate(token: Token) -> bool:
    return token.pos_ in ("VERB", "AUX") or token.dep_ in ("neg", "advmod")


def _modifiers(lists: dict[str, tuple[str, ...]], before: Token | None, after: Token) -> list[str]:
    noun = after
    while noun.dep_ in ("compound", "amod") and noun.head.i > noun.i:
        noun = noun.head
    if _class_of(after) == "countries" and (before is None or before.pos_ != "ADP"):
        return []
    if _class_of(after) == "countries":
        return list(lists["countries"]) if noun is after else []
    if after.pos_ not in _NOUNS and not after.text[:1].isupper():  # "the ___ tall man"
        return []
    article = "" if before is None else before.lower_
    found = agreeing(lists.get(_class_of(noun), ()), article)
    aged = any(t.lower_ in _AGES for t in noun.doc)
    return [w for w in found if w not in _OF_AGE] if aged else found


def agreeing(words: Iterable[str], article: str) -> list[str]:
    """The words that may follow an article.

    >>> agreeing(["old", "used", "new", "honest"], "an"), agreeing(["old", "used"], "a")
    (['old', 'honest'], ['used'])
    """
    if article not in ("a", "an"):
        return list(words)
    return [w for w in words if _begins_with_vowel(w) == (article == "an")]


def _begins_with_vowel(word: str) -> bool:
    if word.startswith(_CONSONANT_SOUND):
        return False
    return word[:1].lower() in "aeiou" or word.startswith(_VOWEL_SOUND)


@cache
def _classes() -> dict[str, str]:
    nouns = phrases()["nouns"]
    return {noun: name for name in reversed(nouns) for noun in nouns[name]}


def _class_of(noun: Token) -> str:
    """The class of a noun; "" if it is not known.

    "women", "families" and "churches" are looked up as "woman", "family" and "church" too.
    """
    word = noun.lower_
    forms = [word, word.removesuffix("s"), word.removesuffix("es")]
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("men"):
        forms.append(word[:-3] + "man")
    if word in ("children", "kids"):
        return "children"
    known = _classes()
    found = next((known[form] for form in forms if form in known), "")
    if not found and word.endswith(_WORKER_ENDINGS):
        return "workers"
    return "people" if not found and word.endswith(_PEOPLE_ENDINGS) else found


@dataclass(frozen=True)
class Sentence:
    """What a sentence says, as far as it decides what may follow it.

    tense     past, present, perfect, future, modal, mixed, question, request, or "" without a verb
    aspect    state, event or now (in progress)
    subject   kind (women, everyone), example (a nurse is), person (she, the nurse, Susie) or ""
    simple    one verb only
    """

    tense: str
    aspect: str
    subject: str
    has_time: bool
    has_place: bool
    by_speaker: bool
    simple: bool

    @classmethod
    def of(cls, last: Token) -> Sentence:
        """The clause that ends with this word."""
        sentence: Span = last.sent
        words = [t for t in sentence if t.i <= last.i]
        root = sentence.root
        lower = {t.lower_ for t in words}
        tense = _tense(sentence, root, words)
        return cls(
            tense,
            _aspect(root),
            _subject(root, tense),
            bool(lower & _TIMES) or any(t.isdigit() and len(t) == 4 for t in lower),
            any(t.lower_ in _PLACES for t in words if t.pos_ in ("ADP", "ADV", "SCONJ")),
            bool(lower & _SPEAKER),
            sum(t.tag_ in _FINITE for t in words) < 2,
        )

    def lists(self) -> list[str]:
        """Names of the lists that suit."""
        if self.tense in ("question", "request"):
            return [] if self.has_time else [self.tense]
        if not self.tense:
            return []
        found = [] if self.has_time else self._times()
        if self.by_speaker:
            return found
        found.append("hearsay")
        if self.tense in ("present", "modal") and self.aspect != "now":
            found.append("opinion")
            if self.subject in ("kind", "example"):
                found.append("general")
            if self.subject == "kind" and self.simple and not self.has_place:
                found.append("region")
        elif self.tense == "past":
            found.append("fiction")
        return found

    def _times(self) -> list[str]:
        if self.tense in ("perfect", "future"):
            return [self.tense] if self.simple else []
        if self.tense == "past" and self.aspect == "state":
            lasting = self.simple and self.subject == "person"
            return ["past_state", "past_person"] if lasting else ["past_state"]
        if self.tense == "past":
            return ["past_now" if self.aspect == "now" else "past_event"]
        if self.tense == "present":
            habit = "present_habit" if self.simple else "present_state"
            return [{"now": "present_now", "state": "present_state"}.get(self.aspect, habit)]
        return []


def _subject(root: Token, tense: str) -> str:
    noun = next((t for t in root.lefts if t.dep_ in ("nsubj", "nsubjpass")), None)
    if noun is None:
        return ""
    said = {t.lower_ for t in noun.lefts if t.dep_ in ("det", "poss", "nummod", "amod")}
    if noun.lower_ in _ANYBODY:
        return "kind"
    if _class_of(noun) in _PEOPLE:
        plural = noun.tag_ in ("NNS", "NNPS") and (not said or bool(said & _OF_A_KIND))
        if tense != "past" and said & {"a", "an"}:
            return "example"
        return "kind" if plural else "person"
    named = noun.pos_ == "PROPN" and not _class_of(noun)
    return "person" if named or noun.lower_ in ("he", "she", "they", "i", "we") else ""


def _tense(sentence: Span, root: Token, words: list[Token]) -> str:
    if sentence.text.rstrip(" \"'”’").endswith("?"):
        return "question"
    helpers = [t for t in root.lefts if t.dep_ in ("aux", "auxpass")]
    finite = next((t for t in [*helpers, root] if t.tag_ in _FINITE), None)
    subject = any("subj" in t.dep_ or t.dep_ == "expl" for t in root.children)
    if finite is None or not subject:
        return "request" if root.tag_ == "VB" and not subject else ""
    if finite.tag_ == "MD":
        return "future" if finite.lower_ in ("will", "'ll", "wo", "shall") else "modal"
    last = [t.tag_ for t in words if t.tag_ in _FINITE][-1:]
    if (finite.tag_ == "VBD") != (last == ["VBD"]):
        return "mixed"
    if finite.tag_ == "VBD":
        return "past"
    return (
        "perfect" if root.tag_ == "VBN" and finite.lower_ in ("has", "have", "'ve") else "present"
    )


def _is_state(verb: str) -> bool:
    """Whether a form of a verb names a state: "wants", "wanted", "lived"."""
    forms = (verb, verb.removesuffix("s"), verb.removesuffix("ed"), verb.removesuffix("d"))
    return any(form in _STATES for form in forms)


def _aspect(root: Token) -> str:
    helpers = [t for t in root.lefts if t.dep_ in ("aux", "auxpass")]
    if root.tag_ == "VBG" and any(t.pos_ == "AUX" for t in helpers):
        return "now"
    passive = any(t.dep_ == "auxpass" for t in helpers)
    return "state" if _is_state(root.lower_) or passive or root.pos_ == "AUX" else "event"
