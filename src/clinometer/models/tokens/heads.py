"""What a causal model reads before the slot.

In a chat template the sentence starts the assistant's turn. What the template writes before that
turn (system message, the user's request, the start of the turn) precedes every prompt; the scored
word then follows as it does without a template, so the two modes can be compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clinometer.errors import SettingsError
from clinometer.models.options import QUESTION
from clinometer.models.tokens.templates import in_template, transcript
from clinometer.models.tokens.words import encode_all
from clinometer.topics.conversation import is_conversation, messages_of


def in_opening(opening: str, text: str) -> str:
    """Return a text after what the chat template opens with, or as the user's message inside it.

    >>> in_opening("User: Hi. Bot: ", "So"), in_opening("User: [question] Bot: ", "Why?")
    ('User: Hi. Bot: So', 'User: Why? Bot: ')
    """
    if QUESTION in opening:
        return opening.replace(QUESTION, text)
    return opening + text


def head_tokens(
    tokenizer: Any,
    texts: Sequence[str],
    *,
    chat: str | None = None,
    needs_bos: bool = False,
) -> list[list[int]]:
    """Return the tokens that a causal model reads before the slot: with its BOS token, without an
    EOS token.

    `chat` is what the chat template writes before the assistant's turn, BOS token included; the
    text then starts that turn. Where it has a slot for a question, the text is the user's message
    instead, and the turn begins after it. Messages are written by the tokenizer's own template,
    or as a plain transcript where it has none.
    """
    if texts and is_conversation(texts[0]):
        in_turns = [in_template(tokenizer, messages_of(text)) for text in texts]
        if in_turns[0] is not None:
            return encode_all(
                tokenizer, [str(text) for text in in_turns], special=False
            )
        if not hasattr(tokenizer, "chat_template"):
            raise SettingsError(
                "messages: the chat template of a server is not known here; add --replies 5, which "
                "samples replies instead of reading probabilities"
            )
        texts = [transcript(messages_of(text)) for text in texts]
    elif chat is not None:
        in_chat = [in_opening(chat, text) for text in texts]
        return encode_all(tokenizer, in_chat, special=False)
    return _between_bos_and_eos(tokenizer, texts, needs_bos=needs_bos)


def _between_bos_and_eos(
    tokenizer: Any, texts: Sequence[str], *, needs_bos: bool
) -> list[list[int]]:
    """Return the tokens of each text behind the tokenizer's BOS token, if it puts one there or the
    text is empty or the model needs it; without the tokens that close a text."""
    bos = tokenizer.bos_token_id
    closing = {tokenizer.eos_token_id, tokenizer.sep_token_id} - {None, bos}
    non_empty = [text for text in texts if text]
    encoded = iter(encode_all(tokenizer, non_empty, special=True))
    heads = []
    for text in texts:
        token_ids = next(encoded) if text else []
        while token_ids and token_ids[-1] in closing:
            token_ids.pop()
        lacks_bos = not token_ids or (needs_bos and token_ids[0] != bos)
        if bos is not None and lacks_bos:
            token_ids.insert(0, bos)
        heads.append(token_ids)
    return heads
