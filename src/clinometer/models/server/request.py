"""What a request to a chat endpoint holds: messages, and the parameters that matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clinometer.topics.conversation import is_conversation, messages_of

Messages = Sequence[Mapping[str, str]]

PLAIN = {
    "top_p": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "stream": False,
}
"""The model's own distribution only: vLLM takes any setting missing here from the model's
generation_config.json."""

NO_CUTS = {"top_k": 0, "min_p": 0.0, "repetition_penalty": 1.0}
"""Settings that turn off what some servers do besides."""

CONTENT = ("model", "messages", "prompt", "system")
"""What a request is about; never left out, and no name to look for in a sentence."""

INSTRUCTION = (
    "Continue this text with the words that come next. Answer with these words only: {}"
)
"""The instruction to a chat model that should continue a text."""


def messages_for(text: str, *, question: bool) -> list[dict[str, str]]:
    """Return the messages for a conversation, a question, or a text to continue."""
    if question or is_conversation(text):
        return messages_of(text)
    return messages_of(INSTRUCTION.format(text))


def without_system(messages: list[dict[str, str]]) -> list[dict[str, str]]:
    """Return messages with what the system message says at the beginning of the user's first one.

    >>> system = {"role": "system", "content": "Be kind."}
    >>> without_system([system, {"role": "user", "content": "Hi"}])
    [{'role': 'user', 'content': 'Be kind.\\n\\nHi'}]
    """
    system = [m["content"] for m in messages if m["role"] == "system"]
    turns = [m for m in messages if m["role"] != "system"]
    if not system:
        return turns
    if not turns:
        return [{**message, "role": "user"} for message in messages]
    opening = "\n\n".join([*system, turns[0]["content"]])
    return [{**turns[0], "content": opening}, *turns[1:]]
