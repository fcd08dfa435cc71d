"""The log-probabilities in a completion's JSON, in the forms that servers use.

There are five: lists of objects with `id` (llama.cpp), mappings from a token's text or from
"token_id:N" to its log-probability (OpenAI's first API, vLLM), prompt_logprobs (vLLM),
output_token_ids_logprobs (SGLang), and logprobs beside the response (Ollama).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from clinometer.models.server.client import Missing, WrongReply

#: Characters of a token: the longest in common vocabularies are lines of 128 signs or spaces.
LONGEST_TOKEN = 256
_BY_ID = "token_id:"
_SILENT = -1e4  # servers write minus infinity as a large number, as JSON has none


@dataclass(frozen=True)
class Listed:
    """The most probable tokens at one position with their log-probabilities, and the one written.

    Tokens are identified by id where the server returns ids, else by text.
    """

    by_id: dict[int, float]
    by_text: dict[str, float]
    written: tuple[int | str, float]

    def get(self, token: int, text: str | None) -> float | None:
        name, value = self.written
        if name in (token, text):
            return value
        return self.by_id.get(token) if text is None else self.by_text.get(text)

    def values(self) -> list[float]:
        """All of them, the most probable first."""
        return sorted((self.by_text or self.by_id).values(), reverse=True)


def first_place(reply: Any) -> Listed:
    """The reply's content for the first generated token."""
    log_probs = _choice(reply).get("logprobs")
    if not log_probs:
        raise Missing("no log-probabilities")
    if "content" in log_probs:
        place = log_probs["content"][0]
        top = place.get("top_logprobs", place.get("top_probs"))
        return _listed(map(_entry, top), written=_entry(place))
    if not log_probs.get("top_logprobs"):
        raise Missing("no list of probable tokens")
    own = (log_probs["tokens"][0], log_probs["token_logprobs"][0])
    return _listed(log_probs["top_logprobs"][0].items(), written=own)


def echoed(reply: Any, length: int) -> list[float | None]:
    """Log-probabilities of the `length` tokens of the prompt; the first has none."""
    log_probs = _choice(reply).get("logprobs") or {}
    values = log_probs.get("token_logprobs", ())
    if len(values) < length:
        raise Missing("the prompt was not echoed")
    return [None if v is None else _log_prob(v) for v in values[:length]]


def of_prompt(reply: Any, tokens: tuple[int, ...]) -> list[float | None]:
    """The same from vLLM's prompt_logprobs, where each position names its tokens."""
    places = _choice(reply).get("prompt_logprobs")
    if places is None or len(places) != len(tokens):
        raise Missing("no log-probabilities of the prompt")
    return [
        None if place is None else _log_prob(place[str(token)]["logprob"])
        for token, place in zip(tokens, places, strict=True)
    ]


def of_token_ids(reply: Any) -> dict[int, float]:
    """Log-probabilities of chosen tokens at the first generated position, as SGLang returns them:
    (log-probability, id, text) each."""
    positions = (reply.get("meta_info") or {}).get("output_token_ids_logprobs")
    if not positions or not positions[0]:
        raise Missing("no log-probabilities of chosen tokens")
    return {int(entry[1]): _log_prob(entry[0]) for entry in positions[0]}


def of_ollama(reply: Any) -> Listed | None:
    """The content of Ollama's /api/generate for the first generated token; None where the reply
    ended with it: then Ollama lists nothing."""
    places = reply.get("logprobs")
    if not places:
        if reply.get("done") is True and reply.get("response") == "":
            return None
        raise Missing("no log-probabilities")
    if not places[0].get("top_logprobs"):
        raise Missing("no list of probable tokens")
    return _listed(map(_entry, places[0]["top_logprobs"]), written=_entry(places[0]))


def texts(reply: Any, expected: int, tokens: int) -> list[str]:
    """The texts of all choices, at least one and at most as many as requested, of a length that
    `tokens` of them can have."""
    choices = reply["choices"]
    if not 1 <= len(choices) <= expected:
        raise WrongReply("not as many choices as asked for")
    found = [c["text"] for c in choices]
    if not all(isinstance(t, str) for t in found):
        raise WrongReply("a choice without text")
    if any(len(t) > LONGEST_TOKEN * (tokens + 1) for t in found):
        raise WrongReply("more text than its tokens can have")
    return found


def _choice(reply: Any) -> dict[str, Any]:
    """The first choice of a valid completion; anything else is an invalid reply."""
    choice = reply["choices"][0]
    if not isinstance(choice, dict) or not isinstance(choice.get("text"), str):
        raise WrongReply("not a completion")
    return choice


def _entry(place: Any) -> tuple[str, float]:
    """A token as llama.cpp lists it: `logprob`, or after sampling `prob`."""
    name = f"{_BY_ID}{int(place['id'])}" if "id" in place else place["token"]
    if "logprob" in place:
        return name, place["logprob"]
    return name, math.log(place["prob"]) if place["prob"] > 0 else -math.inf


def _log_prob(value: Any) -> float:
    number = float(value)
    if math.isnan(number) or number > 1e-3:
        raise WrongReply("not a log-probability")
    return -math.inf if number <= _SILENT else min(number, 0.0)


def _listed(entries: Iterable[tuple[str, Any]], *, written: tuple[str, Any]) -> Listed:
    by_id: dict[int, float] = {}
    by_text: dict[str, float] = {}
    for name, value in entries:
        if name.startswith(_BY_ID):
            by_id[int(name.removeprefix(_BY_ID))] = _log_prob(value)
        else:
            by_text[name] = _log_prob(value)
    name, value = written
    token = int(name.removeprefix(_BY_ID)) if name.startswith(_BY_ID) else name
    return Listed(by_id, by_text, (token, _log_prob(value)))
