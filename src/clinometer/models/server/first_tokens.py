"""Words scored by the most probable first tokens of a reply: bounds for every word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clinometer.errors import ModelError
from clinometer.models.event_loop import together
from clinometer.models.protocol import ModelInfo, Scorer, WordReport, WordScores
from clinometer.models.sampled import check_continued
from clinometer.models.server.chat import LISTED, ChatEndpoint
from clinometer.models.server.question import ROUNDING
from clinometer.models.server.request import messages_for
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt


class ChatTokenScorer(Scorer):
    """Scores words by the first tokens that a chat endpoint lists, one request a prompt."""

    blocks_at_once = 8

    def __init__(
        self, endpoint: ChatEndpoint, info: ModelInfo, *, question: bool
    ) -> None:
        bounds = f"bounds from the {LISTED} most probable first tokens"
        notes = (*info.notes, bounds, "asked through its chat endpoint")
        self.info = replace(info, notes=notes)
        self.endpoint = endpoint
        self.question = question
        self.client = endpoint.client

    def word_report(self, words: Sequence[str], *, space: bool) -> WordReport:
        """Return words as their own tokens: texts are compared, as the provider's are unknown."""
        return WordReport(tokens={word: (word,) for word in words})

    def score(
        self,
        prompts: Sequence[Prompt],
        words: Sequence[str],
        counts: FloatArray | None = None,
    ) -> WordScores:
        check_continued(self.info.name, prompts)
        client = self.endpoint.client
        work = [self._listed(prompt.before) for prompt in prompts]
        lists = client.run(together(work, client.halt))
        self.info = replace(self.info, request=self.endpoint.record())
        bounds = np.array([word_bounds(tokens, words) for tokens in lists])
        lower = bounds[:, 0]
        upper = bounds[:, 1]
        with np.errstate(divide="ignore"):
            return WordScores(
                log_probs=np.log(lower),
                log_coverage=np.log(lower.sum(axis=1)),
                skipped=np.zeros(len(prompts)),
                log_upper=np.log(upper),
            )

    async def _listed(self, text: str) -> list[tuple[str, float]]:
        """Return the first tokens listed for a text, from the log or from the server."""
        logged = None if self.log is None else self.log.get(text, 0)
        if logged is None:
            messages = messages_for(text, question=self.question)
            logged = await self.endpoint.first_tokens(messages)
            if self.log is not None:
                self.log.put(text, 0, logged)
        tokens = [(str(token), float(probability)) for token, probability in logged]
        self._check_possible([probability for _, probability in tokens])
        return tokens

    def _check_possible(self, probabilities: list[float]) -> None:
        """Refuse numbers that are no part of a distribution."""
        possible = all(0.0 <= p <= 1.0 + ROUNDING for p in probabilities)
        tolerance = len(probabilities) * ROUNDING
        if not possible or math.fsum(probabilities) > 1.0 + tolerance:
            raise ModelError(
                f"{self.info.name}: the provider's probabilities sum to more than 1; --replies N "
                "samples N replies per context instead"
            )


def word_bounds(
    listed: Sequence[tuple[str, float]], words: Sequence[str]
) -> tuple[list[float], list[float]]:
    """Return the least and the most probability of each word as the beginning of a reply.

    A word has at least the probability of the tokens that are this word, and at most that of those
    that it begins with besides, and of what is not listed.

    >>> low, high = word_bounds([("Yes", 0.6), (" No", 0.2), ("Y", 0.1)], ["Yes", "No"])
    >>> [round(p, 3) for p in low], [round(p, 3) for p in high]
    ([0.6, 0.2], [0.801, 0.301])
    """
    texts = [(token.strip(), probability) for token, probability in listed]
    total = math.fsum(probability for _, probability in texts)
    unlisted = max(0.0, 1.0 - total) + ROUNDING
    low, high = [], []
    for word in words:
        whole = math.fsum(p for text, p in texts if text == word)
        openings = [p for text, p in texts if text != word and word.startswith(text)]
        low.append(min(whole, 1.0))
        high.append(min(whole + math.fsum(openings) + unlisted, 1.0))
    return low, high
