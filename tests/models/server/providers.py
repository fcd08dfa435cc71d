"""Hosted providers, which cannot exist here: each as strict as the real one, in its own words.

A stand-in refuses what its provider refuses, one complaint a request as the provider makes it, and
any field that the provider does not know, unless the provider ignores those. The wording is from
their documentation and from the issues of programs that met it; vLLM's from vLLM itself, which
`tests/models/test_server_vllm.py` asks in the same way.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.models.server.http import JsonHandler, Server

from clinometer.models.server.wire.formats import WIRE_FORMATS

Body = dict[str, Any]
Refusal = tuple[int, Any]
Refuse = Callable[[Body], Refusal | None]

OPENAI_FIELDS = {
    *(
        "model",
        "messages",
        "max_tokens",
        "max_completion_tokens",
        "temperature",
        "top_p",
        "n",
    ),
    *("seed", "stop", "stream", "presence_penalty", "frequency_penalty", "logprobs"),
    *("top_logprobs", "reasoning_effort"),
}


def openai_error(message: str, param: str | None, code: str | None = None) -> Refusal:
    error = {
        "message": message,
        "type": "invalid_request_error",
        "param": param,
        "code": code,
    }
    return 400, {"error": error}


def unknown_to_openai(body: Body) -> Refusal | None:
    extra = sorted(body.keys() - OPENAI_FIELDS)
    if not extra:
        return None
    several = "s" if len(extra) > 1 else ""
    return openai_error(
        f"Unrecognized request argument{several} supplied: {', '.join(extra)}", None
    )


def openai_reasoning(body: Body) -> Refusal | None:
    """The current chat models: no max_tokens, temperature 1 only, no log-probabilities."""
    if refused := unknown_to_openai(body):
        return refused
    for name, instead in (
        ("max_tokens", " Use 'max_completion_tokens' instead."),
        ("logprobs", ""),
    ):
        if name in body:
            said = f"Unsupported parameter: '{name}' is not supported with this model.{instead}"
            return openai_error(said, name, "unsupported_parameter")
    for name, only in (("temperature", 1), ("top_p", 1), ("presence_penalty", 0)):
        if name in body and (body[name] != only or name != "top_p"):
            said = (
                f"Unsupported value: '{name}' does not support {body[name]} with this model. "
                f"Only the default ({only}) value is supported."
            )
            return openai_error(said, name, "unsupported_value")
    efforts = ("minimal", "low", "medium", "high")
    if body.get("reasoning_effort", "medium") not in efforts:
        said = (
            f"Unsupported value: 'reasoning_effort' does not support '{body['reasoning_effort']}' "
            "with this model. Supported values are: 'minimal', 'low', 'medium', and 'high'."
        )
        return openai_error(said, "reasoning_effort", "unsupported_value")
    if body.get("max_completion_tokens", 16) < 16:
        said = (
            "Invalid 'max_completion_tokens': integer below minimum value. Expected a value >= 16, "
            f"but got {body['max_completion_tokens']} instead."
        )
        return openai_error(said, "max_completion_tokens", "integer_below_min_value")
    return None


def listing(most: int) -> Refuse:
    """Log-probabilities, but so many at most."""

    def refuse(body: Body) -> Refusal | None:
        if refused := unknown_to_openai(body):
            return refused
        if "reasoning_effort" in body:
            return openai_error(
                "Unrecognized request argument supplied: reasoning_effort", None
            )
        if body.get("top_logprobs", 0) > most:
            said = "Invalid 'top_logprobs': integer above maximum value. Expected a value <= "
            return openai_error(
                f"{said}{most}.", "top_logprobs", "integer_above_max_value"
            )
        return None

    return refuse


def anthropic_error(message: str) -> Refusal:
    return 400, {
        "type": "error",
        "error": {"type": "invalid_request_error", "message": message},
    }


def anthropic_messages(body: Body) -> Refusal | None:
    known = {
        "model",
        "messages",
        "system",
        "max_tokens",
        "temperature",
        "top_p",
        "top_k",
    }
    if "max_tokens" not in body:
        return anthropic_error("max_tokens: Field required")
    return _extra_or_both(body, known)


def _extra_or_both(body: Body, known: set[str]) -> Refusal | None:
    for name in sorted(body.keys() - known):
        return anthropic_error(f"{name}: Extra inputs are not permitted")
    if "temperature" in body and "top_p" in body:
        said = "`temperature` and `top_p` cannot both be specified for this model."
        return anthropic_error(f"{said} Please use only one.")
    return None


def anthropic_compatible(body: Body) -> Refusal | None:
    """OpenAI's format at Anthropic's address: n is 1, and no log-probabilities come back."""
    if refused := _extra_or_both(body, OPENAI_FIELDS):
        return refused
    return anthropic_error("n: Input should be 1") if body.get("n", 1) != 1 else None


def mistral(body: Body) -> Refusal | None:
    known = {
        *(
            "model",
            "messages",
            "max_tokens",
            "temperature",
            "top_p",
            "n",
            "stop",
            "stream",
        ),
        *("random_seed", "presence_penalty", "frequency_penalty"),
    }
    extra = sorted(body.keys() - known)
    detail = [
        {
            "type": "extra_forbidden",
            "loc": ["body", name],
            "msg": "Extra inputs are not permitted",
            "input": body[name],
        }
        for name in extra
    ]
    error = {
        "object": "error",
        "message": {"detail": detail},
        "type": "invalid_request_error",
    }
    return (422, {**error, "param": None, "code": None}) if extra else None


def gemini(body: Body) -> Refusal | None:
    known = OPENAI_FIELDS - {
        "seed",
        "frequency_penalty",
        "presence_penalty",
        "logprobs",
    }
    extra = sorted(body.keys() - known - {"top_logprobs"})
    said = "\n".join(
        f'Invalid JSON payload received. Unknown name "{name}": Cannot find field.'
        for name in extra
        if name != "logprobs"
    )
    if not said and "logprobs" in body:
        said = f"Logprobs is not enabled for models/{body['model']}"
    error = {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}
    return (400, [{"error": error}]) if said else None


def vllm(body: Body) -> Refusal | None:
    """Knows the samplers that others do not, and ignores the rest, as the real one (0.32) does."""
    asked = body.get("top_logprobs", 0)
    if asked <= 20:
        return None
    said = (
        f"Requested sample logprobs of {asked}, which is greater than max allowed: 20 "
        f"(parameter=logprobs, value={asked})"
    )
    error = {
        "message": said,
        "type": "BadRequestError",
        "param": "logprobs",
        "code": 400,
    }
    return 400, {"error": error}


@dataclass(frozen=True)
class Kind:
    """How a provider is asked for and how it answers.

    name     what is typed; {} is the address of a server without a name
    lists    whether log-probabilities come back
    hidden   tokens that the model thinks before it says anything
    key      the header of the key
    n        whether several replies may be asked for; False: the number is ignored
    refused  the parameter of every refusal, in order, as run.json lists them
    """

    refuse: Refuse
    name: str
    refused: tuple[str, ...]
    path: str = "/v1/chat/completions"
    lists: bool = False
    hidden: int = 0
    key: str = "authorization"
    n: bool = True

    @property
    def variable(self) -> str:
        """Where the address of a provider with a name is looked for."""
        return f"{self.name.partition('/')[0].upper()}_BASE_URL"


CUTS = ("top_k", "min_p", "repetition_penalty")
KINDS = {
    "OpenAI": Kind(
        openai_reasoning,
        "openai/gpt-5",
        (
            "max_tokens",
            "logprobs",
            *CUTS,
            "temperature",
            "presence_penalty",
            "max_tokens",
        ),
        hidden=100,
    ),
    "OpenAI with log-probabilities": Kind(
        listing(20), "openai/gpt-4.1", (), lists=True
    ),
    "Anthropic": Kind(
        anthropic_messages,
        "anthropic/claude-sonnet-5",
        (),
        "/v1/messages",
        key="x-api-key",
    ),
    "Anthropic, compatible": Kind(
        anthropic_compatible,
        "openai:{}#claude-sonnet-5",
        ("top_p", "min_p", "repetition_penalty", "top_k", "n"),
    ),
    "Azure": Kind(
        listing(5),  # an older deployment
        "azure/deployment",
        ("top_logprobs",),
        "/openai/v1/chat/completions",
        lists=True,
        key="api-key",
    ),
    "Mistral": Kind(mistral, "mistral/mistral-small-latest", ("logprobs", *CUTS)),
    "Gemini": Kind(
        gemini,
        "gemini/gemini-2.5-flash",
        (
            "presence_penalty",
            "frequency_penalty",
            "logprobs",
            *CUTS,
            "seed",
            "max_tokens",
        ),
        "/v1beta/openai/chat/completions",
        hidden=30,
    ),
    # takes everything, ignores what it does not know, and lists no tokens (before 0.12.11)
    "Ollama": Kind(lambda body: None, "openai:{}#llama3.2", (), n=False),
    "vLLM": Kind(vllm, "openai:{}#llama", (), lists=True),
}


class ProviderServer(Server):
    """One provider. The reply is yes or no, by the digest of question and seed."""

    def __init__(self, kind: Kind, key: str = "") -> None:
        super().__init__(Handler)
        self.kind, self.key = kind, key
        self.refusals: list[str] = []
        self.answered: list[Body] = []
        self.turn = threading.Lock()
        self.before: Refuse = lambda body: None

    @property
    def base(self) -> str:
        base = self.kind.path
        for wire in WIRE_FORMATS.values():
            base = base.removesuffix(f"/{wire.path('')}")
        return self.url + base

    @property
    def model(self) -> str:
        """What is typed for it, once its address is in the environment."""
        return self.kind.name.format(self.url)

    def reply(self, body: Body) -> Refusal:
        if refused := self.before(body) or self.kind.refuse(body):
            with self.turn:
                self.refusals.append(json.dumps(refused[1]))
            return refused
        with self.turn:
            number = len(self.answered)
            self.answered.append(body)
        room = body.get("max_completion_tokens") or body.get("max_tokens") or 1 << 20
        thought = room > self.kind.hidden
        n = body.get("n", 1) if self.kind.n else 1
        texts = [self.says(body, number, i) if thought else "" for i in range(n)]
        read = len(json.dumps(body["messages"])) // 4
        written = min(room, self.kind.hidden + 1)
        if self.kind.path.endswith("/messages"):
            return 200, {
                "type": "message",
                "model": body["model"],
                "content": [{"type": "text", "text": texts[0]}] if thought else [],
                "stop_reason": "end_turn" if thought else "max_tokens",
                "usage": {"input_tokens": read, "output_tokens": written},
            }
        reason = "stop" if thought else "length"
        choices: list[Body] = [
            {"index": i, "message": {"content": text}, "finish_reason": reason}
            for i, text in enumerate(texts)
        ]
        if body.get("logprobs") and self.kind.lists:
            listed = [("Yes", 0.7), ("No", 0.2), (" yes", 0.05)][: body["top_logprobs"]]
            top = [{"token": token, "logprob": math.log(p)} for token, p in listed]
            choices[0]["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
        usage = {"prompt_tokens": read, "completion_tokens": n * written}
        usage["total_tokens"] = sum(usage.values())
        return 200, {"model": body["model"], "choices": choices, "usage": usage}

    def says(self, body: Body, number: int, choice: int) -> str:
        text = json.dumps([body["messages"], body.get("seed"), number, choice])
        return "Yes." if hashlib.sha256(text.encode()).digest()[0] % 3 else "No."


class Handler(JsonHandler):
    server: ProviderServer

    def get(self) -> None:
        self.send(404, {"error": {"message": "not here"}})

    def post(self, content: bytes) -> None:
        kind = self.server.kind
        if self.path != kind.path:
            return self.send(404, {"error": {"message": "not here"}})
        sent = self.headers.get(kind.key, "").removeprefix("Bearer ")
        if self.server.key and sent != self.server.key:
            return self.send(
                401, {"error": {"message": f"Incorrect API key provided: {sent}."}}
            )
        return self.send(*self.server.reply(json.loads(content)))
