"""OpenAI's chat completions, which nearly all servers speak."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from clinometer.models.client.failures import Missing
from clinometer.models.server.reply import checked_texts, choices, log_prob
from clinometer.models.server.wire.format import WireFormat, joined_texts


class ChatCompletions(WireFormat):
    """OpenAI's chat completions: our own names of the parameters are theirs."""

    name = "openai"
    lists_tokens = True
    several_replies = True
    takes_effort = True

    def path(self, model: str) -> str:
        return "chat/completions"

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        return dict(body)

    def replies(self, reply: Any, most: int) -> list[str | None]:
        return [_text(choice) for choice in choices(reply, most)]

    def first_tokens(self, reply: Any) -> list[tuple[str, float]]:
        log_probs = reply["choices"][0].get("logprobs")
        positions = log_probs.get("content") if isinstance(log_probs, dict) else None
        if not positions or not positions[0].get("top_logprobs"):
            raise Missing("no log-probabilities")
        top = positions[0]["top_logprobs"]
        texts = checked_texts([token["token"] for token in top], 1)
        probabilities = [math.exp(log_prob(token["logprob"])) for token in top]
        return list(zip(texts, probabilities, strict=True))


def _text(choice: Any) -> str | None:
    """Return what a choice says; None if it was cut off before anything was said."""
    message = choice["message"]
    content = message.get("content")
    if isinstance(content, list):  # thoughts and texts apart
        content = joined_texts(content)
    text: str = content or message.get("refusal") or ""
    if not text and choice.get("finish_reason") == "length":
        return None
    return text
