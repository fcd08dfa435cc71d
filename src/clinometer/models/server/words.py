"""Words at the slot, scored by the probability of every token, as of a local causal model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from clinometer.errors import ModelError, ModelNotFound
from clinometer.models.catalog.spec import ModelSpec
from clinometer.models.client.client import Client
from clinometer.models.client.failures import RequestRefused, Unsupported
from clinometer.models.options import LoadOptions, WordOptions
from clinometer.models.protocol import ModelInfo, Scorer, WordScores
from clinometer.models.scoring.word_scorer import Job, WordScorer
from clinometer.models.server.completions import CompletionEndpoint
from clinometer.models.server.probe import choose_route
from clinometer.models.server.question import SLACK, Bounds, TokenQuestion
from clinometer.models.server.routes import Route
from clinometer.models.server.template import find_opening
from clinometer.models.server.tokenizer import ServerTokenizer, TokenTexts
from clinometer.models.tokens import Tokens, WordList, local_tokenizer
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import Prompt

_NO_COINCIDENCE = 4
"""This many equal numbers are not a coincidence."""

_PROBE = "The weather in the town was"
"""What the probe sends: a prefix with many continuations."""

_RARE_WORDS = (" eleventh", "}", "@", " Zanzibar", "Q", "7")
"""Unlikely continuations of the probe."""


class ServerScorer(WordScorer):
    """A model behind a server.

    With an exact route its numbers mean the same as those of a local model; with top-k they are
    lower bounds, returned together with upper ones.
    """

    def __init__(
        self, route: Route, tokenizer: Any, info: ModelInfo, **options: Any
    ) -> None:
        super().__init__(tokenizer, info, **options)
        self.route = route
        self.client: Client = route.endpoint.client

    def score_batch(self, prompts: Sequence[Prompt], words: WordList) -> WordScores:
        answers: dict[TokenQuestion, Bounds] = {}

        def lower(
            paths: Sequence[Tokens], wanted: Sequence[Tokens]
        ) -> list[FloatArray]:
            """Return lower bounds from the server, which gives both."""
            questions = _questions(paths, wanted)
            new = [q for q in dict.fromkeys(questions) if q not in answers]
            bounds = self.client.run(self.route.answer(new))
            answers.update(zip(new, bounds, strict=True))
            return [answers[question].lower for question in questions]

        def upper(
            paths: Sequence[Tokens], wanted: Sequence[Tokens]
        ) -> list[FloatArray]:
            """Return upper bounds: those of the answers, and 1 for words that were not queried."""
            bounds = []
            for question in _questions(paths, wanted):
                if question in answers:
                    bounds.append(answers[question].upper)
                else:
                    bounds.append(np.zeros(len(question.wanted)))
            return bounds

        job = Job(self, prompts, words)
        scores = job.score_in_rows(lower, None if self.route.exact else upper)
        self._check_possible(scores.log_probs)
        return scores

    def _check_possible(self, log_probs: FloatArray) -> None:
        """Refuse numbers that are not a distribution: words exclude each other, so their total
        probability is at most 1; and no model finds all words equally likely everywhere."""
        most = float(np.exp(log_probs).sum(axis=1).max(initial=0.0))
        if most > 1 + SLACK:
            raise ModelError(
                f"{self.info.name}: expected words with a probability of at most 1 together, found "
                f"{most:.3g}: the server's numbers are not log-probabilities"
            )
        finite = log_probs[np.isfinite(log_probs)]
        if self.route.exact and finite.size >= _NO_COINCIDENCE and np.ptp(finite) == 0:
            raise ModelError(
                f"{self.info.name}: expected log-probabilities that differ, found "
                f"{finite[0]:.3g} {finite.size} times: the server's numbers are not "
                "log-probabilities"
            )


def _questions(
    paths: Sequence[Tokens], wanted: Sequence[Tokens]
) -> list[TokenQuestion]:
    return [TokenQuestion(*pair) for pair in zip(paths, wanted, strict=True)]


def open_by_words(
    spec: ModelSpec,
    client: Client,
    served: dict[str, Any],
    info: ModelInfo,
    *,
    load: LoadOptions,
    words: WordOptions,
) -> Scorer:
    """Open a model by the probability of every token of a word, as of a local model."""
    model = str(served["id"])
    tokenizer = _tokenizer(spec, client, model, load)
    opening = find_opening(tokenizer, load, client, model) if load.chat else None
    if load.chat and opening is None:
        raise ModelError(
            f"model {spec.name!r}: has no chat template; score it without --chat, or name a "
            "tokenizer that has one with --load tokenizer=NAME"
        )
    endpoint = CompletionEndpoint(
        client, model, TokenTexts(tokenizer), load.server.top_k
    )
    route = _route(spec, endpoint, tokenizer, wanted=load.server.route)
    exactness = "exact"
    if not route.exact:
        exactness = f"the {route.endpoint.top_k} most probable tokens only"
    meta = served.get("meta") or {}
    info = replace(
        info,
        revision=f"{info.revision}, {route.name}",
        parameters=meta.get("n_params"),
        notes=(f"queried by the route {route.name}: {exactness}",),
    )
    context_length = meta.get("n_ctx") or served.get("max_model_len")
    return ServerScorer(
        route,
        tokenizer,
        info,
        options=words,
        chat=opening,
        length_limit=context_length - 1 if context_length else None,
    )


def _tokenizer(spec: ModelSpec, client: Client, model: str, load: LoadOptions) -> Any:
    """Return the tokenizer that was named, or the server's own."""
    if load.server.tokenizer is not None:
        return local_tokenizer(load.server.tokenizer, load)
    try:
        return ServerTokenizer(client, model)
    except (RequestRefused, ModelNotFound) as error:
        status = error.status if isinstance(error, RequestRefused) else 404
        raise Unsupported(
            f"model {spec.name!r}: its server has no /tokenize (status {status}); name its "
            "tokenizer with --load tokenizer=NAME, a folder, a .gguf file or a Hugging Face id"
        ) from error


def _route(
    spec: ModelSpec,
    endpoint: CompletionEndpoint,
    tokenizer: Any,
    *,
    wanted: str | None,
) -> Route:
    """Return the route requested or the first that works, after a probe."""
    path = tuple(tokenizer.encode(_PROBE, add_special_tokens=True))
    rare = []
    for word in _RARE_WORDS:
        rare += tokenizer.encode(word, add_special_tokens=False)[:1]
    if not path or not rare:
        raise ModelError(
            f"model {spec.name!r}: its tokenizer gives no tokens for plain words; name the right "
            "one with --load tokenizer=NAME"
        )
    return endpoint.client.run(choose_route(endpoint, path, rare, wanted=wanted))
