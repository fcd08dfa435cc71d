"""The text before the assistant's turn, in the template of the tokenizer or of the server."""

from __future__ import annotations

from typing import Any

from clinometer.errors import ModelNotFound
from clinometer.models.client.client import Client
from clinometer.models.client.failures import RequestRefused
from clinometer.models.options import LoadOptions
from clinometer.models.tokens import in_template


def find_opening(
    tokenizer: Any, load: LoadOptions, client: Client, model: str
) -> str | None:
    """Return the text before the assistant's turn; None if neither has a template."""
    messages = [{"role": "user", "content": load.chat_request}]
    opening = in_template(tokenizer, messages)
    if opening is not None:
        return opening
    served = _opening_of_server(client, model, messages)
    # A server without chat support may ignore the messages.
    if isinstance(served, str) and load.chat_request in served:
        return served
    return None


def _opening_of_server(
    client: Client, model: str, messages: list[dict[str, str]]
) -> Any:
    """Return what the server's template makes of messages; None if it says nothing.

    llama.cpp returns the text on request; vLLM returns its tokens, and the text of tokens.
    """
    body = {
        "model": model,
        "messages": messages,
        "add_generation_prompt": True,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    text = _field_of_reply(client, "apply-template", body, "prompt")
    if text is not None:
        return text
    tokens = _field_of_reply(client, "tokenize", body, "tokens")
    if tokens is None:
        return None
    body = {"model": model, "tokens": tokens}
    return _field_of_reply(client, "detokenize", body, "prompt")


def _field_of_reply(client: Client, path: str, body: dict[str, Any], name: str) -> Any:
    """Return a field of a reply; None without it, and from a server that has no such path."""
    url = f"{client.address.root}/{path}"
    try:
        return client.run(client.send("POST", url, body, lambda reply: reply.get(name)))
    except (RequestRefused, ModelNotFound):
        return None
