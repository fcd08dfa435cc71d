"""What a reply says: without thinking, the question and quotes; and why it is no category."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

OTHER, REFUSAL, EMPTY = -1, -2, -3
"""A reply that is no category: off topic or unreadable, a refusal, or nothing at all (an empty
reply, or one that ended before the thinking did). Together they are `other`."""

UNREAD: Mapping[int, str] = {OTHER: "other", REFUSAL: "refusals", EMPTY: "empty"}
"""What they are called in counts."""

LONGEST = 100_000
"""Characters of a reply that are read; the rest of a longer one is not looked at."""

THINKING_MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel|>analysis", "<|channel|>final<|message|>"),
)
"""Where thinking begins and ends: Qwen, DeepSeek, SmolLM3; Mistral's Magistral; Seed; gpt-oss."""

CONTROL = re.compile(r"<\|[a-z_]+\|>")
OPENING = re.compile(r"(?:[\s\"'“”‘’«»„`(\[{<*_#…·—–-]|\.{2,})*+")
REFUSALS = re.compile(
    r"(i['’]m|i am|i['’]m very|i am very)?\s*(so |really |terribly )?(sorry|unable to|afraid)\b"
    r"|(i['’]m|i am) not able to\b"
    r"|(sorry|apologies|my apologies)\b"
    r"|i (apologi[sz]e|can['’]?t|cannot|can not|won['’]?t|will not|do not feel comfortable)\b"
    r"|as an? (ai|artificial intelligence|language model|large language model)\b"
    r"|(抱歉|对不起|很抱歉|我无法|我不能|作为一个)",
    re.IGNORECASE,
)


def spoken(reply: str) -> str:
    """Return the reply without what stands between thinking marks.

    Some templates open the thinking themselves, so that only its end is in the reply. Thinking
    that never ends leaves nothing: the reply was cut off before it began.

    >>> spoken("<think>She is a nurse, so</think> Yes."), spoken("hm, so</think>No")
    ('Yes.', 'No')
    >>> spoken("<think>First I would")
    ''
    """
    for begin, end in THINKING_MARKS:
        _, ending, after = reply.rpartition(end)
        reply = after if ending else reply.partition(begin)[0]
    return CONTROL.sub("", reply).strip()


def without_opening(text: str) -> str:
    """Return the text from its first word on: without quotes, brackets, asterisks or ellipses.

    >>> without_opening(' "**Yes**"')
    'Yes**"'
    """
    opening = OPENING.match(text)
    return text[opening.end() :] if opening else text


def without_question(reply: str, question: str) -> str:
    """Return the reply without the question in front, which chat models like to repeat."""
    text = reply.lstrip()
    if question and text.casefold().startswith(question.casefold()):
        return text[len(question) :]
    return text


def answer(reply: str, question: str) -> str:
    """Return what a reply says, without thinking and the question; of a long one the beginning."""
    return without_question(spoken(reply), question)[:LONGEST]


def whole_words(texts: Sequence[str]) -> re.Pattern[str]:
    """Return a pattern of any of the texts as whole words, the longest first, ignoring case and
    spaces."""
    normal = [" ".join(text.split()) for text in texts]
    normal.sort(key=len, reverse=True)
    patterns = [r"\s+".join(map(re.escape, text.split())) for text in normal]
    return re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)


def refuses(text: str) -> bool:
    """Return whether a text begins like a refusal: "I'm sorry", "As an AI", "I can't …".

    >>> refuses("I'm sorry, but"), refuses("Sorting is easy")
    (True, False)
    """
    return REFUSALS.match(text) is not None


def unread(reply: str) -> int:
    """Return why a reply is no category.

    >>> unread(""), unread("As an AI, I"), unread("It depends")
    (-3, -2, -1)
    """
    text = without_opening(reply)
    if not text:
        return EMPTY
    return REFUSAL if refuses(text) else OTHER
