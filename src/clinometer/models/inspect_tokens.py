"""Words by the most probable first tokens of a reply, which some of Inspect's providers list.

A word that is one of the listed tokens, with or without a space before it, has their probability.
What is not known makes its bounds: a listed token that only begins the word may go on to it, and so
may any token that is not listed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.errors import ContextError, ModelError
from clinometer.models.inspect_client import InspectClient
from clinometer.models.protocol import ModelInfo, WordReport, WordScores
from clinometer.topics import Prompt

#: As many as providers list (OpenAI, Google, llama.cpp, vLLM).
LISTED = 20
#: How far the sum of a provider's probabilities may be off.
_ROUNDING = 1e-3


class FirstTokenScorer:
    """Scores words by one request per prompt."""

    def __init__(self, client: InspectClient, info: ModelInfo) -> None:
        notes = (f"bounds from the {LISTED} most probable first tokens", *client.notes())
        self.client, self.info = client, replace(info, notes=(*info.notes, *notes))

    def usage(self) -> dict[str, int]:
        return self.client.usage()

    def close(self) -> None:
        self.client.close()

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """The provider's tokens are not known; a word is compared as text."""
        return WordReport(tokens={word: (word,) for word in words})

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: NDArray[np.float64] | None = None,
    ) -> WordScores:
        from inspect_ai.model import GenerateConfig

        for prompt in prompts:
            if prompt.after or not prompt.before:
                raise ContextError(
                    f"{self.info.name}: a reply continues the text from the slot: use templates "
                    "that end with [Y] and do not begin with it"
                )
        config = GenerateConfig(max_tokens=1, temperature=1.0, logprobs=True, top_logprobs=LISTED)
        outputs = self.client.ask([(prompt.before, config) for prompt in prompts])
        bounds = np.array([word_bounds(self._listed(output), words) for output in outputs])
        lower, upper = np.moveaxis(bounds, 1, 0)
        with np.errstate(divide="ignore"):
            return WordScores(
                log_probs=np.log(lower),
                log_coverage=np.log(lower.sum(axis=1)),
                skipped=np.zeros(len(prompts)),
                log_upper=np.log(upper),
            )

    def _listed(self, output: Any) -> list[tuple[str, float]]:
        """The tokens and probabilities of the first place of a reply."""
        found = output.choices[0].logprobs if output.choices else None
        if found is None or not found.content or not found.content[0].top_logprobs:
            raise ModelError(
                f"{self.info.name}: the provider lists no log-probabilities; --sampled N samples "
                "N replies per context instead"
            )
        listed = [(one.token, math.exp(one.logprob)) for one in found.content[0].top_logprobs]
        if not all(0.0 <= p <= 1.0 + _ROUNDING for _, p in listed) or (
            math.fsum(p for _, p in listed) > 1.0 + len(listed) * _ROUNDING
        ):
            raise ModelError(
                f"{self.info.name}: the provider's probabilities sum to more than 1; --sampled N "
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
