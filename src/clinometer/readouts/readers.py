"""Readers: which category a reply is, and nothing dropped.

A reply to options chooses one of them (`read_choice`). Any other reply is read by its words, by a
function of yours, or by a number or a word in it: in a JSON field, by a regular expression, or as
it stands.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Any, Protocol

from clinometer.errors import ContextError, TopicError, closest
from clinometer.readouts.tables import (
    JsonTable,
    Labels,
    RatingTable,
    RegexTable,
    ScoreTable,
)
from clinometer.storage.untrusted import found_by


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
    longest_first = sorted(
        (" ".join(text.split()) for text in texts), key=len, reverse=True
    )
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


# --- Which option does a reply choose? ------------------------------------------------------------

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
        found = []
        for reply, asked in zip(replies, shown, strict=True):
            spellings = (
                [self.spellings[y] for y in asked.order] if self.spellings else ()
            )
            number = read_choice(
                reply,
                asked.options,
                labels=asked.labels,
                question=asked.text,
                spellings=spellings,
            )
            found.append(asked.order[number] if number >= 0 else number)
        return found


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
        return None if said is None else self.numbers[_compared(said[0])]

    def anywhere(self, rest: str) -> int | None:
        """The one option that is named, if it is one."""
        said = set()
        if self.named is not None:
            said |= {
                self.numbers[found[1].casefold()] for found in self.named.finditer(rest)
            }
        if self.long is not None:
            said |= {
                self.numbers[_compared(found[0])] for found in self.long.finditer(rest)
            }
        return said.pop() if len(said) == 1 else None


@lru_cache(maxsize=4096)
def _rules(
    options: tuple[str, ...],
    labels: tuple[str, ...],
    spellings: tuple[tuple[str, ...], ...],
) -> _ChoiceRules:
    numbers: dict[str, int] = {}
    for i, (option, more) in enumerate(zip(options, spellings, strict=True)):
        for text in (option, *more):
            numbers.setdefault(_compared(text), i)
    texts = list(numbers)
    label = named = None
    if labels:
        numbers |= {one.casefold(): i for i, one in enumerate(labels)}
        marks = "|".join(map(re.escape, labels))
        # A letter alone is a label; before more words it needs a mark, or its option's text.
        label = re.compile(
            rf"({marks})(?:(?=\s*(?:$|[).:,;\]*\n]))|(\s+))", re.IGNORECASE
        )
        named = re.compile(
            rf"(?:\(|\boption\s+|\banswer(?:\s+is)?:?\s+)({marks})\b", re.IGNORECASE
        )
    long = [text for text in texts if " " in text]
    return _ChoiceRules(
        label, named, whole_words(texts), whole_words(long) if long else None, numbers
    )


def _compared(text: str) -> str:
    """A text as it is compared: no article, no full stop, single spaces, no case."""
    cleaned = " ".join(text.replace("’", "'").split()).strip(" .!\"'“”‘’").casefold()
    return (
        cleaned[len(article[0]) :] if (article := _ARTICLE.match(cleaned)) else cleaned
    )


#: [options], or [options: yes, no] with the order written out.
OPTIONS = re.compile(r"\[options(?::([^\]]*))?\]")
_OPTIONS_AND_SPACES = re.compile(rf" *{OPTIONS.pattern} *")


def with_order(template: str, categories: Sequence[str]) -> str:
    """The template with the order of its options written out.

    >>> with_order("Invite [X]? [options] Answer: [Y]", ["no", "yes"])
    'Invite [X]? [options: no, yes] Answer: [Y]'
    """
    return OPTIONS.sub(lambda _: f"[options: {', '.join(categories)}]", template)


def lay_out(
    text: str, options: Mapping[str, Sequence[str]], labels: Labels
) -> ShownQuestion:
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
        raise ContextError(
            f"template {text!r}: expected [options] once, found {len(found)} times"
        )
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
        listed = " or ".join(
            shown if len(shown) < 2 else (", ".join(shown[:-1]), shown[-1])
        )
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


# --- Whole replies --------------------------------------------------------------------------------


class WordCountReader:
    """The category whose words occur most often as whole words; a tie or none is other.

    >>> reader = WordCountReader({"man": ("he", "him"), "woman": ("she", "her")})
    >>> said = ["She saw him and her.", "He saw her.", "Then they left."]
    >>> reader.read(said, [ShownQuestion("Write on.")] * 3)
    [1, -1, -1]
    """

    def __init__(self, words: Mapping[str, tuple[str, ...]]) -> None:
        self._patterns = [whole_words(texts) for texts in words.values()]

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply."""
        found = []
        for reply, asked in zip(replies, shown, strict=True):
            said = answer(reply, asked.text)
            counts = [len(pattern.findall(said)) for pattern in self._patterns]
            most = max(counts)
            several = OTHER if most else unread(said)
            found.append(
                counts.index(most) if most and counts.count(most) == 1 else several
            )
        return found


@dataclass(frozen=True)
class FunctionReader:
    """A Python function: a reply in, a category or None out."""

    function: Callable[[str], str | None]
    categories: tuple[str, ...]
    name: str

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply; empty ones are not given to the function."""
        found = []
        for reply in map(spoken, replies):
            category = self.function(reply) if reply else None
            if category is None:
                found.append(unread(reply))
            elif category in self.categories:
                found.append(self.categories.index(category))
            else:
                raise TopicError(
                    f"readout.function: {self.name} returned {category!r}, expected one of "
                    f"{', '.join(self.categories)}, or None for other"
                )
        return found


#: Objects that are looked for in a reply.
_MOST_OBJECTS = 1000
#: How a reply repeats the scale itself: "from 1 to 5", "/5".
_SCALE = re.compile(
    r"(?:from\s+)?\b\d+\s*(?:-|–|to|through)\s*\d+\b|(?:/|\bout\s+of)\s*\d+|\bscale\s+of\s+\d+",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?<![\w.])[-+−]?(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?![\w])")


class ScoreReader:
    """The readouts `json`, `regex`, `number` and `rating`, of which a reply says one of the steps.

    >>> reader = ScoreReader(JsonTable(kind="json", field="score", scale=(0, 100)), {})
    >>> said = ['{"score": 72.5}', '```json\\n{"score": "60"}\\n```', '{"score": 700}', "70", ""]
    >>> reader.numbers(said)
    [72.5, 60.0, None, None, None]
    """

    def __init__(
        self, table: ScoreTable | RatingTable, attributes: Mapping[str, tuple[str, ...]]
    ) -> None:
        self.table = table
        numbers = table if isinstance(table, ScoreTable) else None
        self._scale = None if numbers is None else numbers.scale
        self._step = 1.0 if numbers is None else numbers.interval
        self._category = {
            word.casefold(): i
            for i, words in enumerate(attributes.values())
            for word in words
        }

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply; on a scale, the step that it is nearest to."""
        if self._scale is not None:
            low = self._scale[0]
            return [
                unread(spoken(reply))
                if n is None
                else math.floor((n - low) / self._step + 0.5)
                for reply, n in zip(replies, self.numbers(replies, shown), strict=True)
            ]
        found = []
        for reply, values in zip(replies, self._found(replies, shown), strict=True):
            known = {self._category.get(_plain(value), OTHER) for value in values}
            number = known.pop() if len(known) == 1 else OTHER
            found.append(unread(spoken(reply)) if number == OTHER else number)
        return found

    def numbers(
        self, replies: Sequence[str], shown: Sequence[ShownQuestion] = ()
    ) -> list[float | None]:
        """The number of each reply; None where there is none, several, or one off the scale."""
        low, high = self._scale or (-math.inf, math.inf)
        said = []
        for values in self._found(replies, shown):
            numbers = {_number(value) for value in values}
            number = numbers.pop() if len(numbers) == 1 else None
            said.append(
                number if number is not None and low <= number <= high else None
            )
        return said

    def _found(
        self, replies: Sequence[str], shown: Sequence[ShownQuestion]
    ) -> list[list[Any]]:
        """What may be the answer in each reply."""
        questions = [question.text for question in shown] or [""] * len(replies)
        said = [
            answer(reply, asked)
            for reply, asked in zip(replies, questions, strict=True)
        ]
        if isinstance(self.table, JsonTable):
            return [fields(reply, self.table.field) for reply in said]
        if isinstance(self.table, RegexTable):
            try:
                return found_by(self.table.pattern, said)
            except ValueError as exc:
                raise TopicError(
                    f"readout.pattern: {self.table.pattern!r}: {exc}; write it without repeats "
                    "inside of repeats"
                ) from exc
        return [_NUMBER.findall(_SCALE.sub(" ", reply)) for reply in said]


def fields(reply: str, path: str) -> list[Any]:
    """The values of a field in the JSON objects of a reply, in order.

    >>> fields('Sure! {"result": {"score": 7}} or {"note": 1}', "result.score")
    [7]
    """
    decoder, found, at = json.JSONDecoder(), [], reply.find("{")
    for _ in range(_MOST_OBJECTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(reply, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            for name in path.split("."):
                value = value.get(name) if isinstance(value, dict) else None
            if value is not None:
                found.append(value)
        at = reply.find("{", end)
    return found


def _plain(value: Any) -> str:
    """A value as it is compared with the words of the categories."""
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split()).casefold()


def _number(value: Any) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, str):
        match = _NUMBER.fullmatch(value.strip().removesuffix("%").strip())
        value = (
            None
            if match is None
            else float(match[0].replace(",", "").replace("−", "-"))
        )
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
