"""Chat models: the sentence starts the assistant's turn, inside the model's chat template.

What the template writes before that turn (system message, the user's request, the start of the
turn) precedes every prompt; the scored word then follows as it does without a template, so the two
modes can be compared.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clinometer.errors import ModelError, ModelNotFound
from clinometer.models.options import LoadOptions
from clinometer.storage.untrusted import limited

if TYPE_CHECKING:
    from clinometer.models.server.client import Client


def chat_opening(
    tokenizer: Any, load: LoadOptions, name: str, *, server: tuple[Client, str] | None = None
) -> str:
    """The text before the assistant's turn, from the tokenizer's template or from the server's,
    whose model must then be named."""
    found = find_opening(tokenizer, load, server=server)
    if found is not None:
        return found
    raise ModelError(
        f"model {name!r}: has no chat template; score it without --chat"
        + ("" if server is None else ", or name a tokenizer that has one with --tokenizer")
    )


def find_opening(
    tokenizer: Any, load: LoadOptions, *, server: tuple[Client, str] | None = None
) -> str | None:
    """The same, or None if neither has a template."""
    messages = [{"role": "user", "content": load.chat_request}]
    found = in_template(tokenizer, messages)
    return server_template(*server, messages) if found is None and server is not None else found


def in_template(tokenizer: Any, messages: list[dict[str, str]]) -> str | None:
    """The messages in the tokenizer's template, up to the assistant's turn; None if it has none."""
    if not getattr(tokenizer, "chat_template", None):
        return None

    def written() -> str:
        # Switches off thinking in templates that offer it; others ignore the argument.
        return str(
            tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        )

    try:
        return limited(written)
    except ValueError as error:
        raise ModelError(
            f"model {tokenizer.name_or_path!r}: its chat template fails: {error}; score it without "
            "--chat"
        ) from error


def server_template(client: Client, model: str, messages: list[dict[str, str]]) -> str | None:
    """The messages inside the server's chat template; None if the server does not apply it.

    llama.cpp returns the text on request; vLLM returns its tokens, and the text of tokens.
    """
    body = {
        "model": model,
        "messages": messages,
        "add_generation_prompt": True,
        "chat_template_kwargs": {"enable_thinking": False},
    }
    root = client.address.root
    written = _asked(client, f"{root}/apply-template", body, "prompt")
    if written is None:
        tokens = _asked(client, f"{root}/tokenize", body, "tokens")
        if tokens is not None:
            back = {"model": model, "tokens": tokens}
            written = _asked(client, f"{root}/detokenize", back, "prompt")
    # A server without chat support may ignore the messages.
    whole = isinstance(written, str) and all(m["content"] in written for m in messages)
    return str(written) if whole else None


def _asked(client: Client, url: str, body: dict[str, Any], name: str) -> Any:
    from clinometer.models.server.client import RequestRefused

    try:
        return client.run(client.post(url, body, lambda reply: reply.get(name)))
    except (RequestRefused, ModelNotFound):
        return None
