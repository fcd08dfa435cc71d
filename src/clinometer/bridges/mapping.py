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
_FIELD = re.compile(r"\{([^{}]+)\}")
_CATEGORIES = ("category", "categories", "answer")
_SHOWN = 12  # fields that an error names


class SampleMapping(BaseModel):
    """The content of a mapping file. Unknown keys are refused.

    A text with {field} in it takes the field of a sample; {a.b} is the field b of the object a.

    name, title   what reports call the subject
    tasks         names of tasks that it is meant for; * stands for anything
    group         who is asked about
    context       what tells contexts apart; comparisons match runs by it
    text          what reports show of a context; `context` unless given
    labels        further texts of a context, by which it can be resampled (--clusters)
    written_as    a group or the text of a context -> as people write it
    where         only samples whose fields have these values
    category      the category of a sample that has one answer
    answer        where the reply of a sampled model stands; all that it said unless given
    categories    category -> the answers that count for it: texts, or positions from 0
    left_out      answers that count for no category; they are looked at first
    favourable    the category whose rate is compared between groups
    reference     p*, one number per category; uniform unless given, and of replies the mean of all
                  groups in the same context
    coverage      whether the answers together are a probability worth reporting

    For tables of replies (`import replies`), which may hold several models and subjects:

    model         who replied
    axis          which subject a row belongs to; each is a run
    titles        axis -> what reports call it
    parts         a field -> a regular expression whose named groups are further fields
    repetition    what tells the replies of a cell apart; a repeated one is an error
    score         the number that a reply is, instead of a category
    scale         lowest and highest score; as seen unless given
    step          scores are rounded to its multiples
    noun          what a context is called
    placebo       fields -> texts (* stands for anything): rows of irrelevant edits
    edit          what was edited
    baseline      fields -> texts: rows of the text that was edited
    baseline_in   axes of which the unedited text is a group
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: str = Field(pattern=r"^[\w-]+$")
    title: str = ""
    notes: str = ""
    language: str = "en"
    tasks: list[str] = []
    group: str
    context: str
    text: str = ""
    labels: dict[str, str] = {}
    written_as: dict[str, str] = {}
    where: dict[str, str] = {}
    category: str = ""
    answer: str = ""
    categories: dict[str, list[str | int]] = {}
    left_out: list[str | int] = []
    favourable: str = ""
    reference: dict[str, float] | Literal["group-mean"] | None = None
    coverage: bool = True
    model: str = ""
    axis: str = ""
    titles: dict[str, str] = {}
    parts: dict[str, str] = {}
    repetition: str = ""
    score: str = ""
    scale: list[float] = Field(default=[], max_length=2)
    step: float | None = Field(default=None, gt=0)
    noun: str = ""
    placebo: dict[str, str] = {}
    edit: str = ""
    baseline: dict[str, str] = {}
    baseline_in: list[str] = []

    @model_validator(mode="after")
    def _check_categories(self) -> Self:
        if not self.category and not self.score and len(self.categories) < 2:
            raise ValueError(
                "categories: expected two or more, or category or score = a field"
            )
        if self.score and (self.category or self.categories):
            raise ValueError(
                "score: expected a score or categories, found both; leave out one"
            )
        if (
            self.favourable
            and self.categories
            and self.favourable not in self.categories
        ):
            raise ValueError(
                f"favourable: expected {', '.join(self.categories)}, found {self.favourable!r}"
            )
        for name, pattern in self.parts.items():
            try:
                re.compile(pattern)
            except (re.error, OverflowError, RecursionError) as exc:
                raise ValueError(
                    f"parts.{name}: expected a regular expression, found {pattern[:99]!r}: {exc}"
                ) from exc
        if isinstance(self.reference, dict) and set(self.reference) != set(
            self.categories
        ):
            raise ValueError(
                "reference: expected one number for each of the categories"
            )
        return self

    @cached_property
    def sha256(self) -> str:
        """Digest of all that changes a cell."""
        content = self.model_dump_json(exclude={"title", "notes", "tasks"})
        return hashlib.sha256(content.encode()).hexdigest()

    def reference_of(
        self, categories: Sequence[str]
    ) -> list[float] | Literal["group-mean"] | None:
        """p* in the order of the categories; None for a uniform one."""
        if isinstance(self.reference, dict):
            return [self.reference[c] for c in categories]
        return self.reference

    @property
    def fields(self) -> tuple[str, ...]:
        """Every field that it names, without those that `parts` makes."""
        texts = [
            self.group,
            self.context,
            self.text,
            self.category,
            self.answer,
            self.model,
        ]
        texts += [self.axis, self.edit, self.score, *self.labels.values()]
        texts += [str(m) for ms in self.categories.values() for m in ms]
        texts += [str(m) for m in self.left_out]
        named = [name for text in texts for name in _FIELD.findall(text)]
        named += [*self.where, *self.placebo, *self.baseline, *self.parts]
        made = {
            name
            for pattern in self.parts.values()
            for name in re.compile(pattern).groupindex
        }
        return tuple(name for name in dict.fromkeys(named) if name not in made)

    def with_parts(self, fields: Mapping[str, Any], *, where: str) -> dict[str, Any]:
        """The fields and those that `parts` makes of them; of a text that does not fit, empty."""
        found = dict(fields)
        for name, pattern in self.parts.items():
            text = self.written(f"{{{name}}}", fields, where=where)
            try:
                fits = named_parts(pattern, text) or {}
            except ValueError as exc:
                raise SettingsError(
                    f"parts.{name}: {pattern!r}: {exc}; write it without repeats inside of repeats"
                ) from exc
            found |= {
                key: fits.get(key) or "" for key in re.compile(pattern).groupindex
            }
        return found

    def written(self, pattern: str, fields: Mapping[str, Any], *, where: str) -> str:
        """A text of the mapping with the fields of a sample filled in."""
        alone = fields.get(pattern[1:-1])
        if type(alone) is str and pattern[:1] + pattern[-1:] == "{}":
            return alone
        return _FIELD.sub(
            lambda m: ", ".join(_values(m[1], fields, where=where)), pattern
        )

    def matches(
        self, conditions: Mapping[str, str], fields: Mapping[str, Any], *, where: str
    ) -> bool:
        """Whether the fields are as `placebo` or `baseline` says."""
        return bool(conditions) and all(
            fnmatchcase(self.written(f"{{{name}}}", fields, where=where), text)
            for name, text in conditions.items()
        )

    def wants(self, fields: Mapping[str, Any], *, where: str) -> bool:
        """Whether a sample is one of those that it reads."""
        return all(
            _values(name, fields, where=where) == [value]
            for name, value in self.where.items()
        )

    def place(self, fields: Mapping[str, Any], *, where: str) -> SamplePlace:
        """Group and context of a sample; `where` names it in errors."""
        patterns = (
            self.group,
            self.context,
            self.text or self.context,
            *self.labels.values(),
        )
        group, context, text, *labels = (
            self.written(pattern, fields, where=where) for pattern in patterns
        )
        group, text = (self.written_as.get(name, name) for name in (group, text))
        return SamplePlace(group, context, text, tuple(labels))

    def reply_category(self, fields: Mapping[str, Any], *, where: str) -> str | None:
        """The category of a sampled reply; None for one that is left out, or none of them."""
        if self.category:
            category = self.written(self.category, fields, where=where)
            return None if category in map(str, self.left_out) else category
        reply = self.written(self.answer or "{completion}", fields, where=where)
        texts = {
            category: tuple(
                t for m in members for t in self._texts(str(m), fields, where=where)
            )
            for category, members in self.categories.items()
        }
        left_out = tuple(
            t for m in self.left_out for t in self._texts(str(m), fields, where=where)
        )
        spellings = [*texts.values(), *([left_out] if left_out else [])]
        if not all(spellings):
            return None  # a category without an answer in this sample
        number = read_choice(
            reply, [s[0] for s in spellings], spellings=[s[1:] for s in spellings]
        )
        return list(texts)[number] if 0 <= number < len(texts) else None

    def _texts(
        self, pattern: str, fields: Mapping[str, Any], *, where: str
    ) -> list[str]:
        """As `written`; a field alone that is a list stands for each of its texts."""
        if alone := _FIELD.fullmatch(pattern):
            return _values(alone[1], fields, where=where)
        return [self.written(pattern, fields, where=where)]

    def category_of(
        self,
        answer: str,
        position: int | None,
        fields: Mapping[str, Any],
        *,
        where: str,
    ) -> str | None:
        """The category that an answer counts for; None for those that are left out."""

        def counts(members: Sequence[str | int]) -> bool:
            return any(
                member == position
                if isinstance(member, int)
                else answer.strip()
                in map(str.strip, self._texts(member, fields, where=where))
                for member in members
            )

        if counts(self.left_out):
            return None
        for category, members in self.categories.items():
            if counts(members):
                return category
        raise TableError(
            f"{where}: the answer {brief(answer)!r} is in no category of the mapping "
            f"{self.name!r}; add it to one, or to left_out"
        )


@dataclass(frozen=True)
class SamplePlace:
    """Where a sample belongs: its group and its context, with what is said of the context.

    labels   in the order in which the mapping names them
    """

    group: str
    context: str
    text: str
    labels: tuple[str, ...] = ()


def ready_mappings() -> tuple[str, ...]:
    """The names of the mappings that come with the package.

    >>> ready_mappings()[:3]
    ('bbq', 'crows_pairs', 'discrim_eval')
    """
    return tuple(sorted(path.stem for path in READY.glob("*.toml")))


def load_mapping(
    name_or_path: str, changes: Mapping[str, str] | None = None
) -> SampleMapping:
    """A ready mapping by name, or your own by the path of its .toml file; with `changes`."""
    path, shown = Path(name_or_path), name_or_path
    if name_or_path in ready_mappings():
        shown = f"{name_or_path}.toml"
        path = READY / shown
    elif path.suffix != ".toml":
        raise SettingsError(
            f"mapping: expected one of {', '.join(ready_mappings())}, or the path of a .toml file; "
            f"found {name_or_path!r}{closest(name_or_path, ready_mappings())}"
        )
    text = read_text(
        path, shown=shown, kind=".toml", error=SettingsError, most=MOST_RECORD
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
        raise SettingsError(f"{shown}: {problem}") from exc
    except ValueError as exc:
        raise SettingsError(f"{shown}: not valid TOML: {exc}") from exc


def mapping_for(task: str) -> SampleMapping:
    """The ready mapping that is meant for a task."""
    for mapping in map(load_mapping, ready_mappings()):
        if any(fnmatchcase(task, pattern) for pattern in mapping.tasks):
            return mapping
    raise SettingsError(
        f"mapping: none of {', '.join(ready_mappings())} is meant for the task {task!r}; give one "
        "of them, or your own file, with --mapping (docs/bridges.md)"
    )


def _values(name: str, fields: Mapping[str, Any], *, where: str) -> list[str]:
    value: Any = fields
    for part in name.split("."):
        if not isinstance(value, Mapping) or part not in value:
            known = ", ".join(list(fields)[:_SHOWN])
            raise TableError(
                f"{where}: expected the field {name!r}, which the mapping names; found {known}"
                f"{closest(name, fields)}"
            )
        value = value[part]
    several = value if isinstance(value, list) else [value]
    if any(v is None or isinstance(v, dict | list) for v in several):
        raise TableError(
            f"{where}: expected a text or a number in {name!r}, found {value!r}"
        )
    return [str(v) for v in several]
