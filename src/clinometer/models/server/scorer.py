"""Words at the slot, scored by a server like any other causal model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clinometer.errors import ModelError
from clinometer.models.options import WordOptions
from clinometer.models.protocol import ModelInfo, WordScores
from clinometer.models.scoring.causal_job import Job
from clinometer.models.scoring.next_token_rows import Rows
from clinometer.models.scoring.word_scorer import WordScorer
from clinometer.models.server.client import Client
from clinometer.models.server.routes import Bounds, Floats, Route
from clinometer.models.tokens.word_tokens import WordList, head_tokens
from clinometer.models.tokens.word_trie import Tokens
from clinometer.topics import Prompt

#: Tolerance of the sum of a server's probabilities, which may be in half precision.
_ROUNDING = 1e-2
#: This many equal numbers are not a coincidence.
_ENOUGH = 4


class ServerScorer(WordScorer):
    """A model behind a server. With an exact route its numbers mean the same as those of a local
    model; with top-k they are lower bounds, returned together with upper ones."""

    def __init__(
        self,
        route: Route,
        tokenizer: Any,
        info: ModelInfo,
        *,
        options: WordOptions | None = None,
        chat: str | None = None,
        length_limit: int | None = None,
    ) -> None:
        super().__init__(tokenizer, info, options=options)
        self.route, self.chat = route, chat
        self._limit = length_limit

    @property
    def client(self) -> Client:
        return self.route.endpoint.client

    @property
    def length_limit(self) -> int | None:
        return self._limit

    def usage(self) -> dict[str, int]:
        return self.client.usage()

    def close(self) -> None:
        self.client.close()

    def head_tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return head_tokens(self.tokenizer, texts, chat=self.chat)

    def check_values(self, values: Floats, prompts: Sequence[Prompt]) -> None:
        """Refuse numbers that no language model returns. The prompt is not named: it was sent to
        the server, and no message may repeat it."""
        if np.isnan(values).any() or (values > 0).any():
            raise ModelError(f"{self.info.name}: expected log-probabilities, found another number")

    def score_alike(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        job = Job(self, prompts, words)
        asked = _Asked(self)
        heads = len(job.heads)
        upper = None if self.route.exact else Rows(_Remembered(asked), job.heads)
        found = job.joined([job.score(Rows(asked, job.heads), 0, heads, upper=upper)])
        self._check_possible(found.log_probs)
        return found

    def _check_possible(self, log_probs: Floats) -> None:
        """Refuse numbers that are not a distribution: words exclude each other, so their total
        probability is at most 1; and no model finds all words equally likely everywhere."""
        most = float(np.exp(log_probs).sum(axis=1).max(initial=0.0))
        if most > 1 + _ROUNDING:
            raise ModelError(
                f"{self.info.name}: expected words with a probability of at most 1 together, found "
                f"{most:.3g}: the server's numbers are not log-probabilities"
            )
        known = log_probs[np.isfinite(log_probs)]
        if self.route.exact and known.size >= _ENOUGH and np.ptp(known) == 0:
            raise ModelError(
                f"{self.info.name}: expected log-probabilities that differ, found {known[0]:.3g} "
                f"{known.size} times: the server's numbers are not log-probabilities"
            )


class _Asked:
    """Queries the server, and remembers both bounds of every answer."""

    def __init__(self, scorer: ServerScorer) -> None:
        self.scorer = scorer
        self.answers: dict[tuple[Tokens, Tokens], Bounds] = {}

    def follow(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[Floats]:
        questions = list(zip(paths, wanted, strict=True))
        new = [q for q in dict.fromkeys(questions) if q not in self.answers]
        found = self.scorer.client.run(self.scorer.route.answer(new))
        self.answers.update(zip(new, found, strict=True))
        return [self.answers[q].lower for q in questions]


class _Remembered:
    """Upper bounds: those of the answers, and 1 for words that were not queried."""

    def __init__(self, asked: _Asked) -> None:
        self.asked = asked

    def follow(self, paths: Sequence[Tokens], wanted: Sequence[Tokens]) -> list[Floats]:
        known = self.asked.answers
        return [
            known[q].upper if q in known else np.zeros(len(q[1]))
            for q in zip(paths, wanted, strict=True)
        ]
