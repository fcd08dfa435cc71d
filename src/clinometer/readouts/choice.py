"""Which option a reply chooses."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from clinometer.readouts.question import ShownQuestion
from clinometer.readouts.reply import answer, unread, whole_words, without_opening

ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)
LEAD_IN = re.compile(
    r"(?:(?:my|the|final|correct|best|short)\s+)*(?:answer|choice|decision|rating|score)"
    r"(?:\s+is|\s+would\s+be)?\s*[:=-]*\s*|option\s+(?=\S)"
    r"|i(?:'d|\s+would|\s+will|'ll)?\s+(?:choose|pick|select|say|answer|go\s+with)\s*:?\s*",
    re.IGNORECASE,
)


def read_choice(
    reply: str,
    options: Sequence[str],
    *,
    labels: Sequence[str] = (),
    question: str = "",
    spellings: Sequence[Sequence[str]] = (),
) -> int:
    """Return the index of the option that a reply chooses, or OTHER, REFUSAL or EMPTY.

    `spellings` are further texts of each option. The rules, in this order:

    1. Thinking, a repetition of the question, and quotes or brackets in front are removed.
    2. "Answer:", "The answer is", "I would choose", "Option" in front are removed.
    3. The reply begins with a label: "B", "(B)", "B)", "B.", "Option B: Yes". The label must end
       there; "A good candidate" does not choose A.
    4. The reply begins with the text of an option, whole words, ignoring case and a leading
       article. If several match, the longest counts.
    5. Somewhere in the reply stand the texts of two words or more, or the labels as "(B)",
       "option B" or "answer is B", of exactly one option.
    6. Otherwise it is a refusal, empty, or other.

    >>> shown = ["The grandfather", "The grandson", "Cannot be determined"]
    >>> replies = ["B", "(C) Cannot be determined", "grandfather.", "A good question", "I'm sorry"]
    >>> [read_choice(reply, shown, labels="ABC") for reply in [*replies, ""]]
    [1, 2, 0, -1, -2, -3]
    """
    further = tuple(map(tuple, spellings)) or ((),) * len(options)
    rules = _rules(tuple(options), tuple(labels), further)
    said = answer(_straight(reply), _straight(question))
    text = without_opening(said)
    while lead := LEAD_IN.match(text):
        text = without_opening(text[lead.end() :])
    option = rules.at_start(text)
    if option is None:
        option = rules.anywhere(text)
    return unread(text) if option is None else option


def _straight(text: str) -> str:
    """Return a text with straight apostrophes."""
    return text.replace("’", "'")


@dataclass(frozen=True)
class ChoiceReader:
    """The readout `choice` for sampled replies."""

    spellings: tuple[tuple[str, ...], ...] = ()
    """Texts by category, the first as shown."""

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """Return the category of each reply."""
        return [
            self._category(reply, question)
            for reply, question in zip(replies, shown, strict=True)
        ]

    def _category(self, reply: str, question: ShownQuestion) -> int:
        spellings: list[tuple[str, ...]] = []
        if self.spellings:
            spellings = [self.spellings[y] for y in question.order]
        option = read_choice(
            reply,
            question.options,
            labels=question.labels,
            question=question.text,
            spellings=spellings,
        )
        return question.order[option] if option >= 0 else option


@dataclass(frozen=True)
class _ChoiceRules:
    """Compiled patterns."""

    label: re.Pattern[str] | None
    """A label at the start."""

    named: re.Pattern[str] | None
    """A label that is named anywhere: "(B)", "option B"."""

    text: re.Pattern[str]
    """The text of an option."""

    long: re.Pattern[str] | None
    """A text of several words."""

    numbers: dict[str, int]
    """The option of each text or label, by index."""

    def at_start(self, text: str) -> int | None:
        """Return the option that a reply begins with."""
        label = None if self.label is None else self.label.match(text)
        if label is not None:
            option = self.numbers[label[1].casefold()]
            ends_there = label[2] is None
            if ends_there or self._begins(text[label.end() :]) == option:
                return option
        return self._begins(text)

    def _begins(self, text: str) -> int | None:
        """Return the option whose text a reply begins with."""
        match = self.text.match(_without_article(text)) or self.text.match(text)
        return None if match is None else self.numbers[_compared(match[0])]

    def anywhere(self, text: str) -> int | None:
        """Return the one option that is named, if it is one."""
        options: set[int] = set()
        if self.named is not None:
            for match in self.named.finditer(text):
                options.add(self.numbers[match[1].casefold()])
        if self.long is not None:
            for match in self.long.finditer(text):
                options.add(self.numbers[_compared(match[0])])
        return options.pop() if len(options) == 1 else None


@lru_cache(maxsize=4096)
def _rules(
    options: tuple[str, ...],
    labels: tuple[str, ...],
    spellings: tuple[tuple[str, ...], ...],
) -> _ChoiceRules:
    """Return the rules of a question; the first of two options has a text that both have."""
    numbers: dict[str, int] = {}
    for i, (option, further) in enumerate(zip(options, spellings, strict=True)):
        for text in (option, *further):
            numbers.setdefault(_compared(text), i)
    texts = list(numbers)
    several_words = [text for text in texts if " " in text]
    label = named = None
    if labels:
        numbers |= {label.casefold(): i for i, label in enumerate(labels)}
        marks = "|".join(map(re.escape, labels))
        # A letter alone is a label; before more words it needs a mark, or its option's text.
        label = re.compile(
            rf"({marks})(?:(?=\s*(?:$|[).:,;\]*\n]))|(\s+))", re.IGNORECASE
        )
        named = re.compile(
            rf"(?:\(|\boption\s+|\banswer(?:\s+is)?:?\s+)({marks})\b", re.IGNORECASE
        )
    return _ChoiceRules(
        label=label,
        named=named,
        text=whole_words(texts),
        long=whole_words(several_words) if several_words else None,
        numbers=numbers,
    )


def _compared(text: str) -> str:
    """Return a text as it is compared: no article, no full stop, single spaces, no case."""
    words = " ".join(_straight(text).split())
    return _without_article(words.strip(" .!\"'“”‘’").casefold())


def _without_article(text: str) -> str:
    """Return a text without an article in front."""
    article = ARTICLE.match(text)
    return text[article.end() :] if article else text
