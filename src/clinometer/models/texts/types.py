"""Scoring whole texts: which tokens count, and the scores that come back.

Nothing here depends on torch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from clinometer.statistics.arrays import FloatArray, IntArray

Masking = Literal["within_word_l2r", "original"]

#: Why a text has no score.
TOO_LONG = "too_long"
NOTHING_TO_SCORE = "nothing_to_score"


@dataclass(frozen=True)
class MarkedText:
    """A text and the character spans of its target terms."""

    text: str
    targets: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Which tokens of a text are scored, and what the model sees.

    masking         how a word of several pieces is hidden from a masked model: `within_word_l2r`
                    hides the piece and those to its right (Kauf & Ivanova 2023), so that no piece
                    is given away by its own word; `original` hides one piece at a time (Salazar et
                    al. 2020)
    targets         tokens of target terms: `visible` and not scored, `masked` in every copy and not
                    scored, or `scored` like all others
    special_tokens  put the tokenizer's special tokens around the text (they are never scored)
    lower           lower-case the text first
    edges           whether the first and last of the tokens that would be scored are
    """

    masking: Masking = "within_word_l2r"
    targets: Literal["visible", "masked", "scored"] = "visible"
    special_tokens: bool = True
    lower: bool = False
    edges: bool = True


@dataclass(frozen=True)
class TextScores:
    """Scores of T texts.

    log_prob [T]   sum of the log-probabilities of the scored tokens; NaN without a score
    tokens [T]     how many tokens were scored
    unknown [T]    how many of them are the tokenizer's unknown token
    problem [T]    "" or why there is no score
    """

    log_prob: FloatArray
    tokens: IntArray
    unknown: IntArray
    problem: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.log_prob)

    def take(self, index: IntArray) -> TextScores:
        """Some of the texts, in the order of `index`; one may be taken many times."""
        return TextScores(
            self.log_prob[index],
            self.tokens[index],
            self.unknown[index],
            tuple(self.problem[i] for i in index.tolist()),
        )
