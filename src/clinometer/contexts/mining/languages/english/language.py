"""The English miner: candidate sentences, and one of the paper's two strategies.

coreference  "The [X] said that [Y]", for a pronoun that refers to a person before it
predicate    "The [X], who played a role, is [Y]", for a predicate of a person
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.english.coreference import (
    by_rules,
    person_kind,
)
from clinometer.contexts.mining.languages.english.grammar import (
    DEFAULT_PARSER,
    POSSESSIVES,
    REFLEXIVES,
    SUBJECT_PRONOUNS,
    SUBJECTS,
    Link,
    clause_link,
    connector,
    listed,
    open_parser,
    opening_word,
    subject_of,
    verb_group,
    word_link,
)
from clinometer.contexts.mining.languages.english.people import (
    NO_ONE,
    Mention,
    has_people,
    identity_nouns,
    is_described,
    mentioned_in,
    names_people,
)
from clinometer.contexts.mining.languages.english.skeleton import (
    LONGEST as LONGEST_TEMPLATE,
)
from clinometer.contexts.mining.languages.english.skeleton import (
    Skeleton,
    check_joint,
    check_possessive,
    check_sentence,
    check_words,
    finish,
)
from clinometer.contexts.mining.languages.shared import (
    Decision,
    Dropped,
    Parsed,
    SpacyParser,
    WordAutomaton,
    drop_if,
    has_dep,
)
from clinometer.contexts.mining.settings import MineSettings
from clinometer.errors import SettingsError

if TYPE_CHECKING:
    from spacy.tokens import Token

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
_FILLER = re.compile(r",?\s*\b(?:uh|um|uh-huh|you know|I mean)\b,?(?=\s|$)", re.IGNORECASE)
_ARTICLE = re.compile(r"\b(?:a|an|the) (?!\[X\])")


class English:
    """A `Language`; the parser is loaded when the first sentence is decided."""

    def __init__(self, settings: MineSettings) -> None:
        topic = settings.topic
        self.persons = frozenset(group.text.lower() for group in topic.groups)
        self.cues = frozenset(word.lower() for word in topic.words)
        self.as_in_paper = settings.as_in_paper
        self.min_confidence = settings.least_confidence
        self.longest = None if self.as_in_paper else LONGEST_TEMPLATE
        pronouns = set(SUBJECT_PRONOUNS) <= self.cues
        self.strategy = settings.strategy
        if self.strategy == "auto":
            self.strategy = "coreference" if pronouns else "predicate"
        if self.strategy == "coreference" and not pronouns:
            raise SettingsError(
                f"strategy: coreference needs he and she among the words of topic {topic.name!r}; "
                "use --strategy predicate"
            )
        own = self.strategy == "predicate" and settings.about == "own" and not self.as_in_paper
        self.own = own and has_people(topic.name)
        self.topic = topic.name
        self.parser_name = settings.parser or DEFAULT_PARSER
        #: (sentence, position, word) -> whether the word stands in a usable position
        self._counts: Callable[[str, int, str], bool] = possible_subject
        if self.strategy == "coreference":
            words = set().union(*LINK_WORDS.values()) & self.cues
            words |= self.cues if self.as_in_paper else set()
            self._counts = _anywhere if self.as_in_paper else later_word
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

    def find(self, text: str) -> list[str]:
        """Candidate sentences. Those of own people describe someone, or are about the subject of
        the article, each followed by how the article refers to its subject."""
        if not self.own:
            return self._usable(text)
        subject = mentioned_in(text, self.persons)
        described = [s for s in self._usable(text) if names_people(s)]
        if subject is NO_ONE:
            return [f"{sentence}\t" for sentence in described]
        every = [clean(text[a:b]) for a, b in sentences(text) if b - a <= LONGEST]
        sentences_of_subject = [s for s in every if subject.opens(s) or s in described]
        return [f"{sentence}\t{subject.write()}" for sentence in sentences_of_subject]

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
                stands = stands or self._counts(text[begin:end], place - begin, word)
                at += 1
            if stands and end - begin <= LONGEST:
                sentence = clean(text[begin:end])
                if sentence.count(" ") >= SHORTEST - 1 and not sentence.endswith("?"):
                    usable.append(sentence)
        return usable

    def decide(self, sentences: Sequence[str]) -> Iterator[list[Decision]]:
        pairs = [sentence.partition("\t")[::2] for sentence in sentences]
        parses = self.parser.parse([text for text, _ in pairs])
        for parsed, (_, about) in zip(parses, pairs, strict=True):
            yield list(self.decide_parsed(parsed, Mention.read(about)))

    def decide_parsed(self, parsed: Parsed, subject: Mention = NO_ONE) -> Iterator[Decision]:
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
                check_sentence(parsed.doc, verb)
                drop_if(subject.tag_ not in ("NN", "NNP"), "subject is not one person")
                person_kind(subject, parsed, self.persons)
                reports = has_dep(verb.rights, "ccomp")
                said = verb_group(verb).past() if reports else skeleton.predicate((verb,))
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
            check_sentence(parsed.doc, token)
            link = clause_link(token) if kind == "clause" else word_link(token)
            path = " > ".join(f"{t.text}/{t.dep_}" for t in link.path)
            x, y = link.subject, link.y
            evidence = f"[X]={x.text}@{x.i} [Y]={y.text}@{y.i} path {path}"
            reference = by_rules(link, parsed, self.persons)
            evidence += f"; subject is a {reference.kind}; confidence {reference.confidence:.2f}"
            words = _template(link, kind, Skeleton(parsed.entity, self.persons))
            check_words(words)
            cues = self.cues | listed("cues_by_meaning")
            template = finish(words, cues=cues, longest=self.longest)
        except Dropped as no:
            return Decision(sentence, None, no.rule, evidence)
        if reference.confidence < self.min_confidence:
            return Decision(sentence, None, UNSURE, evidence, reference.confidence)
        return Decision(sentence, template, "", evidence, reference.confidence)

    def _predicates(self, parsed: Parsed, subject: Mention) -> Iterator[Decision]:
        """ "The [X], who played a role, is [Y]": one decision for every predicate of a person."""
        skeleton = Skeleton(parsed.entity, self.persons, alone=True)
        for verb, clause_subject in _clauses(parsed):
            evidence = f"{clause_subject.text}@{clause_subject.i} < {verb.text}@{verb.i}"
            try:
                check_sentence(parsed.doc, verb)
                self._check_person(verb, clause_subject, parsed, subject)
                fronted = has_dep(verb.lefts, "dobj", "attr", "acomp", "oprd")
                drop_if(fronted, "object before its verb")
                words = ["The", "[X],", "who", *skeleton.whole(verb)]
                cues = self.cues | listed("identity_cues")
                template = finish(words, cues=cues, rule=TOPIC_CUE, longest=self.longest)
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
        about = {} if self.strategy != "predicate" else {"about": "own" if self.own else "any"}
        return {
            **about,
            "strategy": self.strategy + (", as in the paper" if self.as_in_paper else ""),
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


def _anywhere(sentence: str, at: int, word: str) -> bool:
    """A word that modifies the subject may be the first of its sentence."""
    return True


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
        drop_if(link.path[-2].pos_ == "AUX", "[Y] is not an object")  # "was himself a …"
    return [*words, *joint, "[Y]"]


def possible_subject(sentence: str, at: int, word: str) -> bool:
    """A person who can be the subject: "who", or a noun after an article and no preposition."""
    return word == "who" or _SUBJECT_BEFORE.search(sentence, max(0, at - 60), at) is not None


def later_word(sentence: str, at: int, word: str) -> bool:
    """A word of Y after at least two others: something must be said of the subject first."""
    return sentence.count(" ", 0, at) >= 2


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
