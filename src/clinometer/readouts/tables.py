"""The `[readout]` of a topic file: one table for each kind, checked like the rest of the file."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, Strict, ValidationError

from clinometer.errors import TopicError, closest, first_problem

MOST_OPTIONS = 26
"""The most categories that letters can label."""

MOST_STEPS = 10
"""The most steps of a rating."""

MOST_NUMBERS = 200
"""The most steps of a scale of numbers."""

Normalise = Literal["sum", "per-token"]
Labels = Literal["letters", "numbers", "none"]
Reply = Annotated[int, Field(ge=1, le=100_000)]
Scale = Annotated[tuple[float, float], Strict(False)]


class ReadoutTable(BaseModel):
    """What all kinds have in common."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    asks: ClassVar[bool] = True
    """Whether contexts are questions; otherwise they are sentences with a slot for a word."""

    exact: ClassVar[bool] = False
    """Whether log-probabilities can be read; otherwise only whole replies."""

    kind: str
    """Its name in a topic file."""

    favourable: str | None = None
    """The category whose rate is compared between groups (impact ratios)."""

    length: Reply = 16
    """Tokens of a sampled reply."""

    @property
    def label_style(self) -> Labels:
        """Return what stands before the options, where there are any."""
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
        """Return how log-probabilities of several tokens are compared, where they are read."""
        rule: Normalise = getattr(self, "normalise", "sum")
        return rule

    def tables(
        self, *, exclude: Collection[str] = (), exclude_none: bool = False
    ) -> dict[str, Any]:
        """Return what a file has of this readout: the table `readout`; of words nothing."""
        table = self.model_dump(exclude=set(exclude), exclude_none=exclude_none)
        return {"readout": table}

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        """Refuse attributes that do not suit this readout."""
        if self.favourable is not None and self.favourable not in attributes:
            known = ", ".join(attributes)
            raise TopicError(
                f"readout.favourable: expected a category ({known}), found {self.favourable!r}"
                f"{closest(self.favourable, attributes)}"
            )


class WordsTable(ReadoutTable):
    """The probabilities of words at a slot; a topic file needs no table for it."""

    asks: ClassVar[bool] = False
    exact: ClassVar[bool] = True

    kind: Literal["words"] = "words"

    def tables(
        self, *, exclude: Collection[str] = (), exclude_none: bool = False
    ) -> dict[str, Any]:
        return {}


class ChoiceTable(ReadoutTable):
    """Options: the first word of each category is shown, the others are recognised too."""

    exact: ClassVar[bool] = True

    kind: Literal["choice"]

    labels: Labels = "letters"
    """What stands before an option: "letters" (A, B), "numbers" (1, 2) or "none"."""

    normalise: Normalise = "sum"
    """How log-probabilities of options are compared: their "sum" over tokens, or the mean
    "per-token"."""

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        super().check(attributes)
        if len(attributes) > MOST_OPTIONS:
            raise TopicError(
                f"attributes: expected at most {MOST_OPTIONS} options, found {len(attributes)}"
            )
        category_of: dict[str, str] = {}
        for category, words in attributes.items():
            for word in words:
                first = category_of.setdefault(word.casefold(), category)
                if first != category:
                    raise TopicError(
                        f"attributes: {word!r} stands for {first!r} and for {category!r}; a reply "
                        "would be both: give every option its own texts"
                    )


class RatingTable(ReadoutTable):
    """Numbers from 1 to `scale`, in order; there is no `[attributes]`."""

    exact: ClassVar[bool] = True

    kind: Literal["rating"]

    scale: Annotated[int, Field(ge=2, le=MOST_STEPS)] = 5
    """The highest number."""

    normalise: Normalise = "sum"
    """How log-probabilities of the numbers are compared."""

    def steps(self) -> dict[str, tuple[str, ...]]:
        """Return the attributes: each number is its own word."""
        return {str(step): (str(step),) for step in range(1, self.scale + 1)}


NEEDED = {
    "words": (),
    "classifier": ("model",),
    "function": ("function",),
    "judge": ("model", "rubric"),
}
"""What a readout of texts must name, by who reads them; it may name nothing else."""


class TextTable(ReadoutTable):
    """Whole replies, read by words of the categories, a classifier, a function or a judge."""

    kind: Literal["text"]

    by: Literal["words", "classifier", "function", "judge"] = "words"
    """Who reads them: "words" (the category whose words occur most often), "classifier" (a local
    text-classification `model`), "function" (`function` of a module) or "judge" (a `model` that is
    asked the `rubric`)."""

    model: str | None = None
    """The classifier, or the judge."""

    names: dict[str, str] = {}
    """Label of the classifier -> category; empty: they have the same names."""

    function: str | None = None
    """As "module:name"; it takes a reply and returns a category, or None for other."""

    rubric: str | None = None
    """The question to the judge, with [reply] once."""

    length: Reply = 120

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        super().check(attributes)
        self._check_given()
        self._check_names(attributes)
        if self.function is not None and not _is_path(self.function):
            raise TopicError(
                f'readout.function: expected "module:name", found {self.function!r}'
            )
        if self.rubric is not None and self.rubric.count("[reply]") != 1:
            raise TopicError(
                "readout.rubric: expected [reply] once, where the judge is shown the reply, found "
                f"it {self.rubric.count('[reply]')} times"
            )

    def _check_given(self) -> None:
        """Refuse a setting that is missing, or that nobody would use."""
        for name in ("model", "function", "rubric"):
            is_needed = name in NEEDED[self.by]
            is_given = getattr(self, name) is not None
            if is_needed and not is_given:
                raise TopicError(
                    f'readout.{name}: missing; add it for by = "{self.by}"'
                )
            if is_given and not is_needed:
                raise TopicError(
                    f'readout.{name}: by = "{self.by}" has no use for it; leave it out'
                )
        if self.names and self.by != "classifier":
            raise TopicError(
                f'readout.names: by = "{self.by}" has no use for it; leave it out'
            )

    def _check_names(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        """Refuse a label of the classifier that stands for no category."""
        for label, category in self.names.items():
            if category not in attributes:
                raise TopicError(
                    f"readout.names.{label}: expected a category ({', '.join(attributes)}), found "
                    f"{category!r}{closest(category, attributes)}"
                )


class ScoreTable(ReadoutTable):
    """A part of the reply: a number on `scale`, or the category that has it among its words."""

    scale: Scale | None = None
    """[lowest, highest]; the categories are then its numbers, `step` apart."""

    step: float | None = None
    """What numbers are rounded to: 1 on a scale of whole numbers, else a hundredth of it."""

    length: Reply = 300

    @property
    def interval(self) -> float:
        """Return the step of the scale."""
        if self.step:
            return self.step
        low, high = self.scale or (0.0, 1.0)
        whole_ends = low == round(low) and high == round(high)
        if whole_ends and high - low <= MOST_NUMBERS:
            return 1.0
        return (high - low) / 100

    def steps(self) -> dict[str, tuple[str, ...]] | None:
        """Return the attributes of a scale: its numbers."""
        if self.scale is None:
            return None
        low, high = self.scale
        n_steps = round((high - low) / self.interval)
        numbers = [round(low + i * self.interval, 10) for i in range(n_steps + 1)]
        names = [_written(number) for number in numbers]
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
    """Its name, or path."""


class RegexTable(ScoreTable):
    """What a regular expression finds: its group 1, or all of it where it has none."""

    kind: Literal["regex"]

    pattern: str
    """The regular expression."""

    def check(self, attributes: Mapping[str, tuple[str, ...]]) -> None:
        super().check(attributes)
        try:
            n_groups = re.compile(self.pattern).groups
        except (re.error, OverflowError, RecursionError) as exc:
            raise TopicError(
                "readout.pattern: expected a regular expression, found "
                f"{self.pattern[:99]!r}: {exc}"
            ) from exc
        if n_groups > 1:
            raise TopicError(
                f"readout.pattern: expected one group at most, found {n_groups}; write (?:…) "
                "for the others"
            )


class NumberTable(ScoreTable):
    """The number in the reply; several different ones are other."""

    kind: Literal["number"]
    scale: Scale


KINDS: dict[str, type[ReadoutTable]] = {
    "choice": ChoiceTable,
    "rating": RatingTable,
    "text": TextTable,
    "json": JsonTable,
    "regex": RegexTable,
    "number": NumberTable,
}
"""The tables by the kind that a topic file names."""

WORDS = WordsTable()
"""The readout of a topic of words."""


def parse_readout(table: Mapping[str, Any] | None) -> ReadoutTable:
    """Return a checked `[readout]`; that of words where a file has none.

    >>> parse_readout({"kind": "choice", "labels": "none"}).labels
    'none'
    >>> parse_readout(None).kind
    'words'
    """
    if table is None:
        return WORDS
    kind = table.get("kind")
    known = (WORDS.kind, *KINDS)
    if kind not in known:
        found = "missing" if kind is None else f"found {kind!r}"
        raise TopicError(
            f"readout.kind: expected {', '.join(known)}; {found}{closest(kind, known)}"
        )
    if kind == WORDS.kind:
        if len(table) > 1:
            extra = next(key for key in table if key != "kind")
            raise TopicError(f'readout.{extra}: leave it out; "words" has no settings')
        return WORDS
    model = KINDS[kind]
    try:
        return model.model_validate(dict(table))
    except ValidationError as exc:
        problem = first_problem(exc, lambda place: model.model_fields)
        raise TopicError(f"readout.{problem}") from exc


def _written(number: float) -> str:
    """Return a number as the name of a category, which reads back as the same number."""
    return str(int(number)) if number.is_integer() else repr(number)


def _is_path(function: str) -> bool:
    """Return whether a text names a function of a module."""
    module, colon, name = function.partition(":")
    parts = [*module.split("."), name]
    return bool(colon) and all(part.isidentifier() for part in parts)
