"""French over a spaCy parse: which subject il or elle refers to, and the predicate between.

French shows the gender of the subject in the predicate: "est né" or "est née", "était content" or
"contente", "se sentit seule". Such a template would give the answer away, so a participle with
être is never kept, nor is an adjective about the subject unless it has one form ("malade").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.shared import Dropped, drop_if, read_lexicon, word_list

if TYPE_CHECKING:
    from collections.abc import Set

    from spacy.tokens import Doc, Token

    from clinometer.contexts.mining.languages.shared import Parsed

#: s'il, but si elle: the joint gives the answer away.
_SI = re.compile(r"(?<![\w'])s['i]\s?$", re.IGNORECASE)
PRONOUNS = {"il": "Masc", "elle": "Fem"}
_SUBJECT_FORMS = frozenset("il elle ils elles on je j' tu nous vous qui ce c' cela ça".split())
_SUBJECTS = ("nsubj", "nsubj:pass", "expl:subj", "csubj")
#: What may stand before the subject of a main clause.
_BEFORE = frozenset(
    ", ; : – — « et mais car or puis alors donc aussi enfin ainsi cependant".split()
)
LONGEST = 9  # words
_LEFT_OUT = ("amod", "advmod", "obl:mod", "appos", "discourse", "vocative", "dislocated")
_VOWEL = re.compile(r"[aeiouyhàâäéèêëîïôöûùœæ]", re.IGNORECASE)
#: Words whose form depends on the next one: le grand arbre, but l'arbre; sa bonne humeur, but son.
_ELIDES = frozenset("le la de ne se que ce cet cette son sa du au beau bel vieux vieil".split())
#: Articles, which before anything but a noun phrase are pronouns: la suivit, l'avait vu.
_ARTICLES = frozenset("le la l' les".split())
_NOMINAL = ("NOUN", "ADJ", "NUM", "PROPN", "DET", "ADV")
#: After these, le and la are pronouns, and so are en and y.
_BEFORE_CLITIC = frozenset("ne n' se s' à de d' pour sans et en".split())
#: Joints that need the noun before them.
_RELATIVE = ("où ", "dont ", "qu'")
_NUMBERS = frozenset("un une deux trois quatre cinq six sept huit neuf dix".split())


#: The words of a list.
listed = partial(word_list, __package__)


def openings() -> Mapping[str, str]:
    """Conjunctions as they stand before a subject -> as they stand before l'[X].

    >>> openings()["lorsqu'"]
    'Lorsque'
    """
    table: dict[str, str] = read_lexicon(__package__)["openings"]
    return table


def is_person(word: str) -> bool:
    """Whether a noun is one person.

    >>> is_person("docteur"), is_person("porte")
    (True, False)
    """
    lists = ("masculine_persons", "feminine_persons", "epicene_persons")
    return any(word in listed(name) for name in lists)


@dataclass(frozen=True, slots=True)
class FrenchLink:
    """Two clauses: tokens `start` to `end` are the predicate of `subject`; `joint` and [Y] follow.

    `opening` is the conjunction of the first clause, "" if that is the main clause.
    """

    subject: Token
    y: Token
    start: int
    end: int
    opening: str
    joint: str


def may_link(before: str) -> bool:
    """Whether the text before il or elle leaves a link possible: a joint, or a comma after a
    clause that has an opening. Most sentences have neither, and need no parser.

    >>> may_link("Le docteur déclara qu'"), may_link("Quand il arriva, "), may_link("Hier, ")
    (True, True, False)
    """
    if _joints().search(before):
        return not _SI.search(before)
    return before.endswith(", ") and _openings().search(before) is not None


def find_link(y: Token, parsed: Parsed, persons: Set[str]) -> FrenchLink:
    """The link of one il or elle; `Dropped` if there is none to rely on."""
    doc = y.doc
    drop_if(not y.dep_.startswith("nsubj") or y.head.i < y.i, "[Y] is not a subject")
    following = doc[y.i + 1].lower_ if y.i + 1 < len(doc) else ""
    drop_if(following.startswith("-"), "[Y] is not a subject")
    impersonal = y.head.lemma_.lower() in listed("impersonal") or _y_avoir(doc, y.i)
    drop_if(y.lower_ == "il" and impersonal, "il is impersonal")
    end, joint = _joint(doc, y)
    subject = _subject(doc, end)
    opening = _opening(doc, subject)
    if bool(opening) != (joint == ", "):
        raise Dropped("clause within another" if opening else "nothing joins the clauses")
    _check_person(subject, y, parsed, persons)
    if any(child.dep_ == "conj" and child.i < end for child in subject.children):
        raise Dropped("subject is not one person")
    start = subject.i + 1 if subject.lower_ in PRONOUNS else subject.right_edge.i + 1
    return FrenchLink(subject, y, start, end, opening, joint)


def _y_avoir(doc: Doc, i: int) -> bool:
    """il y a, il n'y avait."""
    words = [token.lower_ for token in doc[i + 1 : i + 4]]
    return any(a == "y" and b in listed("avoir") for a, b in pairwise(words))


def _says_time(doc: Doc, i: int) -> bool:
    """il y a, il faisait jour, il était deux heures, il paraît."""
    words = [token.lower_ for token in doc[i + 1 : i + 5]]
    time = words[0] in listed("etre") and {"heure", "heures", "temps"} & set(words)
    weather = words[0].startswith("f") and words[1] in listed("weather")
    return bool(_y_avoir(doc, i) or words[0] in listed("impersonal") or weather or time)


def _joint(doc: Doc, y: Token) -> tuple[int, str]:
    """The first token after the predicate, and the text from there to [Y]."""
    before = doc.text[: y.idx]
    drop_if(_SI.search(before), "si is elided before il only")
    match = _joints().search(before)
    joint = match[0].lower() if match else ""
    drop_if(not joint and not before.endswith(", "), "nothing joins the clauses")
    start = match.start() if match else len(before)
    end = next(token.i for token in doc if token.idx >= start)
    if joint == "qu'":
        _check_que(doc[end - 1], y)
    if end > 0 and doc[end - 1].text == ",":
        return end - 1, f", {joint}"
    return end, joint


@cache
def _openings() -> re.Pattern[str]:
    words = "|".join(re.escape(word) for word in openings())
    return re.compile(rf"(?<![\w'])(?:{words})", re.IGNORECASE)


@cache
def _joints() -> re.Pattern[str]:
    words = sorted(listed("joints"), key=len, reverse=True)
    return re.compile(rf"(?<=\s)(?:{'|'.join(re.escape(word) for word in words)})$", re.IGNORECASE)


def _check_que(before: Token, y: Token) -> None:
    """que after a verb of reporting, or as a relative pronoun after its noun."""
    if any(token.lower_ in listed("comparing") for token in y.doc[max(0, before.i - 4) : y.i]):
        raise Dropped("comparison")
    if before.lemma_.lower() in listed("reporting"):
        return
    clause = y.head.dep_
    if before.pos_ == "NOUN" and clause in ("acl:relcl", "acl", "ccomp"):
        return
    if before.pos_ in ("VERB", "AUX") and clause == "ccomp":
        return
    raise Dropped("nothing joins the clauses")


def _subject(doc: Doc, end: int) -> Token:
    """The last subject before the joint: no other may stand between it and [Y]."""
    for token in reversed(doc[:end]):
        if token.dep_ in _SUBJECTS or token.lower_ in _SUBJECT_FORMS:
            if token.lower_ in _SUBJECT_FORMS and token.lower_ not in PRONOUNS:
                raise Dropped("another subject between")
            drop_if(token.dep_ == "expl:subj", "il is impersonal")
            return token
    raise Dropped("no predicate before [Y]")


def _opening(doc: Doc, subject: Token) -> str:
    """The conjunction of the subject's clause, "" for a main clause."""
    first = subject if subject.lower_ in PRONOUNS else subject.left_edge
    while first.i < subject.i and first.dep_ in ("mark", "cc", "punct", "advmod"):
        first = first.nbor()
    if first.i == 0:
        return ""
    before = doc.text[: first.idx].lower()
    for text, opening in openings().items():
        if before.endswith(text):
            start = len(before) - len(text)
            if start == 0 or before[:start].rstrip().endswith((",", ";", ":", "–", "—", " et")):
                return opening
            raise Dropped("clause within another")
    drop_if(doc[first.i - 1].lower_ not in _BEFORE, "clause within another")
    return ""


def _check_person(subject: Token, y: Token, parsed: Parsed, persons: Set[str]) -> None:
    """One person of the gender of the pronoun."""
    gender = PRONOUNS[y.lower_]
    word = subject.lower_
    if word in PRONOUNS:
        drop_if(word != y.lower_, "subject and [Y] differ in gender")
        if subject.head.lemma_.lower() in listed("impersonal") or _says_time(y.doc, subject.i):
            raise Dropped("il is impersonal")
        return
    drop_if("Plur" in subject.morph.get("Number", []), "subject is not one person")
    persons_by_gender = {"Masc": listed("masculine_persons"), "Fem": listed("feminine_persons")}
    if subject.pos_ == "NOUN":
        both = word in persons or word in listed("epicene_persons")
        if not both and not any(word in words for words in persons_by_gender.values()):
            raise Dropped("subject is not a person")
        if word not in persons_by_gender[gender] and not both:
            raise Dropped("subject and [Y] differ in gender")
        articles = {
            g for c in subject.children if c.dep_ == "det" for g in c.morph.get("Gender", [])
        }
        drop_if(articles and gender not in articles, "subject and [Y] differ in gender")
    elif word not in persons_by_gender[gender]:
        _check_name(subject, gender, parsed)


def _check_name(subject: Token, gender: str, parsed: Parsed) -> None:
    names = {"Masc": listed("masculine_names"), "Fem": listed("feminine_names")}
    word = subject.lower_
    if word in names["Fem" if gender == "Masc" else "Masc"]:
        raise Dropped("subject and [Y] differ in gender")
    if word in names[gender]:
        return
    drop_if(subject.pos_ != "PROPN" or parsed.entity(subject) != "PER", "subject is not a person")
    if any(token.pos_ == "PROPN" for token in subject.doc[: subject.left_edge.i]):
        raise Dropped("another person before")  # the name may be of either gender


def french_template(link: FrenchLink, cues: Set[str]) -> str:
    """The template of a link; `Dropped` if it would be incomplete or give the answer away."""
    tokens = [token for token in link.y.doc[link.start : link.end] if not token.is_space]
    if not any("Fin" in token.morph.get("VerbForm", []) for token in tokens):
        raise Dropped("no predicate before [Y]")
    _check_agreement(tokens)
    for token in tokens:
        _check_shape(token, link)
    whole, tokens = tokens, _pruned(tokens, to_the_end=not link.joint.endswith(_RELATIVE))
    drop_if(not tokens, "incomplete predicate")
    if tokens[-1] is not whole[-1] and _is_verb(tokens[-1]):
        raise Dropped("incomplete predicate")  # visita (le bagne)
    for token in tokens:
        _check_word(token, cues)
    _check_cuts(tokens)
    text = _joined(tokens)
    drop_if(not text, "no predicate before [Y]")
    drop_if(len(text.split()) > LONGEST, "too long")
    _check_complete(tokens)
    joint = link.joint if link.joint.startswith(",") else f" {link.joint}"
    head = f"{link.opening} l'" if link.opening else "L'"
    return f"{head}[X] {text}{joint}[Y]"


def _check_agreement(tokens: list[Token]) -> None:
    inside = {token.i for token in tokens}
    for token in tokens:
        noun = token.pos_ in ("NOUN", "PROPN") and token.dep_ in ("xcomp", "ROOT", "attr", "obj")
        deps = {child.dep_ for child in token.children}
        drop_if(noun and "cop" in deps and "case" not in deps, "noun as predicate")
        if token.lower_ in listed("etre") or token.lemma_ in listed("copulas"):
            _check_attribute(token)
        if token.lower_ in listed("etre") and token.nbor().lower_ in ("un", "une", "le", "la"):
            raise Dropped("noun as predicate")
        if noun and token.dep_ == "xcomp" and token.head.lemma_ in listed("copulas"):
            raise Dropped("noun as predicate")
        forms, tenses = token.morph.get("VerbForm", []), token.morph.get("Tense", [])
        participle = "Part" in forms and "Pres" not in tenses
        if token.pos_ != "ADJ" and not participle:
            continue
        of_noun = token.dep_ in ("amod", "acl", "nmod") and token.head.pos_ == "NOUN"
        if of_noun and token.head.i in inside and not _after(token, "etre"):
            continue
        if participle and not _after(token, "etre") and _after(token, "avoir"):
            continue
        drop_if(token.lower_ not in listed("epicene_adjectives"), "agreement gives gender away")


def _check_attribute(verb: Token) -> None:
    """What follows être and its like must be a phrase, or an adjective with one form."""
    attribute = verb.nbor()
    while attribute.pos_ == "ADV" or attribute.lower_ in listed("kept_adverbs"):
        attribute = attribute.nbor()
    agrees = attribute.pos_ in ("ADJ", "NOUN", "VERB", "PROPN")
    if agrees and attribute.lower_ not in listed("epicene_adjectives"):
        raise Dropped("agreement gives gender away")


def _after(token: Token, verb: str) -> bool:
    """Whether a form of être or avoir stands up to three words before it."""
    forms = listed(verb)
    return any(word.lower_ in forms for word in token.doc[max(0, token.i - 3) : token.i])


def _pruned(tokens: list[Token], *, to_the_end: bool) -> list[Token]:
    """Without adverbs, adjectives and adjuncts, where what remains is still written as it was;
    the last of them only with `to_the_end`."""
    start, end = tokens[0].i, tokens[-1].i
    left_out: set[int] = set()
    for token in tokens:
        if token.dep_ not in _LEFT_OUT or token.i in left_out:
            continue
        part = list(token.subtree)
        first, last = part[0].i, part[-1].i
        if first < start or last > end or len(part) != last - first + 1:
            continue
        if last == end and not to_the_end:
            continue
        if any(word.lower_ in listed("kept_adverbs") for word in part):
            continue
        if token.dep_ == "advmod" and any(word.pos_ == "ADP" for word in part):
            continue
        if token.dep_ == "amod" and (token.pos_ != "ADJ" or _is_said(token.head)):
            continue
        before = token.doc[first - 1]
        after = token.doc[last + 1]
        elided = before.text.endswith("'")
        other = bool(_VOWEL.match(after.text)) != bool(_VOWEL.match(part[0].text))
        changes = before.lower_ in _ELIDES and (other or before.lower_ == "de")
        if first > start and (elided or changes or before.pos_ == "ADP"):
            continue
        left_out |= {word.i for word in part}
    return [token for token in tokens if token.i not in left_out]


def _is_said(noun: Token) -> bool:
    """Whether an adjective may be what is said: "d'une richesse rare", "a la voix rude"."""
    if noun.head.lower_ in listed("avoir"):
        return True
    articles = [child for child in noun.children if child.dep_ == "det"]
    return not articles or "Ind" in articles[0].morph.get("Definite", [])


def _check_complete(tokens: list[Token]) -> None:
    words = [token.lower_ for token in tokens]
    last = tokens[-1]
    if last.pos_ in ("ADP", "DET", "CCONJ", "SCONJ") or last.text.endswith("'"):
        raise Dropped("incomplete predicate")
    ends = listed("etre") | listed("avoir") | listed("needs_attribute")
    drop_if(last.lower_ in ends or last.lemma_.lower() in ends, "incomplete predicate")
    if {"ne", "n'"} & set(words) and not listed("negations") & set(words):
        raise Dropped("incomplete predicate")
    verbs = [token for token in tokens if _is_verb(token)]
    drop_if(verbs and verbs[-1].lemma_.lower() in listed("modals"), "incomplete predicate")
    if verbs and all(token.lower_ in listed("avoir") for token in verbs):
        if not any(token.pos_ in ("NOUN", "PRON") for token in tokens):
            raise Dropped("incomplete predicate")  # n'avait pas encore (trois ans)
        drop_if("ans" in words and _NUMBERS & set(words), "[X] is a child")


def _check_shape(token: Token, link: FrenchLink) -> None:
    """What no predicate may contain, whether or not it would be left out."""
    word, before = token.lower_, token.nbor(-1)
    drop_if(word == "," or word in listed("joining"), "clause within another")
    drop_if(word in listed("comparing") and link.joint.endswith("qu'"), "comparison")
    begins = token.i == link.start or before.lower_ in ("ne", "n'", "se", "s'")
    if (begins and word in _ARTICLES) or (
        word in ("en", "y") and (begins or before.lower_ in _BEFORE_CLITIC)
    ):
        raise Dropped("pronoun in the skeleton")
    if word == "plus" and before.lower_ == "des":
        raise Dropped("agreement gives gender away")  # des plus laides
    noun = before.lower_ in ("le", "la", "un", "une") and token.nbor().pos_ not in ("NOUN", "ADJ")
    if noun and word in listed("epicene_adjectives"):
        raise Dropped("gender cue in the skeleton")  # le pauvre


def _is_verb(token: Token) -> bool:
    return token.pos_ in ("VERB", "AUX")


def _check_cuts(tokens: list[Token]) -> None:
    """Nothing was left out of a word (amour-propre) or after its article (les autres remonter)."""
    for token, after in pairwise(tokens):
        if after.i == token.i + 1:
            continue
        drop_if(token.nbor().text.startswith("-"), "half of a hyphenated word")
        if token.pos_ == "DET" and after.pos_ not in ("NOUN", "ADJ", "NUM", "DET"):
            raise Dropped("incomplete predicate")


def _check_word(token: Token, cues: Set[str]) -> None:
    word = token.lower_
    drop_if(word in listed("speech"), "first or second person")
    drop_if(token.is_punct and word != ",", "punctuation in the skeleton")
    after = token.nbor()
    verb = after.pos_ not in _NOMINAL or after.text.endswith(("rent", "aient", "ait"))
    clitic = word in _ARTICLES and verb
    if clitic or (word in listed("other_pronouns") and token.pos_ == "PRON"):
        raise Dropped("pronoun in the skeleton")
    drop_if(word in listed("always_pronouns"), "pronoun in the skeleton")
    feminine = token.pos_ == "NOUN" and word.endswith(("trice", "trices", "euse", "euses"))
    drop_if(feminine or word in listed("gender_cues") or word in cues, "gender cue in the skeleton")
    if token.pos_ == "NOUN" and (is_person(word) or is_person(token.lemma_.lower())):
        raise Dropped("another person in the skeleton")
    drop_if(token.pos_ == "PROPN" or token.text[:1].isupper(), "name in the skeleton")
    if any(c.isdigit() for c in word) or (token.pos_ == "NUM" and word not in _NUMBERS):
        raise Dropped("number in the skeleton")


def _joined(tokens: list[Token]) -> str:
    text = ""
    for token in tokens:
        glued = text.endswith("'") or token.text == "," or token.text.startswith("-")
        text += token.text if glued or not text else f" {token.text}"
    return re.sub(r"(?:, ?)+,", ",", text).strip(", ")
