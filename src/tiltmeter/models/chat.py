"""Chat models: the sentence is begun as the assistant's own turn, inside the model's template.

What the template writes before that turn (system message, the user's request, the opening of the
turn) stands before the text of every prompt; the word that is asked for then follows as it does
without a template, so that the two stand side by side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tiltmeter.errors import ModelError
from tiltmeter.models.options import LoadOptions

if TYPE_CHECKING:
    from tiltmeter.models.server.client import Client


def chat_opening(
    tokenizer: Any, load: LoadOptions, name: str, *, client: Client | None = None
) -> str:
    """What stands before the assistant's turn: from the tokenizer's template, or the server's."""
    messages = [{"role": "user", "content": load.chat_request}]
    if getattr(tokenizer, "chat_template", None):
        # Templates that let a model think before it answers are told not to; others ignore it.
        opening = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        return str(opening)
    if client is not None:
        found = server_template(client, messages)
        if found is not None:
            return found
    raise ModelError(
        f"model {name!r}: has no chat template; ask it without --chat"
        + ("" if client is None else ", or name a tokenizer that has one with --tokenizer")
    )


def server_template(client: Client, messages: list[dict[str, str]]) -> str | None:
    """llama.cpp applies the template of its model on request; None where a server does not."""
    from tiltmeter.models.server.client import Refused

    body = {"messages": messages, "chat_template_kwargs": {"enable_thinking": False}}
    url = f"{client.address.root}/apply-template"
    try:
        return client.run(client.post(url, body, lambda reply: str(reply["prompt"])))
    except Refused:
        return None
