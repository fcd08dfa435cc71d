"""Whole texts, scored without a slot: which tokens count, and the scores that come back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clinometer.statistics.arrays import FloatArray, IntArray

Masking = Literal["within_word_l2r", "original"]

TOO_LONG = "too_long"
"""Why a text has no score: the model reads fewer tokens."""

NOTHING_TO_SCORE = "nothing_to_score"
"""Why a text has no score: none of its tokens counts."""


@dataclass(frozen=True)
class MarkedText:
    """A text and the character spans of its target terms."""

    text: str
    targets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Which tokens of a text are scored, and what the model sees."""

    masking: Masking = "within_word_l2r"
    """How a word of several pieces is hidden from a masked model: `within_word_l2r` hides the piece
    and those to its right (Kauf & Ivanova 2023), so that no piece is given away by its own word;
    `original` hides one piece at a time (Salazar et al. 2020)."""
    targets: Literal["visible", "masked", "scored"] = "visible"
    """Tokens of target terms: `visible` and not scored, `masked` in every copy and not scored, or
    `scored` like all others."""
    special_tokens: bool = True
    """Put the tokenizer's special tokens around the text (they are never scored)."""
    lower: bool = False
    """Lower-case the text first."""
    edges: bool = True
    """Whether the first and last of the tokens that would be scored are."""


@dataclass(frozen=True)
class TextScores:
    """Scores of T texts."""

    log_prob: FloatArray
    """Sum of the log-probabilities of the scored tokens [T]; NaN without a score."""
    tokens: IntArray
    """How many tokens were scored [T]."""
    unknown: IntArray
    """How many of them are the tokenizer's unknown token [T]."""
    problem: tuple[str, ...]
    """Why there is no score [T]; "" where there is one."""

    def __len__(self) -> int:
        return len(self.log_prob)

    def take(self, index: IntArray) -> TextScores:
        """Return some of the texts, in the order of `index`; one may be taken many times."""
        return TextScores(
            self.log_prob[index],
            self.tokens[index],
            self.unknown[index],
            tuple(self.problem[i] for i in index.tolist()),
        )
