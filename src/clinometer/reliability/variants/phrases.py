"""Blanks filled with short phrases that are English by construction, chosen by a model.

The parse says which phrases can stand in a blank (phrase_lists.py); a model says which of them
suit best: the probability of a phrase together with the text after the blank, relative to the same
phrase in neutral sentences, so that a phrase is chosen for this blank and not for being frequent
everywhere. Blanks that no list suits stay empty, and a version says only one thing about a whole
sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from clinometer.models import Scorer
from clinometer.reliability.parsing import parse
from clinometer.reliability.statement import Blanks
from clinometer.reliability.variants.filling import Fills, neighbours
from clinometer.reliability.variants.phrase_lists import (
    ADJUNCT,
    ADVERB,
    AFTER_NOUN,
    MODIFIER,
    candidates,
    kind_of,
)
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

if TYPE_CHECKING:
    from spacy.tokens import Doc


#: Neutral sentences for each kind: before and after the blank.
_NEUTRAL = {
    MODIFIER: (("The", " one was there"), ("They saw the", " one"), ("This is the", " one")),
    AFTER_NOUN: (("People", " are like that"), ("They met people", " there")),
    ADVERB: (("It was", " like that"), ("They were", " there")),
    ADJUNCT: (("It happened", ""), ("It is like that", ""), ("They do it", "")),
}
#: How much of a phrase's frequency everywhere is taken out of its score.
_DISCOUNT = {MODIFIER: 0.35, AFTER_NOUN: 0.6, ADVERB: 0.5, ADJUNCT: 0.6}
#: Phrases that suit what precedes a blank, of which a model also reads what follows.
_READ = 40
#: Phrases of one blank that versions sample from, and how much worse than the best one may be.
_KEPT = {MODIFIER: 14, AFTER_NOUN: 20, ADVERB: 8, ADJUNCT: 40}
_BEHIND = {MODIFIER: 3.0, AFTER_NOUN: 4.0, ADVERB: 3.0, ADJUNCT: 5.0}
#: Words after a blank that a phrase must suit.
_AFTER = 4
#: Blanks that one version fills.
_MOST_FILLED = 3


class PhraseFiller:
    """The built-in phrases, chosen by a model (`phrases:MODEL`)."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer, self.info = scorer, scorer.info
        self._usual: dict[str, dict[str, float]] = {}
        self._last: tuple[Blanks | None, float, list[tuple[list[str], FloatArray]]] = None, 0.0, []

    def fill(self, blanks: Blanks, *, n: int, temperature: float, seed: int) -> list[Fills]:
        chance = np.random.default_rng(seed)
        doc = next(iter(parse([blanks.plain])))
        if self._last[:2] != (blanks, temperature):  # asked again until there are enough versions
            pools = [
                self._pool(blanks, number, place, doc, temperature)
                for number, place in enumerate(blanks.positions)
            ]
            self._last = blanks, temperature, pools
        columns = [_sampled(pool, weights, n, chance) for pool, weights in self._last[2]]
        whole = [kind_of(doc, place) == ADJUNCT for place in blanks.positions]
        return [_thinned(row, whole, chance) for row in zip(*columns, strict=True)]

    def _pool(
        self, blanks: Blanks, number: int, place: int, doc: Doc, temperature: float
    ) -> tuple[list[str], FloatArray]:
        """Phrases that suit a blank, and their weights; only the empty one if none does."""
        kind = kind_of(doc, place)
        before, after = blanks.plain[:place].rstrip(), blanks.plain[place:]
        closed = neighbours(blanks.parts, number)
        known = {w.casefold() for w in re.findall(r"\w+", blanks.plain)}
        words = [
            p
            for p in candidates(kind, doc, place)
            if not closed & set(p.casefold().split()) and not _repeats(p, known)
        ]
        if not words:
            return [""], np.ones(1)
        usual = self._usually(kind, words)
        found = self._scores(before, after, words, usual, kind)
        good = np.isfinite(found) & np.isfinite(usual)
        if not good.any():
            return [""], np.ones(1)
        value = np.where(good, found - _DISCOUNT[kind] * usual, -np.inf)
        order = np.argsort(-value, kind="stable")[: _KEPT[kind]]
        order = order[value[order] > value[order[0]] - _BEHIND[kind]]
        weights = np.exp((value[order] - value[order[0]]) / (2.0 * temperature))
        return [words[i] for i in order], weights / weights.sum()

    def _scores(
        self, before: str, after: str, words: Sequence[str], usual: FloatArray, kind: str
    ) -> FloatArray:
        """[V] log-probability of each phrase and what follows it; minus infinity for those that do
        not even suit what precedes them, if the model reads from left to right."""
        rest = _first_words(after, _AFTER)
        tail = f" {rest}" if rest[:1].isalnum() else rest
        chosen = np.arange(len(words))
        if self.info.kind == "causal":
            alone = self.scorer.score([Prompt(before, "", bool(before))], list(words)).log_probs[0]
            if not rest[:1].isalnum():  # a full stop suits every phrase
                return np.asarray(alone, dtype=np.float64)
            value = np.where(np.isfinite(alone), alone, -50.0) - _DISCOUNT[kind] * usual
            chosen = np.sort(np.argsort(-value, kind="stable")[:_READ])
        found = np.full(len(words), -np.inf)
        some = [words[i] for i in chosen.tolist()]
        prompt = Prompt(before, tail, bool(before))
        found[chosen] = self.scorer.score([prompt], some).log_probs[0]
        return found

    def _usually(self, kind: str, words: Sequence[str]) -> FloatArray:
        """[V] the same in neutral sentences, on average."""
        known = self._usual.setdefault(kind, {})
        missing = [w for w in words if w not in known]
        if missing:
            prompts = [Prompt(a, b, True) for a, b in _NEUTRAL[kind]]
            found = self.scorer.score(prompts, missing).log_probs
            floor = np.where(np.isfinite(found), found, -25.0).mean(axis=0)
            known.update(zip(missing, floor.tolist(), strict=True))
        return np.array([known[w] for w in words])


def _repeats(phrase: str, known: set[str]) -> bool:
    """Whether a word of content is already in the sentence, or its plural is."""
    words = [w.casefold() for w in re.findall(r"\w+", phrase) if len(w) > 3]
    return any({w, f"{w}s", w.removesuffix("s")} & known for w in words)


def _first_words(text: str, n: int) -> str:
    """The first words of a text, without the space before them."""
    words = text.strip().split()
    return " ".join(words[:n])


def _sampled(
    pool: Sequence[str], weights: FloatArray, n: int, chance: np.random.Generator
) -> list[str]:
    """n phrases: every one of the pool in random order by weight before any comes again."""
    found: list[str] = []
    while len(found) < n:
        some = min(len(pool), n - len(found))
        found += chance.choice(pool, size=some, replace=False, p=weights).tolist()
    return found


def _thinned(row: Fills, whole: Sequence[bool], chance: np.random.Generator) -> Fills:
    """At most three fills, at most one of them about a whole sentence."""
    order = chance.permutation([i for i, fill in enumerate(row) if fill]).tolist()
    kept: list[int] = []
    for i in order:
        said = whole[i] and any(whole[k] for k in kept)
        if len(kept) < _MOST_FILLED and not said:
            kept.append(i)
    return tuple(fill if i in kept else "" for i, fill in enumerate(row))
