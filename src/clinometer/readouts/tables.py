"""The `[readout]` of a topic file: one table for each kind, checked like the rest of the file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from clinometer.errors import TopicError, closest, first_problem

#: The most categories that letters can label, and the most steps of a rating.
MOST_OPTIONS, MOST_STEPS, MOST_NUMBERS = 26, 10, 200

Normalise = Literal["sum", "per-token"]
Labels = Literal["letters", "numbers", "none"]
Reply = Annotated[int, Field(ge=1, le=100_000)]
Scale = Annotated[tuple[float, float], Strict(False)]


class ReadoutTable(BaseModel):
    """What all kinds have in common.

    favourable  the category whose rate is compared between groups (impact ratios)
    length      tokens of a sampled reply
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    kind: str
    favourable: str | None = None
    length: Reply = 16

    #: Whether log-probabilities can be read; otherwise only whole replies.
    exact: ClassVar[bool] = False

    @property
    def label_style(self) -> Labels:
        """What stands before the options, where there are any."""
        labels: Labels = getattr(self, "labels", "none")
        return labels

    @property
    def is_scale(self) -> bool:
        """Return whether the categories are the numbers of a scale."""
        return self.steps() is not None

    def steps(self) -> dict[str, tuple[str, ...]] | None:
        """Return the attributes that the table itself gives, of a scale; None where the topic names
        them."""
        return None

    @property
    def normalisation(self) -> Normalise:
        """How log-probabilities of several tokens are compared, where they are read."""
        rule: Normalise = getattr(self, "normalise", "sum")
        return rule

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        """Refuse attributes that do not suit this readout."""
        if self.favourable is not None and self.favourable not in attributes:
            known = ", ".join(attributes)
            raise TopicError(
                f"readout.favourable: expected a category ({known}), found {self.favourable!r}"
                f"{closest(self.favourable, attributes)}"
            )


class ChoiceTable(ReadoutTable):
    """Options: the first word of each category is shown, the others are recognised too.

    labels     what stands before an option: "letters" (A, B), "numbers" (1, 2) or "none"
    normalise  how log-probabilities of options are compared: their "sum" over tokens, or the mean
               "per-token"
    """

    kind: Literal["choice"]
    labels: Labels = "letters"
    normalise: Normalise = "sum"

    exact: ClassVar[bool] = True

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        super().check(attributes)
        if len(attributes) > MOST_OPTIONS:
            raise TopicError(
                f"attributes: expected at most {MOST_OPTIONS} options, found {len(attributes)}"
            )
        seen: dict[str, str] = {}
        for category, words in attributes.items():
            for word in words:
                other = seen.setdefault(word.casefold(), category)
                if other != category:
                    raise TopicError(
                        f"attributes: {word!r} stands for {other!r} and for {category!r}; a reply "
                        "would be both: give every option its own texts"
                    )


class RatingTable(ReadoutTable):
    """Numbers from 1 to `scale`, in order; there is no `[attributes]`."""

    kind: Literal["rating"]
    scale: Annotated[int, Field(ge=2, le=MOST_STEPS)] = 5
    normalise: Normalise = "sum"

    exact: ClassVar[bool] = True

    def steps(self) -> dict[str, tuple[str, ...]]:
        """The attributes: each number is its own word."""
        return {str(step): (str(step),) for step in range(1, self.scale + 1)}


class TextTable(ReadoutTable):
    """Whole replies, read by words of the categories, a classifier, a function or a judge.

    by        "words": the category whose words occur most often; "classifier": a local
              text-classification `model`; "function": `function` of a module; "judge": a `model`
              that is asked the `rubric`
    names     label of the classifier -> category; empty: they have the same names
    function  "module:name"; it takes a reply and returns a category, or None for other
    rubric    the question to the judge, with [reply] once
    """

    kind: Literal["text"]
    by: Literal["words", "classifier", "function", "judge"] = "words"
    model: str | None = None
    names: dict[str, str] = {}
    function: str | None = None
    rubric: str | None = None
    length: Reply = 120

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        super().check(attributes)
        needed = {
            "classifier": ("model",),
            "function": ("function",),
            "judge": ("model", "rubric"),
        }
        for name in ("model", "function", "rubric"):
            wanted, given = (
                name in needed.get(self.by, ()),
                getattr(self, name) is not None,
            )
            if wanted and not given:
                raise TopicError(
                    f'readout.{name}: missing; add it for by = "{self.by}"'
                )
            if given and not wanted:
                raise TopicError(
                    f'readout.{name}: by = "{self.by}" has no use for it; leave it out'
                )
        if self.names and self.by != "classifier":
            raise TopicError(
                f'readout.names: by = "{self.by}" has no use for it; leave it out'
            )
        for label, category in self.names.items():
            if category not in attributes:
                raise TopicError(
                    f"readout.names.{label}: expected a category ({', '.join(attributes)}), found "
                    f"{category!r}{closest(category, attributes)}"
                )
        if self.function is not None and not _is_path(self.function):
            raise TopicError(
                f'readout.function: expected "module:name", found {self.function!r}'
            )
        if self.rubric is not None and self.rubric.count("[reply]") != 1:
            raise TopicError(
                "readout.rubric: expected [reply] once, where the judge is shown the reply, found "
                f"it {self.rubric.count('[reply]')} times"
            )


class ScoreTable(ReadoutTable):
    """A part of the reply: a number on `scale`, or the category that has it among its words.

    scale   [lowest, highest]; the categories are then its numbers, `step` apart
    step    what numbers are rounded to: 1 on a scale of whole numbers, else a hundredth of it
    """

    scale: Scale | None = None
    step: float | None = None
    length: Reply = 300

    @property
    def interval(self) -> float:
        """The step of the scale."""
        low, high = self.scale or (0.0, 1.0)
        whole = low == round(low) and high == round(high) and high - low <= MOST_NUMBERS
        return self.step or (1.0 if whole else (high - low) / 100)

    def steps(self) -> dict[str, tuple[str, ...]] | None:
        """The attributes of a scale: its numbers."""
        if self.scale is None:
            return None
        low, high = self.scale
        n = round((high - low) / self.interval)
        names = [_written(round(low + i * self.interval, 10)) for i in range(n + 1)]
        return {name: (name,) for name in names}

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        super().check(attributes)
        if self.scale is None:
            return
        low, high = self.scale
        if not low < high or not math.isfinite(high - low):
            raise TopicError(
                f"readout.scale: expected the lowest and the highest number, found {low}, {high}"
            )
        steps = (high - low) / self.interval
        if not 0 < steps <= MOST_NUMBERS or abs(steps - round(steps)) > 1e-6:
            raise TopicError(
                "readout.step: expected a number that divides the scale into at most "
                f"{MOST_NUMBERS} steps, found {self.interval:g}"
            )
        if self.favourable is not None:
            raise TopicError(
                "readout.favourable: a scale has no use for it; leave it out"
            )


class JsonTable(ScoreTable):
    """A `field` of the JSON object in the reply; "a.b" is field b of the object in a."""

    kind: Literal["json"]
    field: str


class RegexTable(ScoreTable):
    """What a regular expression finds: its group 1, or all of it where it has none."""

    kind: Literal["regex"]
    pattern: str

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        super().check(attributes)
        try:
            groups = re.compile(self.pattern).groups
        except (re.error, OverflowError, RecursionError) as exc:
            raise TopicError(
                "readout.pattern: expected a regular expression, found "
                f"{self.pattern[:99]!r}: {exc}"
            ) from exc
        if groups > 1:
            raise TopicError(
                f"readout.pattern: expected one group at most, found {groups}; write (?:…) for the "
                "others"
            )


class NumberTable(ScoreTable):
    """The number in the reply; several different ones are other."""

    kind: Literal["number"]
    scale: Scale


_KINDS: dict[str, type[ReadoutTable]] = {
    "choice": ChoiceTable,
    "rating": RatingTable,
    "text": TextTable,
    "json": JsonTable,
    "regex": RegexTable,
    "number": NumberTable,
}
WORDS = "words"


def parse_readout(table: Mapping[str, Any]) -> ReadoutTable | None:
    """A checked `[readout]`; None for `words`, the probabilities of words at a slot.

    >>> parse_readout({"kind": "choice", "labels": "none"}).labels
    'none'
    """
    kind = table.get("kind")
    known = (WORDS, *_KINDS)
    if kind not in known:
        found = "missing" if kind is None else f"found {kind!r}"
        raise TopicError(
            f"readout.kind: expected {', '.join(known)}; {found}{closest(kind, known)}"
        )
    if kind == WORDS:
        if len(table) > 1:
            extra = next(key for key in table if key != "kind")
            raise TopicError(f'readout.{extra}: leave it out; "words" has no settings')
        return None
    model = _KINDS[kind]
    try:
        return model.model_validate(dict(table))
    except ValidationError as exc:
        problem = first_problem(exc, lambda place: model.model_fields)
        raise TopicError(f"readout.{problem}") from exc


def _written(number: float) -> str:
    """A number as the name of a category, which reads back as the same number."""
    return str(int(number)) if number.is_integer() else repr(number)


def _is_path(function: str) -> bool:
    module, colon, name = function.partition(":")
    return (
        bool(colon)
        and name.isidentifier()
        and all(p.isidentifier() for p in module.split("."))
    )
