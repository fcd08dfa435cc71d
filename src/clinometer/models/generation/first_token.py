"""Models that list the most probable first tokens of a reply: bounds for every word."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinometer.errors import ContextError, ModelError
from clinometer.models.generation.asking import AskedBackend
from clinometer.models.protocol import ModelInfo, WordReport, WordScores
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

#: As many as providers list (OpenAI, Google, llama.cpp, vLLM).
LISTED = 20
#: How far the sum of a provider's probabilities may be off.
_ROUNDING = 1e-3


class FirstTokenScorer(ABC):
    """Scores words by one request per prompt."""

    blocks_at_once = 8

    def __init__(self, backend: AskedBackend, info: ModelInfo, *notes: str) -> None:
        bounds = f"bounds from the {LISTED} most probable first tokens"
        self.backend, self.info = backend, replace(info, notes=(*info.notes, bounds, *notes))

    @abstractmethod
    def listed(self, texts: Sequence[str]) -> list[list[tuple[str, float]]]:
        """The most probable first tokens of the reply to each text, with their probabilities."""

    def usage(self) -> dict[str, int]:
        return self.backend.usage()

    def close(self) -> None:
        self.backend.close()

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """The provider's tokens are not known; a word is compared as text."""
        return WordReport(tokens={word: (word,) for word in words})

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        for prompt in prompts:
            if prompt.after or not prompt.before:
                raise ContextError(
                    f"{self.info.name}: a reply continues the text from the slot: use templates "
                    "that end with [Y] and do not begin with it"
                )
        lists = self.listed([prompt.before for prompt in prompts])
        bounds = np.array([word_bounds(self._checked(one), words) for one in lists])
        lower, upper = np.moveaxis(bounds, 1, 0)
        with np.errstate(divide="ignore"):
            return WordScores(
                log_probs=np.log(lower),
                log_coverage=np.log(lower.sum(axis=1)),
                skipped=np.zeros(len(prompts)),
                log_upper=np.log(upper),
            )

    def _checked(self, listed: list[tuple[str, float]]) -> list[tuple[str, float]]:
        if not all(0.0 <= p <= 1.0 + _ROUNDING for _, p in listed) or (
            math.fsum(p for _, p in listed) > 1.0 + len(listed) * _ROUNDING
        ):
            raise ModelError(
                f"{self.info.name}: the provider's probabilities sum to more than 1; --replies N "
                "samples N replies per context instead"
            )
        return listed


def word_bounds(
    listed: Sequence[tuple[str, float]], words: Sequence[str]
) -> tuple[list[float], list[float]]:
    """The least and the most probability of each word as the beginning of a reply.

    >>> low, high = word_bounds([("Yes", 0.6), (" No", 0.2), ("Y", 0.1)], ["Yes", "No"])
    >>> [round(p, 3) for p in low], [round(p, 3) for p in high]
    ([0.6, 0.2], [0.801, 0.301])
    """
    texts = [(token.strip(), p) for token, p in listed]
    rest = max(0.0, 1.0 - math.fsum(p for _, p in texts)) + _ROUNDING
    low, high = [], []
    for word in words:
        whole = math.fsum(p for text, p in texts if text == word)
        begun = math.fsum(p for text, p in texts if text != word and word.startswith(text))
        low.append(min(whole, 1.0))
        high.append(min(whole + begun + rest, 1.0))
    return low, high
