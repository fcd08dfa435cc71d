"""A mapping: which fields of another tool's samples are the group, the context and the category."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from clinometer.display.text import brief
from clinometer.errors import SettingsError, TableError, closest, first_problem
from clinometer.readouts import read_choice
from clinometer.storage.untrusted import MOST_RECORD, named_parts, parse_toml, read_text

READY = Path(__file__).parent / "mappings"
"""The folder of the mappings that come with the package."""

_FIELD = re.compile(r"\{([^{}]+)\}")
_CATEGORIES = ("category", "categories", "answer")
_NAMED_FIELDS = 12
"""The number of fields that an error names."""


class SampleMapping(BaseModel):
    """The content of a mapping file. Unknown keys are refused.

    A text with {field} in it takes the field of a sample; {a.b} is the field b of the object a.
    From `model` on, keys are for tables of replies (`import replies`), which may hold several
    models and subjects.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str = Field(pattern=r"^[\w-]+$")
    """What reports call the subject, with `title`."""

    title: str = ""
    notes: str = ""
    language: str = "en"

    tasks: list[str] = []
    """Names of tasks that the mapping is meant for; * stands for anything."""

    group: str
    """Who is asked about."""

    context: str
    """What tells contexts apart; comparisons match runs by it."""

    text: str = ""
    """What reports show of a context; `context` unless given."""

    labels: dict[str, str] = {}
    """Further texts of a context, by which it can be resampled (--clusters)."""

    written_as: dict[str, str] = {}
    """A group or the text of a context -> as people write it."""

    where: dict[str, str] = {}
    """Only samples whose fields have these values are read."""

    category: str = ""
    """The category of a sample that has one answer."""

    answer: str = ""
    """Where the reply of a sampled model stands; all that it said unless given."""

    categories: dict[str, list[str | int]] = {}
    """Category -> the answers that count for it: texts, or positions from 0."""

    left_out: list[str | int] = []
    """Answers that count for no category; they are looked at first."""

    favourable: str = ""
    """The category whose rate is compared between groups."""

    reference: dict[str, float] | Literal["group-mean"] | None = None
    """p*, one number per category; uniform unless given, and of replies the mean of all groups in
    the same context."""

    coverage: bool = True
    """Whether the answers together are a probability worth reporting."""

    model: str = ""
    """Who replied."""

    axis: str = ""
    """Which subject a row belongs to; each is a run."""

    titles: dict[str, str] = {}
    """Axis -> what reports call it."""

    parts: dict[str, str] = {}
    """A field -> a regular expression whose named groups are further fields."""

    repetition: str = ""
    """What tells the replies of a cell apart; a repeated one is an error."""

    score: str = ""
    """The number that a reply is, instead of a category."""

    scale: list[float] = Field(default=[], max_length=2)
    """Lowest and highest score; as seen unless given."""

    step: float | None = Field(default=None, gt=0)
    """Scores are rounded to its multiples."""

    noun: str = ""
    """What a context is called."""

    placebo: dict[str, str] = {}
    """Fields -> texts (* stands for anything): rows of irrelevant edits."""

    edit: str = ""
    """What was edited."""

    baseline: dict[str, str] = {}
    """Fields -> texts: rows of the text that was edited."""

    baseline_in: list[str] = []
    """Axes of which the unedited text is a group."""

    @model_validator(mode="after")
    def _check_categories(self) -> Self:
        names = self.categories
        if not self.category and not self.score and len(names) < 2:
            raise ValueError(
                "categories: expected two or more, or category or score = a field"
            )
        if self.score and (self.category or names):
            raise ValueError(
                "score: expected a score or categories, found both; leave out one"
            )
        if self.favourable and names and self.favourable not in names:
            raise ValueError(
                f"favourable: expected {', '.join(names)}, found {self.favourable!r}"
            )
        return self

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        for name, pattern in self.parts.items():
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as exc:
                raise ValueError(
                    f"parts.{name}: expected a regular expression, found {pattern[:99]!r}: {exc}"
                ) from exc
        return self

    @model_validator(mode="after")
    def _check_reference(self) -> Self:
        if isinstance(self.reference, dict) and set(self.reference) != set(
            self.categories
        ):
            raise ValueError(
                "reference: expected one number for each of the categories"
            )
        return self

    @cached_property
    def sha256(self) -> str:
        """Return the digest of all that changes a cell."""
        content = self.model_dump_json(exclude={"title", "notes", "tasks"})
        return hashlib.sha256(content.encode()).hexdigest()

    def reference_of(
        self, categories: Sequence[str]
    ) -> list[float] | Literal["group-mean"] | None:
        """Return p* in the order of the categories; None for a uniform one."""
        if isinstance(self.reference, dict):
            return [self.reference[category] for category in categories]
        return self.reference

    @property
    def fields(self) -> tuple[str, ...]:
        """Return every field that the mapping names, without those that `parts` makes."""
        patterns = [self.group, self.context, self.text, self.category, self.answer]
        patterns += [self.model, self.axis, self.edit, self.score]
        patterns += self.labels.values()
        for answers in [*self.categories.values(), self.left_out]:
            patterns += map(str, answers)
        names: list[str] = []
        for pattern in patterns:
            names += _FIELD.findall(pattern)
        names += [*self.where, *self.placebo, *self.baseline, *self.parts]
        from_parts: set[str] = set()
        for pattern in self.parts.values():
            from_parts.update(re.compile(pattern).groupindex)
        return tuple(name for name in dict.fromkeys(names) if name not in from_parts)

    def with_parts(self, fields: Mapping[str, Any], *, where: str) -> dict[str, Any]:
        """Return the fields and those that `parts` makes of them; of a text that does not fit,
        empty ones."""
        extended = dict(fields)
        for name, pattern in self.parts.items():
            text = self.written(f"{{{name}}}", fields, where=where)
            try:
                texts = named_parts(pattern, text) or {}
            except ValueError as exc:
                raise SettingsError(
                    f"parts.{name}: {pattern!r}: {exc}; write it without repeats inside of repeats"
                ) from exc
            for part in re.compile(pattern).groupindex:
                extended[part] = texts.get(part) or ""
        return extended

    def written(self, pattern: str, fields: Mapping[str, Any], *, where: str) -> str:
        """Return a text of the mapping with the fields of a sample filled in."""
        if pattern[:1] + pattern[-1:] == "{}":
            value = fields.get(pattern[1:-1])
            if type(value) is str:
                return value
        return _FIELD.sub(
            lambda match: ", ".join(_values(match[1], fields, where=where)), pattern
        )

    def matches(
        self, conditions: Mapping[str, str], fields: Mapping[str, Any], *, where: str
    ) -> bool:
        """Return whether the fields are as `placebo` or `baseline` says."""
        return bool(conditions) and all(
            fnmatchcase(self.written(f"{{{name}}}", fields, where=where), text)
            for name, text in conditions.items()
        )

    def wants(self, fields: Mapping[str, Any], *, where: str) -> bool:
        """Return whether a sample is one of those that the mapping reads."""
        return all(
            _values(name, fields, where=where) == [value]
            for name, value in self.where.items()
        )

    def place(self, fields: Mapping[str, Any], *, where: str) -> SamplePlace:
        """Return the group and context of a sample; `where` names it in errors."""
        group = self.written(self.group, fields, where=where)
        context = self.written(self.context, fields, where=where)
        text = self.written(self.text or self.context, fields, where=where)
        labels = [
            self.written(label, fields, where=where) for label in self.labels.values()
        ]
        return SamplePlace(
            self.written_as.get(group, group),
            context,
            self.written_as.get(text, text),
            tuple(labels),
        )

    def reply_category(self, fields: Mapping[str, Any], *, where: str) -> str | None:
        """Return the category of a sampled reply; None for one that is left out, or none of
        them."""
        if self.category:
            category = self.written(self.category, fields, where=where)
            return None if category in map(str, self.left_out) else category
        reply = self.written(self.answer or "{completion}", fields, where=where)
        spellings = [
            self._spellings(answers, fields, where=where)
            for answers in self.categories.values()
        ]
        left_out = self._spellings(self.left_out, fields, where=where)
        if left_out:
            spellings.append(left_out)
        if not all(spellings):
            return None  # a category without an answer in this sample
        options = [texts[0] for texts in spellings]
        number = read_choice(
            reply, options, spellings=[texts[1:] for texts in spellings]
        )
        names = list(self.categories)
        return names[number] if 0 <= number < len(names) else None

    def _spellings(
        self, answers: Sequence[str | int], fields: Mapping[str, Any], *, where: str
    ) -> list[str]:
        """Return every text that the answers stand for."""
        texts: list[str] = []
        for answer in answers:
            texts += self._texts(str(answer), fields, where=where)
        return texts

    def _texts(
        self, pattern: str, fields: Mapping[str, Any], *, where: str
    ) -> list[str]:
        """Return a text as `written`; a field alone that is a list stands for each of its texts."""
        field = _FIELD.fullmatch(pattern)
        if field:
            return _values(field[1], fields, where=where)
        return [self.written(pattern, fields, where=where)]

    def category_of(
        self,
        answer: str,
        position: int | None,
        fields: Mapping[str, Any],
        *,
        where: str,
    ) -> str | None:
        """Return the category that an answer counts for; None for those that are left out."""

        def counts_for(member: str | int) -> bool:
            if isinstance(member, int):
                return member == position
            texts = self._texts(member, fields, where=where)
            return answer.strip() in map(str.strip, texts)

        if any(map(counts_for, self.left_out)):
            return None
        for category, members in self.categories.items():
            if any(map(counts_for, members)):
                return category
        raise TableError(
            f"{where}: the answer {brief(answer)!r} is in no category of the mapping "
            f"{self.name!r}; add it to one, or to left_out"
        )


@dataclass(frozen=True)
class SamplePlace:
    """Where a sample belongs: its group and its context, with what is said of the context."""

    group: str
    context: str
    text: str

    labels: tuple[str, ...] = ()
    """In the order in which the mapping names them."""


def ready_mappings() -> tuple[str, ...]:
    """Return the names of the mappings that come with the package.

    >>> ready_mappings()[:3]
    ('bbq', 'crows_pairs', 'discrim_eval')
    """
    return tuple(sorted(path.stem for path in READY.glob("*.toml")))


def load_mapping(
    name_or_path: str, changes: Mapping[str, str] | None = None
) -> SampleMapping:
    """Return a ready mapping by name, or the user's own by the path of its .toml file; with
    `changes`."""
    path = Path(name_or_path)
    file_name = name_or_path
    if name_or_path in ready_mappings():
        file_name = f"{name_or_path}.toml"
        path = READY / file_name
    elif path.suffix != ".toml":
        raise SettingsError(
            f"mapping: expected one of {', '.join(ready_mappings())}, or the path of a .toml file; "
            f"found {name_or_path!r}{closest(name_or_path, ready_mappings())}"
        )
    text = read_text(
        path, shown=file_name, kind=".toml", error=SettingsError, most=MOST_RECORD
    )
    try:
        content = parse_toml(text)
        # What a reply is called instead takes the place of what the mapping called it.
        if changes and any(changes.get(key) for key in ("score", *_CATEGORIES)):
            for key in {"score", *_CATEGORIES} - set(changes):
                content.pop(key, None)
        return SampleMapping.model_validate({**content, **(changes or {})})
    except ValidationError as exc:
        problem = first_problem(exc, lambda place: SampleMapping.model_fields)
        raise SettingsError(f"{file_name}: {problem}") from exc
    except ValueError as exc:
        raise SettingsError(f"{file_name}: not valid TOML: {exc}") from exc


def mapping_for(task: str) -> SampleMapping:
    """Return the ready mapping that is meant for a task."""
    for mapping in map(load_mapping, ready_mappings()):
        if any(fnmatchcase(task, pattern) for pattern in mapping.tasks):
            return mapping
    raise SettingsError(
        f"mapping: none of {', '.join(ready_mappings())} is meant for the task {task!r}; give one "
        "of them, or your own file, with --mapping (docs/bridges.md)"
    )


def _values(name: str, fields: Mapping[str, Any], *, where: str) -> list[str]:
    """Return the texts of a field: one, or those of its list."""
    value: Any = fields
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            names = ", ".join(list(fields)[:_NAMED_FIELDS])
            raise TableError(
                f"{where}: expected the field {name!r}, which the mapping names; found {names}"
                f"{closest(name, fields)}"
            )
        value = value[part]
    values = value if isinstance(value, list) else [value]
    if any(item is None or isinstance(item, dict | list) for item in values):
        raise TableError(
            f"{where}: expected a text or a number in {name!r}, found {value!r}"
        )
    return [str(item) for item in values]
