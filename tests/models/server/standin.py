"""Servers with other abilities than llama.cpp's, over one small known model.

OpenAI's server and other hosted ones cannot run here, so that their dialects are spoken by this
stand-in: a model of 60 tokens whose probabilities follow from the last two tokens by a formula.
`abilities` says what the server honours; what it does not know it ignores, as most do, or refuses.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
from tests.models.server.http import JsonHandler, Server

VOCABULARY = [chr(c) for c in range(32, 92)]


def log_probs(path: list[int], bias: dict[str, float] | None = None) -> np.ndarray:
    """The model itself."""
    a, b = ([0, 0, *path])[-2:]
    logits = 4.0 * np.sin(np.arange(len(VOCABULARY)) * (1 + a % 7) + b)
    for token, more in (bias or {}).items():
        logits[int(token)] += more
    return logits - math.log(np.exp(logits).sum())


class Standin(Server):
    def __init__(
        self,
        *abilities: str,
        top: int = 20,
        strict: bool = False,
        most: int | None = None,
    ) -> None:
        super().__init__(Handler)
        self.abilities, self.top, self.strict = set(abilities), top, strict
        self.most = most  # texts in a reply; None: the number is ignored
        self.requests: list[dict[str, Any]] = []

    def complete(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.requests.append(body)
        unknown = {"logprob_token_ids", "post_sampling_probs"} & set(body)
        if self.strict and unknown:
            return 400, {
                "error": {"message": f"Unrecognized request argument: {unknown}"}
            }
        if "logprobs" not in self.abilities:
            n = 1 if self.most is None else body.get("n", 1)
            if n > (self.most or 1):
                return 400, {"error": {"message": f"n: at most {self.most}"}}
            choices = [{"text": "A", "index": i, "logprobs": None} for i in range(n)]
            return 200, {"choices": choices}
        if body.get("logprobs", 0) > self.top:
            return 400, {"error": {"message": "logprobs: too many"}}
        path = body["prompt"]
        told = log_probs(
            path, body.get("logit_bias") if "boost" in self.abilities else None
        )
        written = int(told.argmax())
        listed = {
            int(t): float(told[t]) for t in np.argsort(-told)[: body.get("logprobs", 0)]
        }
        if "token-ids" in self.abilities and "logprob_token_ids" in body:
            listed = {t: float(told[t]) for t in body["logprob_token_ids"]}
        choice: dict[str, Any] = {
            "text": VOCABULARY[written],
            "logprobs": {
                "tokens": [self.name(written, body)],
                "token_logprobs": [float(told[written])],
                "top_logprobs": [{self.name(t, body): v for t, v in listed.items()}],
            },
        }
        return 200, {"choices": [choice], "usage": {"total_tokens": len(path) + 1}}

    def name(self, token: int, body: dict[str, Any]) -> str:
        by_id = "names-ids" in self.abilities and body.get("return_tokens_as_token_ids")
        return f"token_id:{token}" if by_id else VOCABULARY[token]


class Handler(JsonHandler):
    server: Standin

    def get(self) -> None:
        self.send(200, {"data": [{"id": "toy", "max_model_len": 100}]})

    def post(self, content: bytes) -> None:
        body = json.loads(content)
        if self.path == "/tokenize":
            text = body["prompt"].upper().replace("}", "!")
            self.send(
                200, {"tokens": [VOCABULARY.index(c) for c in text if c in VOCABULARY]}
            )
        elif self.path == "/detokenize":
            self.send(200, {"prompt": "".join(VOCABULARY[t] for t in body["tokens"])})
        elif self.path == "/v1/completions":
            self.send(*self.server.complete(body))
        else:
            self.send(404, {"error": {"message": "no such place"}})
