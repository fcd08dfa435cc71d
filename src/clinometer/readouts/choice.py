"""Which option does a reply choose? The rules, in this order:

1. Thinking, a repetition of the question, and quotes or brackets in front are removed.
2. "Answer:", "The answer is", "I would choose", "Option" in front are removed.
3. The reply begins with a label: "B", "(B)", "B)", "B.", "Option B: Yes". The label must end there;
   "A good candidate" does not choose A.
4. The reply begins with the text of an option, whole words, ignoring case and a leading article. If
   several match, the longest counts.
5. Somewhere in the reply stand the texts of two words or more, or the labels as "(B)", "option B"
   or "answer is B", of exactly one option.
6. Otherwise it is a refusal, empty, or other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations

from clinometer.errors import ContextError, closest
from clinometer.readouts.protocol import (
    ShownQuestion,
    answer,
    unread,
    whole_words,
    without_opening,
)
from clinometer.readouts.tables import Labels

LETTERS = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_ARTICLE = re.compile(r"(?:the|an?)\s+", re.IGNORECASE)
_LEAD_IN = re.compile(
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
    """The index of the option that a reply chooses, or OTHER, REFUSAL or EMPTY.

    `spellings` are further texts of each option.

    >>> shown = ["The grandfather", "The grandson", "Cannot be determined"]
    >>> said = ["B", "(C) Cannot be determined", "grandfather.", "A good question", "I'm sorry", ""]
    >>> [read_choice(reply, shown, labels="ABC") for reply in said]
    [1, 2, 0, -1, -2, -3]
    """
    others = tuple(map(tuple, spellings)) or ((),) * len(options)
    rules = _rules(tuple(options), tuple(labels), others)
    rest = without_opening(answer(reply.replace("’", "'"), question.replace("’", "'")))
    while lead := _LEAD_IN.match(rest):
        rest = without_opening(rest[lead.end() :])
    found = rules.at_start(rest)
    if found is None:
        found = rules.anywhere(rest)
    return unread(rest) if found is None else found


@dataclass(frozen=True)
class ChoiceReader:
    """The readout `choice` for sampled replies; `spellings` by category, the first as shown."""

    spellings: tuple[tuple[str, ...], ...] = ()

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply."""
        return [self._one(reply, question) for reply, question in zip(replies, shown, strict=True)]

    def _one(self, reply: str, shown: ShownQuestion) -> int:
        number = read_choice(
            reply,
            shown.options,
            labels=shown.labels,
            question=shown.text,
            spellings=[self.spellings[y] for y in shown.order] if self.spellings else (),
        )
        return shown.order[number] if number >= 0 else number


@dataclass(frozen=True)
class _ChoiceRules:
    """Compiled patterns; the number of each text or label is its option's."""

    label: re.Pattern[str] | None
    named: re.Pattern[str] | None
    text: re.Pattern[str]
    long: re.Pattern[str] | None
    numbers: dict[str, int]

    def at_start(self, rest: str) -> int | None:
        if self.label is not None and (found := self.label.match(rest)):
            number = self.numbers[found[1].casefold()]
            if found[2] is None or self._begins(rest[found.end() :]) == number:
                return number
        return self._begins(rest)

    def _begins(self, rest: str) -> int | None:
        """The option whose text a reply begins with."""
        bare = rest[len(article[0]) :] if (article := _ARTICLE.match(rest)) else rest
        said = self.text.match(bare) or self.text.match(rest)
        return None if said is None else self.numbers[_plain(said[0])]

    def anywhere(self, rest: str) -> int | None:
        """The one option that is named, if it is one."""
        said = set()
        if self.named is not None:
            said |= {self.numbers[found[1].casefold()] for found in self.named.finditer(rest)}
        if self.long is not None:
            said |= {self.numbers[_plain(found[0])] for found in self.long.finditer(rest)}
        return said.pop() if len(said) == 1 else None


@lru_cache(maxsize=4096)
def _rules(
    options: tuple[str, ...], labels: tuple[str, ...], spellings: tuple[tuple[str, ...], ...]
) -> _ChoiceRules:
    numbers: dict[str, int] = {}
    for i, (option, more) in enumerate(zip(options, spellings, strict=True)):
        for text in (option, *more):
            numbers.setdefault(_plain(text), i)
    texts = list(numbers)
    label = named = None
    if labels:
        numbers |= {one.casefold(): i for i, one in enumerate(labels)}
        marks = "|".join(map(re.escape, labels))
        # A letter alone is a label; before more words it needs a mark, or its option's text.
        label = re.compile(rf"({marks})(?:(?=\s*(?:$|[).:,;\]*\n]))|(\s+))", re.IGNORECASE)
        named = re.compile(rf"(?:\(|\boption\s+|\banswer(?:\s+is)?:?\s+)({marks})\b", re.IGNORECASE)
    long = [text for text in texts if " " in text]
    return _ChoiceRules(
        label, named, whole_words(texts), whole_words(long) if long else None, numbers
    )


def _plain(text: str) -> str:
    """A text as it is compared: no article, no full stop, single spaces, no case."""
    cleaned = " ".join(text.replace("’", "'").split()).strip(" .!\"'“”‘’").casefold()
    return cleaned[len(article[0]) :] if (article := _ARTICLE.match(cleaned)) else cleaned


#: [options], or [options: yes, no] with the order written out.
OPTIONS = re.compile(r"\[options(?::([^\]]*))?\]")
_OPTIONS_AND_SPACES = re.compile(rf" *{OPTIONS.pattern} *")


def with_order(template: str, categories: Sequence[str]) -> str:
    """The template with the order of its options written out.

    >>> with_order("Invite [X]? [options] Answer: [Y]", ["no", "yes"])
    'Invite [X]? [options: no, yes] Answer: [Y]'
    """
    return OPTIONS.sub(lambda _: f"[options: {', '.join(categories)}]", template)


def lay_out(text: str, options: Mapping[str, Sequence[str]], labels: Labels) -> ShownQuestion:
    """The question with its options in place of [options].

    text      the question, up to where the reply begins
    options   category -> texts; the first is shown

    With labels each option has its own line; without, they stand in the sentence.

    >>> options = {"yes": ["Yes"], "no": ["No"]}
    >>> lay_out("Invite? [options: no, yes] Answer:", options, "letters").text
    'Invite?\\nA) No\\nB) Yes\\nAnswer:'
    >>> lay_out("Answer [options].", options, "none").text
    'Answer Yes or No.'
    """
    found = OPTIONS.findall(text)
    if len(found) > 1:
        raise ContextError(f"template {text!r}: expected [options] once, found {len(found)} times")
    order = _order(found[0] if found else "", tuple(options), text)
    marks: tuple[str, ...] = ()
    if labels != "none":
        if not found:
            raise ContextError(
                f"template {text!r}: expected [options] where the options are listed, found none; "
                'add it, or write labels = "none" in [readout]'
            )
        numbers = tuple(str(i + 1) for i in range(len(order)))
        marks = LETTERS[: len(order)] if labels == "letters" else numbers
    texts = list(options.values())
    shown = tuple(texts[y][0] for y in order)
    mark_of = dict(zip(order, marks, strict=False))
    # With labels only these are scored, each in place of its option's first text.
    answers = [
        (mark_of[y] if i == 0 else "") if marks else word
        for y, words in enumerate(texts)
        for i, word in enumerate(words)
    ]
    if marks:
        lines = [f"{mark}) {option}" for mark, option in zip(marks, shown, strict=True)]
        listed = "\n".join(["", *lines, ""])
    else:
        listed = " or ".join(shown if len(shown) < 2 else (", ".join(shown[:-1]), shown[-1]))
    around = _OPTIONS_AND_SPACES if marks else OPTIONS
    whole = around.sub(lambda _: listed, text)
    return ShownQuestion(whole, shown, marks, order, tuple(answers))


def _order(written: str, categories: Sequence[str], text: str) -> tuple[int, ...]:
    if not written.strip():
        return tuple(range(len(categories)))
    names = [name.strip() for name in written.split(",")]
    for name in names:
        if name not in categories:
            raise ContextError(
                f"template {text!r}: expected categories ({', '.join(categories)}) in [options: "
                f"…], found {name!r}{closest(name, categories)}"
            )
    if sorted(names) != sorted(categories):
        raise ContextError(
            f"template {text!r}: expected every category once in [options: …] "
            f"({', '.join(categories)}), found {', '.join(names)}"
        )
    return tuple(list(categories).index(name) for name in names)


#: Up to this many options, every order is shown.
MOST_WHOLE = 3


def option_orders(n: int) -> tuple[tuple[int, ...], ...]:
    """All orders of up to three options; beyond, few orders that are balanced.

    Balanced (a Williams design): every option stands equally often at every position, and equally
    often right after every other. These are n orders for an even n, and 2n for an odd one.

    >>> option_orders(2)
    ((0, 1), (1, 0))
    >>> option_orders(4)
    ((0, 3, 1, 2), (1, 0, 2, 3), (2, 1, 3, 0), (3, 2, 0, 1))
    >>> len(option_orders(3)), len(option_orders(5))
    (6, 10)
    """
    if n <= MOST_WHOLE:
        return tuple(permutations(range(n)))
    # From both ends in turn: 0, n - 1, 1, n - 2, …
    zigzag = [n - 1 - i // 2 if i % 2 else i // 2 for i in range(n)]
    rows = [tuple((item + shift) % n for item in zigzag) for shift in range(n)]
    return tuple(rows if n % 2 == 0 else [*rows, *(row[::-1] for row in rows)])
