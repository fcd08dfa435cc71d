"""What a readout promises: replies in, categories out, and nothing dropped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ShownQuestion:
    """A question as one prompt asks it.

    text      all of it, as the model reads it
    options   the texts of the options in the order shown; () where nothing is offered
    labels    what stands before each option ("A", "B"); () where nothing does
    order     the category of each option shown, by index
    answers   what a model would write at the slot for each word of the topic, in the topic's
              order ("" for a word that is only recognised); () where only replies can be read
    """

    text: str
    options: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    answers: tuple[str, ...] = ()


class Readout(Protocol):
    """k(y | t): which category a reply t to a question is."""

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply to its question, by index; OTHER, REFUSAL or EMPTY for one
        that is none of them."""


#: A reply that is no category: off topic or unreadable, a refusal, or nothing at all (an empty
#: reply, or one that ended before the thinking did). Together they are `other`.
OTHER, REFUSAL, EMPTY = -1, -2, -3
UNREAD: Mapping[int, str] = {OTHER: "other", REFUSAL: "refusals", EMPTY: "empty"}

#: Where thinking begins and ends: Qwen, DeepSeek, SmolLM3; Mistral's Magistral; Seed; gpt-oss.
_MARKS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|channel|>analysis", "<|channel|>final<|message|>"),
)
_CONTROL = re.compile(r"<\|[a-z_]+\|>")
_OPENING = re.compile(r"(?:[\s\"'“”‘’«»„`(\[{<*_#…·—–-]|\.{2,})*+")
#: Characters of a reply that are read; the rest of a longer one is not looked at.
LONGEST = 100_000
_REFUSALS = re.compile(
    r"(i['’]m|i am|i['’]m very|i am very)?\s*(so |really |terribly )?(sorry|unable to|afraid)\b"
    r"|(i['’]m|i am) not able to\b"
    r"|(sorry|apologies|my apologies)\b"
    r"|i (apologi[sz]e|can['’]?t|cannot|can not|won['’]?t|will not|do not feel comfortable)\b"
    r"|as an? (ai|artificial intelligence|language model|large language model)\b"
    r"|(抱歉|对不起|很抱歉|我无法|我不能|作为一个)",
    re.IGNORECASE,
)


def spoken(reply: str) -> str:
    """The reply without what stands between thinking marks.

    Some templates open the thinking themselves, so that only its end is in the reply. Thinking
    that never ends leaves nothing: the reply was cut off before it began.

    >>> spoken("<think>She is a nurse, so</think> Yes."), spoken("hm, so</think>No")
    ('Yes.', 'No')
    >>> spoken("<think>First I would")
    ''
    """
    for begin, end in _MARKS:
        reply = reply.rpartition(end)[2] if end in reply else reply.partition(begin)[0]
    return _CONTROL.sub("", reply).strip()


def without_opening(text: str) -> str:
    """The text from its first word on: without quotes, brackets, asterisks or ellipses.

    >>> without_opening(' "**Yes**"')
    'Yes**"'
    """
    opening = _OPENING.match(text)
    return text[opening.end() :] if opening else text


def without_question(reply: str, question: str) -> str:
    """The reply without the question in front, which chat models like to repeat."""
    rest = reply.lstrip()
    if question and rest.casefold().startswith(question.casefold()):
        rest = rest[len(question) :]
    return rest


def answer(reply: str, question: str) -> str:
    """What a reply says, without thinking and the question; of a long one the beginning."""
    return without_question(spoken(reply), question)[:LONGEST]


def whole_words(texts: Sequence[str]) -> re.Pattern[str]:
    """Any of the texts as whole words, the longest first, ignoring case and spaces."""
    longest_first = sorted((" ".join(text.split()) for text in texts), key=len, reverse=True)
    each = [r"\s+".join(map(re.escape, text.split())) for text in longest_first]
    return re.compile(rf"(?<!\w)(?:{'|'.join(each)})(?!\w)", re.IGNORECASE)


def refuses(text: str) -> bool:
    """Whether a text begins like a refusal: "I'm sorry", "As an AI", "I can't …".

    >>> refuses("I'm sorry, but"), refuses("Sorting is easy")
    (True, False)
    """
    return _REFUSALS.match(text) is not None


def unread(reply: str) -> int:
    """Why a reply is no category.

    >>> unread(""), unread("As an AI, I"), unread("It depends")
    (-3, -2, -1)
    """
    rest = without_opening(reply)
    if not rest:
        return EMPTY
    return REFUSAL if refuses(rest) else OTHER
