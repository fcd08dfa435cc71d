"""Conversations as text: in the tokenizer's chat template, or as a transcript."""

from __future__ import annotations

from typing import Any

from clinometer.errors import ModelError
from clinometer.storage.untrusted import limited


def in_template(tokenizer: Any, messages: list[dict[str, str]]) -> str | None:
    """Return the messages in the tokenizer's template, up to the assistant's turn; None if it has
    none."""
    if not getattr(tokenizer, "chat_template", None):
        return None

    def write() -> str:
        # Switches off thinking in templates that offer it; others ignore the argument.
        return str(
            tokenizer.apply_chat_template(
                messages,
                tokenize=False,
                add_generation_prompt=True,
                enable_thinking=False,
            )
        )

    try:
        return limited(write)
    except ValueError as error:
        raise ModelError(
            f"model {tokenizer.name_or_path!r}: its chat template fails: {error}; score it without "
            "--chat"
        ) from error


def transcript(messages: list[dict[str, str]]) -> str:
    """Return a conversation as plain text, for models without a chat template.

    >>> transcript([{"role": "user", "content": "Hello."}])
    'User: Hello.\\n\\nAssistant:'
    """
    turns = [
        f"{message['role'].capitalize()}: {message['content']}" for message in messages
    ]
    return "\n\n".join([*turns, "Assistant:"])
