"""Routes by which a server returns the tokens that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinometer.execution.event_loop import together
from clinometer.models.server.reply import echoed, first_place, of_prompt, of_token_ids
from clinometer.models.server.routes.route import Bounds, Question, Route, required
from clinometer.models.tokens.word_trie import Tokens


class TokenIds(Route):
    """The server looks up the wanted tokens itself."""

    name = "token-ids"
    #: vLLM's own limit.
    _most = 128

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        parts = [wanted[i : i + self._most] for i in range(0, len(wanted), self._most)]
        found = await together([self._part(path, part) for part in parts])
        return Bounds.exact([value for part in found for value in part])

    async def _part(self, path: Tokens, wanted: Tokens) -> list[float]:
        def read(reply: Any) -> list[float]:
            listed = first_place(reply)
            return [required(self.endpoint.look_up(listed, t)) for t in wanted]

        values: list[float] = await self.endpoint.ask(
            path,
            read,
            logprobs=1,
            logprob_token_ids=list(wanted),
            return_tokens_as_token_ids=True,
            temperature=0.0,
        )
        return values


class GenerateIds(Route):
    """The same by SGLang's own endpoint beside the OpenAI-compatible ones."""

    name = "generate"

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        def read(reply: Any) -> list[float]:
            listed = of_token_ids(reply)
            return [required(listed.get(token)) for token in wanted]

        body = {
            "input_ids": list(path),
            "sampling_params": {"max_new_tokens": 1, "temperature": 0.0},
            "return_logprob": True,
            "logprob_start_len": -1,
            "token_ids_logprob": list(wanted),
        }
        client = self.endpoint.client
        values: list[float] = await client.post(f"{client.address.root}/generate", body, read)
        return Bounds.exact(values)


class PromptLogProbs(Route):
    """Path and token as the prompt. Prefixes of a longer sequence need no separate request: the
    longer one's reply contains their tokens too."""

    name = "prompt-logprobs"

    async def answer(self, questions: Sequence[Question]) -> list[Bounds]:
        wanted = {(*path, t) for path, tokens in questions for t in tokens}
        begun = {s[:n] for s in wanted for n in range(len(s))}
        asked = sorted(wanted - begun)
        replies = await together([self.whole(s) for s in asked])
        value: dict[Tokens, float] = {}
        for tokens, found in zip(asked, replies, strict=True):
            for n in range(1, len(tokens)):
                value.setdefault(tokens[: n + 1], required(found[n]))
        return [Bounds.exact([value[(*path, t)] for t in ts]) for path, ts in questions]

    async def one(self, path: Tokens, wanted: Tokens) -> Bounds:
        return (await self.answer([(path, wanted)]))[0]

    async def whole(self, tokens: Tokens) -> list[float | None]:
        found: list[float | None] = await self.endpoint.ask(
            tokens, lambda reply: of_prompt(reply, tokens), prompt_logprobs=0, temperature=0.0
        )
        return found


class Echo(PromptLogProbs):
    """The same with the echo of OpenAI's first API."""

    name = "echo"

    async def whole(self, tokens: Tokens) -> list[float | None]:
        found: list[float | None] = await self.endpoint.ask(
            tokens,
            lambda reply: echoed(reply, len(tokens)),
            echo=True,
            logprobs=1,
            temperature=0.0,
        )
        return found
