"""Verb groups in the past tense: "says", "has said", "did say" are one predicate, "said"."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.lexicon import listed, mapped

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
        """The finite past. The perfect becomes the simple past, except after a modal."""
        negation = [self.negation] if self.negation else []
        if self.modal:
            perfect = ["have"] if self.perfect else []
            return [self.modal, *negation, *perfect, *self._rest(after_have=self.perfect)]
        if self.passive or self.progressive or self.base == "be":
            return ["was", *negation, *self._tail()]
        if self.negation == "not":
            return ["did", "not", self.base]
        return [*negation, self.past_form]

    def infinitive(self) -> list[str]:
        """The group after "to": base form, with "be" if it is passive or progressive."""
        negation = [self.negation] if self.negation else []
        perfect = ["have"] if self.perfect else []
        return [*negation, *perfect, *self._rest(after_have=self.perfect)]

    def gerund(self) -> list[str]:
        """The -ing form."""
        if self.passive:
            return ["being", *self._tail()]
        return [inflect(self.base, "VBG")]

    def _rest(self, *, after_have: bool) -> list[str]:
        be = "been" if after_have else "be"
        if self.passive or self.progressive:
            return [be, *self._tail()]
        if after_have:
            return [inflect(self.base, "VBN")]
        return [self.base]

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

    def found(name: str) -> bool:
        return not words.isdisjoint(listed(name))

    tag = verb.tag_
    passive = any(h.dep_ == "auxpass" for h in helpers)
    modal = next((mapped("modal_past").get(h.lower_) for h in helpers if h.tag_ == "MD"), None)
    if modal is None and tag == "VB" and found("have_or_would"):
        modal = "would"
    participle = tag == "VBN"
    have = found("have") or (participle and not passive and found("be_or_have"))
    have = have or (participle and modal is None and found("have_or_would"))
    has_be = found("be") or (tag == "VBG" and found("be_or_have"))
    base, past_form = base_and_past(verb.lower_, tag)
    return VerbGroup(
        base,
        past_form,
        modal=modal,
        negation=_negation(verb),
        perfect=have,
        progressive=(tag == "VBG" and has_be) or (passive and "being" in words),
        passive=passive,
    )


def _helpers(verb: Token) -> list[Token]:
    """Auxiliaries of the verb; if it shares them, those of the verb before it."""
    own = [c for c in verb.lefts if c.dep_ in ("aux", "auxpass") and c.lower_ != "to"]
    if own or verb.dep_ != "conj" or any(c.dep_ in ("nsubj", "nsubjpass") for c in verb.lefts):
        return own
    first = verb.head
    theirs = _helpers(first)
    shared = any(h.dep_ == "auxpass" or h.lower_ in listed("have") for h in theirs)
    if verb.tag_ == "VBN" and shared:
        return theirs
    if verb.tag_ == "VB" and any(h.tag_ == "MD" or h.lower_ in listed("do") for h in theirs):
        return theirs
    if verb.tag_ == "VBG" and first.tag_ == "VBG":
        return theirs
    return own


def _negation(verb: Token) -> str | None:
    for child in verb.children:
        if child.dep_ == "neg":
            return "never" if child.lower_ == "never" else "not"
    return None


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
    from lemminflect import getLemma

    known = mapped("bases").get(word)
    lemmas = (known,) if known else getLemma(word, upos="VERB")
    base = word if tag in ("VB", "VBP") and not known else (lemmas[0] if lemmas else word)
    if tag != "VBD" and not is_known(base):
        raise Dropped("unknown verb")
    past_form = inflect(base, "VBD") if tag != "VBD" or _is_participle(word, base) else word
    return base, mapped("spellings").get(past_form, past_form)


def _is_participle(word: str, base: str) -> bool:
    """Whether a form that was read as the past is only the participle: "begun"."""
    from lemminflect import getInflection

    return word in getInflection(base, tag="VBN") and word not in getInflection(base, tag="VBD")


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
    if known := mapped("irregular").get(f"{base} {tag}"):
        return known
    from lemminflect import getInflection

    forms = getInflection(base, tag=tag)
    form = forms[0] if forms else base
    return mapped("spellings").get(form, form)
