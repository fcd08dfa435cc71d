"""Routes that lift the wanted tokens by a bias."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from clinometer.execution.event_loop import together
from clinometer.models.server.client import Missing
from clinometer.models.server.reply import first_place
from clinometer.models.server.routes.route import Bounds, Route, required
from clinometer.models.tokens.word_trie import Tokens

#: Lifts a token above all others: the maximum in OpenAI's API.
_BIAS = 100.0


class Boost(Route):
    """Tokens among the k most probable are read from that list. The others are lifted together with
    the most probable one, whose value is known: p(t) = p(known) · p'(t) / p'(known)."""

    name = "boost"
    #: llama.cpp returns probabilities from before its samplers by default; otherwise turn all off.
    _after_bias: ClassVar[dict[str, Any]] = {"post_sampling_probs": True, "top_k": 0, "min_p": 0.0}

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        top = await self.endpoint.top(path, self.endpoint.top_k)
        values = {t: self.endpoint.look_up(top, t) for t in wanted}
        rest = [t for t, value in values.items() if value is None]
        if not rest:
            return Bounds.exact([required(values[t]) for t in wanted])
        known = max(top.by_id, key=lambda t: top.by_id[t], default=None)
        if known is None:
            raise Missing("no token whose number is known")
        await self.endpoint.names.load([known])
        room = max(1, self.endpoint.top_k - 1)
        parts = [rest[i : i + room] for i in range(0, len(rest), room)]
        for part in await together([self.lifted(path, known, p) for p in parts]):
            values.update({t: top.by_id[known] + ratio for t, ratio in part.items()})
        return Bounds.exact([required(values[t]) for t in wanted])

    async def lifted(self, path: Tokens, known: int, tokens: Sequence[int]) -> dict[int, float]:
        """log p(t) - log p(known) of each token."""

        def read(reply: Any) -> dict[int, float]:
            listed = first_place(reply)
            values = {t: required(self.endpoint.look_up(listed, t)) for t in (known, *tokens)}
            return {t: values[t] - values[known] for t in tokens}

        found: dict[int, float] = await self.endpoint.ask(
            path,
            read,
            logprobs=len(tokens) + 1,
            logit_bias={str(t): _BIAS for t in (known, *tokens)},
            **self._after_bias,
        )
        return found


class PlainBoost(Boost):
    """The same where log-probabilities are always returned after the bias."""

    name = "boost-plain"
    _after_bias: ClassVar[dict[str, Any]] = {}


class Force(Route):
    """One request per token: the bias makes the server generate it, with the model's own
    log-probability."""

    name = "force"

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        return Bounds.exact(await together([self.written(path, t) for t in wanted]))

    async def written(self, path: Tokens, token: int) -> float:
        def read(reply: Any) -> float:
            return required(self.endpoint.look_up(first_place(reply), token))

        value: float = await self.endpoint.ask(
            path, read, logprobs=1, logit_bias={str(token): _BIAS}, temperature=0.0
        )
        return value
