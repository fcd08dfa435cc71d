"""A predicate as a skeleton: verb group in the past, objects, and one phrase where it needs one.

A skeleton is rendered along a *path*: the tokens from the governing verb down to the clause of
[Y]. What precedes the path's next step is reduced; what follows it never appears.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.coreference.dependency_paths import (
    shares_subject,
)
from clinometer.contexts.mining.languages.english.lexicon import gives_gender_away, listed
from clinometer.contexts.mining.languages.english.skeleton.ages import age
from clinometer.contexts.mining.languages.english.skeleton.alone import (
    check_alone,
    check_alone_adjective,
)
from clinometer.contexts.mining.languages.english.skeleton.completeness import (
    check_adjective,
    check_participle,
    check_verb,
)
from clinometer.contexts.mining.languages.english.skeleton.phrases import (
    Rendering,
    hyphenated,
    is_name,
    is_time,
    noun_phrase,
    place,
)
from clinometer.contexts.mining.languages.english.skeleton.tense import base_and_past, verb_group

if TYPE_CHECKING:
    from spacy.tokens import Token

_BOUNDS = frozenset(["above", "below", "over", "under"])
_OBJECTS = frozenset(["dobj", "dative", "attr", "oprd", "acomp"])


def predicate(path: tuple[Token, ...], how: Rendering) -> list[str]:
    """The words from the governing verb path[0] to just before the last token of the path."""
    return _Skeleton(how).finite(path)


def whole_predicate(verb: Token, how: Rendering) -> list[str]:
    """The words of a predicate by itself, for "The [X], who …, is [Y]"."""
    if any(c.dep_ in ("ccomp", "parataxis") for c in verb.children):
        raise Dropped("clause in the predicate")
    words = _Skeleton(how).finite((verb,))
    check_alone(verb, words)
    return words


@dataclass(frozen=True)
class _Skeleton:
    """Renders predicates, with everything that the words before [Y] need."""

    how: Rendering

    def finite(self, path: tuple[Token, ...]) -> list[str]:
        verb = path[0]
        group = verb_group(verb)
        helped = group.modal or group.progressive or group.passive or group.perfect
        if verb.tag_ in ("VBG", "VB", "VBN") and not helped:
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
        objects = phrases = lost = 0
        particle = False
        reports = step is not None and step.dep_ == "ccomp"
        if reports and copula:
            raise Dropped("incomplete predicate")  # "was that he …"
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
                kept = []
                if self.how.alone and words and words[-1] in listed("relational") and not phrases:
                    kept = self._phrase(child)  # "made contributions to the field"
                    if not kept:
                        raise Dropped("a noun that lost what it needs")
                elif not (reports or objects or phrases):
                    kept = self._phrase(child, named=self._needs_place(base))
                phrases += bool(kept)
                lost += not kept
                words += kept
            elif dep == "ccomp":
                raise Dropped("clause in the predicate")
            elif dep == "advmod" and (child.lower_ in listed("kept_adverbs")):
                if self.how.alone and child.lower_ == "there":
                    raise Dropped("pronoun in the skeleton")  # "moved there"
                words.append(child.lower_)
                objects += copula
        else:
            if step is not None:
                raise Dropped("word order")
        if copula and not objects and not phrases:
            raise Dropped("incomplete predicate")
        passive = any(c.dep_ == "auxpass" for c in verb.lefts)
        whole = objects or phrases or particle or passive or verb.tag_ == "VBN"
        if base in listed("needs_object") and not whole:
            raise Dropped("incomplete predicate")
        if base in listed("needs_phrase") and lost and not phrases and not reports:
            raise Dropped("incomplete predicate")
        end = step.i if step is not None else verb.doc[-1].i
        filled = step is not None and len(path) == 2 and step.dep_ in _OBJECTS
        check_verb(verb, base, words, copula=copula, end=end, filled=filled)
        return words

    @staticmethod
    def _moves(verb: Token) -> bool:
        return verb.pos_ == "VERB" and verb_group(verb).base in listed("motion")

    def _needs_place(self, base: str) -> bool:
        """Whether a verb cannot lose its phrase: "went to Paris", and "lived in Paris" alone."""
        if self.how.alone:
            return base not in listed("stands_alone") and base != "be"
        return base in listed("needs_more") or base in listed("needs_phrase")

    def _enter(self, path: tuple[Token, ...]) -> list[str]:
        """Descend into a step of the path; the last token is the clause or word of [Y] itself."""
        if len(path) == 1:
            return []
        token, step = path[0], path[1]
        if token.dep_ == "xcomp" and token.pos_ in ("VERB", "AUX"):
            return self._open_clause(path)
        if token.pos_ in ("VERB", "AUX"):
            raise Dropped("clause in the predicate")
        if token.dep_ in ("prep", "dative", "agent") and token.pos_ in ("ADP", "SCONJ"):
            opening = ["due", "to"] if token.lower_ == "due" else [token.lower_]
            return [*opening, *self._enter(path[1:])]
        if token.pos_ == "ADJ" or token.dep_ == "acomp":
            return [*self._adjective(token), *self._enter(path[1:])]
        if token.pos_ in ("NOUN", "PRON", "PROPN", "NUM"):
            if step.dep_ not in ("relcl", "acl", "prep"):
                raise Dropped("word order")
            if token.dep_ == "pobj" and is_time(token):
                raise Dropped("a time before [Y]")  # "until the minutes that …"
            words = noun_phrase(token, self.how, step=step)
            return [*words, *self._enter(path[1:])]
        raise Dropped("word order")

    def _complement(self, token: Token) -> list[str]:
        """An object, a predicate noun or a predicate adjective."""
        if token.dep_ == "dative" and token.pos_ in ("ADP", "SCONJ"):
            return self._phrase(token)
        if token.head.lower_ in listed("be") and age(token):
            if self.how.alone:
                raise Dropped("an age")  # "The [X], who was four, is …"
            return age(token)
        if token.pos_ in ("ADJ", "ADV") or token.dep_ == "acomp":
            words = self._adjective(token)
            for child in token.rights:
                if child.dep_ == "xcomp":
                    words += self._open_clause((child,))
                elif child.dep_ == "ccomp":
                    raise Dropped("clause in the predicate")
                elif child.lower_ in listed("of_adjectives") and self.how.alone and not words[1:]:
                    words += self._phrase(child)  # "responsible for the design"
            if self.how.alone:
                check_alone_adjective(token, words[1:])
            if token.lower_ in listed("quantities"):
                raise Dropped("a quantity without its noun")  # "would spend much (of the year)"
            if token.lower_ in listed("unfinished") and len(words) == 1:
                raise Dropped("incomplete predicate")  # "was able"
            return words
        if token.pos_ in ("VERB", "AUX"):
            if token.tag_ == "VBN" and not hyphenated(token):
                return [token.lower_]
            raise Dropped("clause in the predicate")
        return noun_phrase(token, self.how)

    def _adjective(self, token: Token) -> list[str]:
        if not token.is_lower or not token.lower_.replace("-", "").isalpha():
            raise Dropped("name in the skeleton")
        if gives_gender_away(token.lower_):
            raise Dropped("gender cue in the skeleton")
        degrees = ("as", "so", "too", "more", "less", "such")
        if token.tag_ in ("JJR", "RBR") or any(c.lower_ in degrees for c in token.lefts):
            raise Dropped("comparison")
        if any(c.dep_ == "npadvmod" for c in token.lefts):
            raise Dropped("number or sign in the skeleton")  # "17 years old"
        check_adjective(token)
        before = [c.lower_ for c in token.lefts if c.dep_ == "neg"]
        return [*before, token.lower_]

    def _open_clause(self, path: tuple[Token, ...]) -> list[str]:
        """An infinitive or a gerund: "to prove", "working", with its own complements."""
        verb = path[0]
        if verb.pos_ not in ("VERB", "AUX"):
            return self._complement(verb) if len(path) == 1 else self._enter((verb, *path[1:]))
        if any(c.dep_ in ("nsubj", "nsubjpass") for c in verb.lefts):
            raise Dropped("clause in the predicate")
        group = verb_group(verb)
        rest = self._after(path, base=group.base, copula=_is_copula(verb))
        ends = listed("stands_alone") | listed("ends_infinitive")
        if self.how.alone and not rest and group.base not in ends:
            raise Dropped("incomplete predicate")  # "needed to monitor"
        if any(c.dep_ == "aux" and c.lower_ == "to" for c in verb.lefts):
            words = group.infinitive()
            negation = words[:1] if group.negation else []
            asked = [c.lower_ for c in verb.lefts if c.tag_ in ("WRB", "WP")]
            return [*asked, *negation, "to", *words[len(negation) :], *rest]  # "how to win"
        if verb.tag_ == "VBG":
            return [*group.gerund(), *rest]
        if verb.tag_ == "VB":
            return [*group.infinitive(), *rest]
        if verb.tag_ == "VBN":
            if not any(c.dep_ == "auxpass" for c in verb.lefts):
                check_participle(verb)
            being = ["being"] if group.passive else []
            return [*being, verb.lower_, *rest]
        raise Dropped("clause in the predicate")

    def _phrase(self, prep: Token, *, named: bool = False) -> list[str]:
        """A prepositional phrase if the skeleton can keep it; otherwise nothing.

        named  also one with the name of a place: the verb needs it
        """
        if prep.tag_ == "VBG" or prep.lower_ == "due":
            return []  # "including tours"
        if self.how.alone and prep.lower_ in listed("says_when"):
            return []  # "was jailed after the trial"
        if self.how.alone and named and prep.lower_ == "in" and self._moves(prep.head):
            return []  # "moved in Paris"
        playing = prep.head.lower_ in ("play", "plays", "played", "playing")
        if self.how.alone and playing and prep.lower_ in ("as", "for"):
            return []  # "played as a midfielder", "played for Leeds"
        for child in prep.rights:
            if child.dep_ == "pobj":
                counted = any(c.like_num and not c.is_alpha for c in child.lefts)
                if counted and (self.how.alone or prep.lower_ in _BOUNDS):
                    return []  # "scored above 10 points", "threw for 300 yards"
                try:
                    role = self.how.alone and prep.lower_ == "as"  # "acted as Hamlet"
                    if named and is_name(child) and not role:
                        return [prep.lower_, *place(child, self.how)]
                    if is_name(child) or is_time(child) or any(is_name(c) for c in child.lefts):
                        return []
                    return [prep.lower_, *noun_phrase(child, self.how)]
                except Dropped:
                    return []
        return []


def _check_shared(verb: Token) -> None:
    """A form that is not finite needs an auxiliary, its own or a shared one."""
    if shares_subject(verb):
        return
    has_subject = any(c.dep_ in ("nsubj", "nsubjpass") for c in verb.lefts)
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
    return not any(c.dep_ in ("aux", "auxpass") and c.lower_ in listed("be") for c in verb.rights)
