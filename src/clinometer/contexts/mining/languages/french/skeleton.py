"""The predicate between [X] and [Y]: what is left out, and what no template may contain.

French shows the gender of the subject in the predicate: "est né" or "est née", "était content" or
"contente", "se sentit seule". Such a template would give the answer away, so a participle with
être is never kept, nor is an adjective about the subject unless it has one form ("malade").
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.french.lexicon import is_person, listed

if TYPE_CHECKING:
    from collections.abc import Set

    from spacy.tokens import Token

    from clinometer.contexts.mining.languages.french.links import FrenchLink

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


def french_template(link: FrenchLink, cues: Set[str]) -> str:
    """The template of a link; `Dropped` if it would be incomplete or give the answer away."""
    tokens = [token for token in link.y.doc[link.start : link.end] if not token.is_space]
    if not any("Fin" in token.morph.get("VerbForm", []) for token in tokens):
        raise Dropped("no predicate before [Y]")
    _check_agreement(tokens)
    for token in tokens:
        _check_shape(token, link)
    whole, tokens = tokens, _pruned(tokens, to_the_end=not link.joint.endswith(_RELATIVE))
    if not tokens:
        raise Dropped("incomplete predicate")
    if tokens[-1] is not whole[-1] and _is_verb(tokens[-1]):
        raise Dropped("incomplete predicate")  # visita (le bagne)
    for token in tokens:
        _check_word(token, cues)
    _check_cuts(tokens)
    text = _joined(tokens)
    if not text:
        raise Dropped("no predicate before [Y]")
    if len(text.split()) > LONGEST:
        raise Dropped("too long")
    _check_complete(tokens)
    joint = link.joint if link.joint.startswith(",") else f" {link.joint}"
    head = f"{link.opening} l'" if link.opening else "L'"
    return f"{head}[X] {text}{joint}[Y]"


def _check_agreement(tokens: list[Token]) -> None:
    inside = {token.i for token in tokens}
    for token in tokens:
        noun = token.pos_ in ("NOUN", "PROPN") and token.dep_ in ("xcomp", "ROOT", "attr", "obj")
        deps = {child.dep_ for child in token.children}
        if noun and "cop" in deps and "case" not in deps:
            raise Dropped("noun as predicate")
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
        if token.lower_ not in listed("epicene_adjectives"):
            raise Dropped("agreement gives gender away")


def _check_attribute(verb: Token) -> None:
    """What follows être and its like must be a phrase, or an adjective with one form."""
    said = verb.nbor()
    while said.pos_ == "ADV" or said.lower_ in listed("kept_adverbs"):
        said = said.nbor()
    agrees = said.pos_ in ("ADJ", "NOUN", "VERB", "PROPN")
    if agrees and said.lower_ not in listed("epicene_adjectives"):
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
    if last.lower_ in ends or last.lemma_.lower() in ends:
        raise Dropped("incomplete predicate")
    if {"ne", "n'"} & set(words) and not listed("negations") & set(words):
        raise Dropped("incomplete predicate")
    verbs = [token for token in tokens if _is_verb(token)]
    if verbs and verbs[-1].lemma_.lower() in listed("modals"):
        raise Dropped("incomplete predicate")
    if verbs and all(token.lower_ in listed("avoir") for token in verbs):
        if not any(token.pos_ in ("NOUN", "PRON") for token in tokens):
            raise Dropped("incomplete predicate")  # n'avait pas encore (trois ans)
        if "ans" in words and _NUMBERS & set(words):
            raise Dropped("[X] is a child")


def _check_shape(token: Token, link: FrenchLink) -> None:
    """What no predicate may contain, whether or not it would be left out."""
    word, before = token.lower_, token.nbor(-1)
    if word == "," or word in listed("joining"):
        raise Dropped("clause within another")
    if word in listed("comparing") and link.joint.endswith("qu'"):
        raise Dropped("comparison")
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
        if token.nbor().text.startswith("-"):
            raise Dropped("half of a hyphenated word")
        if token.pos_ == "DET" and after.pos_ not in ("NOUN", "ADJ", "NUM", "DET"):
            raise Dropped("incomplete predicate")


def _check_word(token: Token, cues: Set[str]) -> None:
    word = token.lower_
    if word in listed("speech"):
        raise Dropped("first or second person")
    if token.is_punct and word != ",":
        raise Dropped("punctuation in the skeleton")
    after = token.nbor()
    verb = after.pos_ not in _NOMINAL or after.text.endswith(("rent", "aient", "ait"))
    clitic = word in _ARTICLES and verb
    if clitic or (word in listed("other_pronouns") and token.pos_ == "PRON"):
        raise Dropped("pronoun in the skeleton")
    if word in listed("always_pronouns"):
        raise Dropped("pronoun in the skeleton")
    feminine = token.pos_ == "NOUN" and word.endswith(("trice", "trices", "euse", "euses"))
    if feminine or word in listed("gender_cues") or word in cues:
        raise Dropped("gender cue in the skeleton")
    if token.pos_ == "NOUN" and (is_person(word) or is_person(token.lemma_.lower())):
        raise Dropped("another person in the skeleton")
    if token.pos_ == "PROPN" or token.text[:1].isupper():
        raise Dropped("name in the skeleton")
    if any(c.isdigit() for c in word) or (token.pos_ == "NUM" and word not in _NUMBERS):
        raise Dropped("number in the skeleton")


def _joined(tokens: list[Token]) -> str:
    text = ""
    for token in tokens:
        glued = text.endswith("'") or token.text == "," or token.text.startswith("-")
        text += token.text if glued or not text else f" {token.text}"
    return re.sub(r"(?:, ?)+,", ",", text).strip(", ")
