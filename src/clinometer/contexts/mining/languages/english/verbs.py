"""Verb groups, put into the past: "says", "has said" and "did say" are one predicate, "said"."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from clinometer.contexts.mining.languages.decisions import Dropped, drop_if
from clinometer.contexts.mining.languages.english.tokens import SUBJECTS
from clinometer.contexts.mining.languages.english.vocabulary import listed, mapped
from clinometer.contexts.mining.languages.parses import has_dep

if TYPE_CHECKING:
    from spacy.tokens import Token


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
        """Return the finite past. The perfect becomes the simple past, except after a modal."""
        if self.modal:
            return [self.modal, *self.infinitive()]
        if self.passive or self.progressive or self.base == "be":
            return ["was", *self._negation(), *self._participles()]
        if self.negation == "not":
            return ["did", "not", self.base]
        return [*self._negation(), self.past_form]

    def infinitive(self) -> list[str]:
        """Return the group after "to": base form, with "be" if it is passive or progressive."""
        words = self._negation()
        if self.perfect:
            words.append("have")
        if self.passive or self.progressive:
            be = "been" if self.perfect else "be"
            return [*words, be, *self._participles()]
        verb = inflect(self.base, "VBN") if self.perfect else self.base
        return [*words, verb]

    def gerund(self) -> list[str]:
        """Return the -ing form."""
        if self.passive:
            return ["being", *self._participles()]
        return [inflect(self.base, "VBG")]

    def _negation(self) -> list[str]:
        return [self.negation] if self.negation else []

    def _participles(self) -> list[str]:
        """Return what follows a form of "be"."""
        if self.passive:
            participle = inflect(self.base, "VBN")
            return ["being", participle] if self.progressive else [participle]
        if self.progressive:
            return [inflect(self.base, "VBG")]
        return []


def verb_group(verb: Token) -> VerbGroup:
    """Read the auxiliaries, the negation and the form of a verb from its parse."""
    auxiliaries = _auxiliaries(verb)
    words = {auxiliary.lower_ for auxiliary in auxiliaries}
    passive = has_dep(auxiliaries, "auxpass")
    modal = _modal(verb, auxiliaries)
    base, past_form = base_and_past(verb.lower_, verb.tag_)
    return VerbGroup(
        base,
        past_form,
        modal=modal,
        negation=_negation(verb),
        perfect=_is_perfect(verb, words, modal=modal, passive=passive),
        progressive=_is_progressive(verb, words, passive=passive),
        passive=passive,
    )


def _auxiliaries(verb: Token) -> list[Token]:
    """Return the auxiliaries of a verb; if it shares them, those of the verb before it."""
    auxiliaries = [
        c for c in verb.lefts if c.dep_ in ("aux", "auxpass") and c.lower_ != "to"
    ]
    if auxiliaries or verb.dep_ != "conj" or has_dep(verb.lefts, *SUBJECTS):
        return auxiliaries
    first_verb = verb.head
    earlier = _auxiliaries(first_verb)
    if _can_share(verb, first_verb, earlier):
        return earlier
    return []


def _can_share(verb: Token, first_verb: Token, auxiliaries: Sequence[Token]) -> bool:
    """Return whether the form of a verb fits after the auxiliaries of the verb before it."""
    if verb.tag_ == "VBN":
        return any(
            a.dep_ == "auxpass" or a.lower_ in listed("have") for a in auxiliaries
        )
    if verb.tag_ == "VB":
        return any(a.tag_ == "MD" or a.lower_ in listed("do") for a in auxiliaries)
    return verb.tag_ == "VBG" and first_verb.tag_ == "VBG"


def _modal(verb: Token, auxiliaries: Sequence[Token]) -> str | None:
    """Return the past of the modal; "'d" before a base form is "would"."""
    modals = [a.lower_ for a in auxiliaries if a.tag_ == "MD"]
    past = mapped("modal_past").get(modals[0]) if modals else None
    if past is None and verb.tag_ == "VB":
        has_clitic = any(a.lower_ in listed("have_or_would") for a in auxiliaries)
        return "would" if has_clitic else None
    return past


def _negation(verb: Token) -> str | None:
    for child in verb.children:
        if child.dep_ == "neg":
            return "never" if child.lower_ == "never" else "not"
    return None


def _is_perfect(
    verb: Token, words: Set[str], *, modal: str | None, passive: bool
) -> bool:
    """Return whether a verb with these auxiliaries is a perfect: "has said", "'s said"."""
    if words & listed("have"):
        return True
    if verb.tag_ != "VBN":
        return False
    if words & listed("be_or_have") and not passive:
        return True
    return modal is None and bool(words & listed("have_or_would"))


def _is_progressive(verb: Token, words: Set[str], *, passive: bool) -> bool:
    """Return whether a verb with these auxiliaries is a progressive: "is saying", "'s saying"."""
    if passive and "being" in words:
        return True
    return verb.tag_ == "VBG" and bool(words & (listed("be") | listed("be_or_have")))


def is_copula(verb: Token) -> bool:
    """Return whether a verb is a form of "be" and no auxiliary of another."""
    if verb.lower_ not in listed("be") and verb.lower_ not in ("'s", "’s"):
        return False
    auxiliaries = [c for c in verb.rights if c.dep_ in ("aux", "auxpass")]
    return not any(c.lower_ in listed("be") for c in auxiliaries)


@lru_cache(maxsize=16_384)
def base_and_past(word: str, tag: str) -> tuple[str, str]:
    """Return the base form and the simple past of a verb as it stands in a text.

    >>> base_and_past("says", "VBZ"), base_and_past("found", "VBD"), base_and_past("is", "VBZ")
    (('say', 'said'), ('find', 'found'), ('be', 'was'))
    """
    if word in listed("be") or word in listed("be_or_have"):
        return "be", "was"
    if word in listed("have"):
        return "have", "had"
    base = _base_form(word, tag)
    drop_if(tag != "VBD" and not is_known(base), "unknown verb")
    is_past = tag == "VBD" and not _is_participle_alone(word, base)
    past_form = word if is_past else inflect(base, "VBD")
    return base, mapped("spellings").get(past_form, past_form)


def _base_form(word: str, tag: str) -> str:
    from lemminflect import getLemma

    irregular = mapped("bases").get(word)
    if irregular:
        return irregular
    if tag in ("VB", "VBP"):
        return word
    lemmas: tuple[str, ...] = getLemma(word, upos="VERB")
    return lemmas[0] if lemmas else word


def _is_participle_alone(word: str, base: str) -> bool:
    """Return whether a form that was read as the past may only be the participle: "begun"."""
    from lemminflect import getInflection

    participles = getInflection(base, tag="VBN")
    return word in participles and word not in getInflection(base, tag="VBD")


@lru_cache(maxsize=16_384)
def is_known(base: str) -> bool:
    """Return whether the dictionary has the verb.

    For others it guesses forms that are no words ("complianted").
    """
    from lemminflect import getAllInflections

    return bool(getAllInflections(base, upos="VERB"))


@lru_cache(maxsize=16_384)
def inflect(base: str, tag: str) -> str:
    """Return a form of a verb by its Penn tag.

    >>> inflect("go", "VBD"), inflect("write", "VBN"), inflect("stop", "VBG")
    ('went', 'written', 'stopping')
    """
    from lemminflect import getInflection

    irregular = mapped("irregular").get(f"{base} {tag}")
    if irregular:
        return irregular
    forms: tuple[str, ...] = getInflection(base, tag=tag)
    form = forms[0] if forms else base
    return mapped("spellings").get(form, form)


def base_of(verb: Token) -> str:
    """Return the base form of a verb; the rule of an unknown one drops the sentence."""
    base, _ = base_and_past(verb.lower_, verb.tag_)
    return base


def base_if_known(verb: Token) -> str:
    """Return the base form of a verb, "" for an unknown one."""
    try:
        return base_of(verb)
    except Dropped:
        return ""
