"""Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clinometer.models.client.failures import WrongReply
from clinometer.models.server.wire.format import WireFormat, joined_texts

_PARAMETERS = ("model", "messages", "max_tokens", "temperature")
"""Parameters of Messages; it has no others of ours."""


class AnthropicMessages(WireFormat):
    """Anthropic's Messages: one reply a request, the system message beside the others.

    Its models reason only on request, and none is made.
    """

    name = "anthropic"

    def path(self, model: str) -> str:
        return "messages"

    def request(self, body: Mapping[str, Any]) -> dict[str, Any]:
        request = {name: body[name] for name in _PARAMETERS if name in body}
        messages = body["messages"]
        system = [m["content"] for m in messages if m["role"] == "system"]
        if system:
            request["system"] = "\n\n".join(system)
            request["messages"] = [m for m in messages if m["role"] != "system"]
        return request

    def replies(self, reply: Any, most: int) -> list[str | None]:
        if not isinstance(reply["content"], list):
            raise WrongReply("not a message")
        text = joined_texts(reply["content"])
        if not text and reply.get("stop_reason") == "max_tokens":
            return [None]
        return [text]
