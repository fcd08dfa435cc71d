"""Fill blanks with built-in phrases that are English by construction, chosen by a model.

A model says which of the phrases that suit a blank suit best: the probability of a phrase together
with the text after the blank, relative to the same phrase in neutral sentences, so that a phrase is
chosen for this blank and not for being frequent everywhere. A version says only one thing about a
whole sentence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from clinometer.models import Scorer
from clinometer.reliability.blank_rules import parse
from clinometer.reliability.lexicon import (
    ADJUNCT,
    ADVERB,
    AFTER_NOUN,
    MODIFIER,
    phrases,
)
from clinometer.reliability.statement import Blanks
from clinometer.reliability.suitable import candidates, kind_of
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

if TYPE_CHECKING:
    from spacy.tokens import Doc

Fills = tuple[str, ...]
"""The text of each blank; "" leaves it empty."""

_NEUTRAL = {
    MODIFIER: (
        ("The", " one was there"),
        ("They saw the", " one"),
        ("This is the", " one"),
    ),
    AFTER_NOUN: (("People", " are like that"), ("They met people", " there")),
    ADVERB: (("It was", " like that"), ("They were", " there")),
    ADJUNCT: (("It happened", ""), ("It is like that", ""), ("They do it", "")),
}
"""Neutral sentences for each kind: before and after the blank."""

_DISCOUNT = {MODIFIER: 0.35, AFTER_NOUN: 0.6, ADVERB: 0.5, ADJUNCT: 0.6}
"""How much of a phrase's frequency everywhere is taken out of its score."""

_MAX_READ = 40
"""Phrases that suit what precedes a blank, of which a model also reads what follows."""

_POOL_SIZE = {MODIFIER: 14, AFTER_NOUN: 20, ADVERB: 8, ADJUNCT: 40}
"""Phrases of one blank that versions sample from."""

_MAX_LOSS = {MODIFIER: 3.0, AFTER_NOUN: 4.0, ADVERB: 3.0, ADJUNCT: 5.0}
"""How much worse than the best one a phrase of the pool may be."""

_WORDS_AFTER = 4
"""Words after a blank that a phrase must suit."""

_MAX_FILLED = 3
"""Blanks that one version fills."""


@dataclass(frozen=True, eq=False)
class PhrasePool:
    """Phrases that suit a blank, and the weights by which they are sampled."""

    phrases: Sequence[str]
    weights: FloatArray

    def sample(self, n: int, rng: np.random.Generator) -> list[str]:
        """Return n phrases: every one of the pool in random order by weight before any comes
        again."""
        sample: list[str] = []
        while len(sample) < n:
            size = min(len(self.phrases), n - len(sample))
            order = rng.choice(self.phrases, size=size, replace=False, p=self.weights)
            sample += order.tolist()
        return sample


_EMPTY_POOL = PhrasePool([""], np.ones(1))


class PhraseFiller:
    """The built-in phrases, chosen by a model (`phrases:MODEL`)."""

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer
        self.info = scorer.info
        self._neutral_scores: dict[str, dict[str, float]] = {}
        self._pools_of: tuple[Blanks, float] | None = None
        self._pools: list[PhrasePool] = []

    def fill(
        self, blanks: Blanks, *, n: int, temperature: float, seed: int
    ) -> list[Fills]:
        """Return the fills of n versions."""
        rng = np.random.default_rng(seed)
        doc = next(iter(parse([blanks.plain])))
        # The same blanks are filled again until there are enough versions.
        if self._pools_of != (blanks, temperature):
            numbers = range(len(blanks))
            self._pools = [self.pool(blanks, i, doc, temperature) for i in numbers]
            self._pools_of = (blanks, temperature)
        columns = [pool.sample(n, rng) for pool in self._pools]
        is_adjunct = [kind_of(doc, offset) == ADJUNCT for offset in blanks.positions]
        rows = zip(*columns, strict=True)
        return [_thinned(fills, is_adjunct, rng) for fills in rows]

    def pool(
        self, blanks: Blanks, number: int, doc: Doc, temperature: float
    ) -> PhrasePool:
        """Return the phrases that suit a blank; only the empty one if none does."""
        position = blanks.positions[number]
        kind = kind_of(doc, position)
        neighbours = neighbouring_words(blanks.parts, number)
        sentence_words = {w.casefold() for w in re.findall(r"\w+", blanks.plain)}
        texts = []
        for phrase in candidates(kind, doc, position):
            repeats = neighbours & set(phrase.casefold().split())
            if not repeats and not _repeats_content(phrase, sentence_words):
                texts.append(phrase)
        if not texts:
            return _EMPTY_POOL
        discount = _DISCOUNT[kind] * self._scores_in_neutral_sentences(kind, texts)
        before = blanks.plain[:position].rstrip()
        scores = self._scores(before, blanks.plain[position:], texts, discount)
        is_finite = np.isfinite(scores) & np.isfinite(discount)
        if not is_finite.any():
            return _EMPTY_POOL
        values = np.where(is_finite, scores - discount, -np.inf)
        best = np.argsort(-values, kind="stable")[: _POOL_SIZE[kind]]
        losses = values[best[0]] - values[best]
        best = best[losses < _MAX_LOSS[kind]]
        weights = np.exp((values[best] - values[best[0]]) / (2.0 * temperature))
        return PhrasePool([texts[i] for i in best], weights / weights.sum())

    def _scores(
        self, before: str, after: str, texts: list[str], discount: FloatArray
    ) -> FloatArray:
        """Return the log-probability of each phrase and what follows it [V]; minus infinity for
        those that do not even suit what precedes them, if the model reads from left to right."""
        suffix = " ".join(after.split()[:_WORDS_AFTER])
        begins_with_word = suffix[:1].isalnum()
        indices = np.arange(len(texts))
        if self.info.kind == "causal":
            prompt = Prompt(before, "", bool(before))
            scores = self.scorer.score([prompt], texts).log_probs[0]
            if not begins_with_word:  # a full stop suits every phrase
                return np.asarray(scores, dtype=np.float64)
            values = np.where(np.isfinite(scores), scores, -50.0) - discount
            indices = np.sort(np.argsort(-values, kind="stable")[:_MAX_READ])
        prompt = Prompt(
            before, f" {suffix}" if begins_with_word else suffix, bool(before)
        )
        suitable = [texts[i] for i in indices]
        scores_with_suffix = np.full(len(texts), -np.inf)
        scores_with_suffix[indices] = self.scorer.score([prompt], suitable).log_probs[0]
        return scores_with_suffix

    def _scores_in_neutral_sentences(
        self, kind: str, texts: Sequence[str]
    ) -> FloatArray:
        """Return the log-probability of each phrase in neutral sentences [V], on average.

        All phrases of a kind are scored at once: which improbable ones a model skips depends on
        the others, and must not depend on what was asked before a run was interrupted.
        """
        if kind not in self._neutral_scores:
            lists = phrases()[kind].values()
            all_texts = list(dict.fromkeys(chain.from_iterable(lists)))
            prompts = [Prompt(before, after, True) for before, after in _NEUTRAL[kind]]
            scores = self.scorer.score(prompts, all_texts).log_probs
            means = np.where(np.isfinite(scores), scores, -25.0).mean(axis=0)
            by_text = dict(zip(all_texts, means.tolist(), strict=True))
            self._neutral_scores[kind] = by_text
        return np.array([self._neutral_scores[kind][text] for text in texts])


def neighbouring_words(parts: Sequence[str], number: int) -> frozenset[str]:
    """Return the words on both sides of a blank, which a fill must not repeat ("the the").

    >>> sorted(neighbouring_words(["The ", " nurse is"], 0))
    ['nurse', 'the']
    """
    words = parts[number].split()[-1:] + parts[number + 1].split()[:1]
    return frozenset("".join(filter(str.isalnum, word)).casefold() for word in words)


def _repeats_content(phrase: str, sentence_words: set[str]) -> bool:
    """Return whether a word of content is already in the sentence, or its plural is."""
    for word in re.findall(r"\w+", phrase.casefold()):
        if (
            len(word) > 3
            and {word, f"{word}s", word.removesuffix("s")} & sentence_words
        ):
            return True
    return False


def _thinned(
    fills: Fills, is_adjunct: Sequence[bool], rng: np.random.Generator
) -> Fills:
    """Return at most three of the fills, at most one of them about a whole sentence."""
    filled = [i for i, fill in enumerate(fills) if fill]
    chosen: set[int] = set()
    has_adjunct = False
    for i in rng.permutation(filled).tolist():
        if len(chosen) < _MAX_FILLED and not (is_adjunct[i] and has_adjunct):
            chosen.add(i)
            has_adjunct = has_adjunct or is_adjunct[i]
    return tuple(fill if i in chosen else "" for i, fill in enumerate(fills))
