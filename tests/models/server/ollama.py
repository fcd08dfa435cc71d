"""Ollama's HTTP interface over llama.cpp's server, which is what Ollama runs inside.

Ollama itself cannot be installed from a package index. Requests and replies are those of its
OpenAPI description (docs/openapi.yaml): prompts are text, tokens are named by text, at most 20 of
them, and a reply whose first token ends it lists none.
"""

from __future__ import annotations

import json
from typing import Any

import httpx
from tests.models.server.http import JsonHandler, Server


class OllamaStandin(Server):
    """`upstream` is llama.cpp's server. `old`: a version before 0.12.11, without logprobs;
    `ends`: prompts with this text are answered by the end at once."""

    def __init__(self, upstream: str, *, old: bool = False, ends: str = "") -> None:
        super().__init__(Handler)
        self.upstream, self.old, self.ends = upstream, old, ends
        self.client = httpx.Client(timeout=None)  # noqa: S113  (as long as it takes)
        self.prompts: list[str] = []

    def stop(self) -> None:
        super().stop()
        self.client.close()

    def generate(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if not isinstance(body.get("prompt"), str):
            return 400, {"error": "json: cannot unmarshal array into Go struct field"}
        if not 0 <= body.get("top_logprobs", 0) <= 20:
            return 400, {"error": "top_logprobs must be between 0 and 20"}
        if body.get("stream", True) or not body.get("raw"):
            return 400, {"error": "this stand-in neither streams nor has a template"}
        self.prompts.append(body["prompt"])
        options, top = body.get("options", {}), body.get("top_logprobs", 0)
        asked = {
            "prompt": body["prompt"],
            "n_predict": options.get("num_predict", -1),
            "n_probs": max(top, 1),
            **{k: v for k, v in options.items() if k != "num_predict"},
        }
        said = self.client.post(f"{self.upstream}/completion", json=asked).json()
        ended = bool(self.ends) and self.ends in body["prompt"]
        reply: dict[str, Any] = {
            "model": body["model"],
            "created_at": "2026-01-01T00:00:00Z",
            "response": "" if ended else said["content"],
            "done": True,
            "done_reason": "stop" if ended else "length",
            "eval_count": 1,
        }
        if body.get("logprobs") and not self.old and not ended:
            reply["logprobs"] = [
                {**_named(place), "top_logprobs": [_named(t) for t in place["top_logprobs"]]}
                for place in said["completion_probabilities"]
            ]
        return 200, reply


def _named(place: dict[str, Any]) -> dict[str, Any]:
    return {name: place[name] for name in ("token", "logprob", "bytes")}


class Handler(JsonHandler):
    server: OllamaStandin

    def get(self) -> None:
        model = {"id": "smollm2:135m", "object": "model", "created": 1, "owned_by": "library"}
        self.send(200, {"object": "list", "data": [model]})

    def post(self, content: bytes) -> None:
        body = json.loads(content)
        if self.path == "/api/generate":
            self.send(*self.server.generate(body))
        elif self.path == "/v1/completions":
            refused = "json: cannot unmarshal array into Go struct field .prompt of type string"
            error = {"message": refused, "type": "invalid_request_error", "code": None}
            self.send(400, {"error": error})
        else:
            self.send(404, {"error": "404 page not found"})
