"""Facts as topics: subjects are groups, possible answers are categories, paraphrases contexts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from clinometer.contexts import ContextSet
from clinometer.errors import TopicError
from clinometer.measure import Preferences
from clinometer.storage.untrusted import MOST_RECORD, parse_toml, read_bytes
from clinometer.topics import Group, Topic


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid")
    answer: str
    distractors: list[str] = []


class _Relation(BaseModel):
    model_config = ConfigDict(extra="forbid")
    title: str = ""
    paraphrases: list[str] = Field(min_length=1)
    facts: dict[str, str | _Answer] = Field(min_length=2)


@dataclass(frozen=True)
class Relation:
    """Questions of one kind.

    answers      subject -> the right answer
    distractors  subject -> its own wrong answers; the other subjects' answers count as well
    """

    name: str
    title: str
    paraphrases: tuple[str, ...]
    answers: Mapping[str, str]
    distractors: Mapping[str, tuple[str, ...]]

    @property
    def topic(self) -> Topic:
        words = dict.fromkeys(self.answers.values())
        words |= dict.fromkeys(w for own in self.distractors.values() for w in own)
        return Topic(
            self.name,
            groups=tuple(Group(subject) for subject in self.answers),
            attributes={w: (w,) for w in words},
            title=self.title,
        )

    @property
    def contexts(self) -> ContextSet:
        return ContextSet(self.name, self.paraphrases, [1.0] * len(self.paraphrases))

    def offered(self, preferences: Preferences) -> NDArray[np.float64]:
        """[X,C,Y]: p among the answers that each subject was offered; 0 for all others.

        Distractors of one subject are not answers of another; p is renormalised over the rest.
        """
        own = {w for words in self.distractors.values() for w in words}
        own -= set(self.answers.values())
        kept = np.array(
            [
                [w not in own or w in self.distractors.get(g, ()) for w in preferences.categories]
                for g in preferences.groups
            ]
        )
        p = preferences.values * kept[:, None, :]
        total = p.sum(axis=2, keepdims=True)
        return np.asarray(p / np.where(total > 0, total, np.nan))

    def right(self, preferences: Preferences) -> NDArray[np.intp]:
        """[X]: the index of the right answer."""
        places = [preferences.categories.index(self.answers[g]) for g in preferences.groups]
        return np.array(places, dtype=np.intp)


def builtin_facts() -> tuple[Relation, ...]:
    """Capitals, authors, elements.

    >>> [(r.name, len(r.answers)) for r in builtin_facts()]
    [('capitals', 12), ('authors', 10), ('elements', 12)]
    """
    text = (files("clinometer.studies") / "data" / "facts.toml").read_text("utf-8")
    return _relations(text, "facts.toml")


def read_facts(path: str | Path) -> tuple[Relation, ...]:
    """Read your own file, in the format of the built-in one."""
    try:
        text = read_bytes(Path(path), most=MOST_RECORD).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise TopicError(f"facts {str(path)!r}: cannot be read: {error}") from error
    return _relations(text, str(path))


def _relations(text: str, where: str) -> tuple[Relation, ...]:
    try:
        plain = TypeAdapter(dict[str, _Relation]).validate_python(parse_toml(text))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise TopicError(f"facts {where}: {place}: {first['msg']}") from error
    except ValueError as error:
        raise TopicError(f"facts {where}: {error}") from error
    if not plain:
        raise TopicError(f"facts {where}: expected at least one relation, found none")
    return tuple(_relation(name, given) for name, given in plain.items())


def _relation(name: str, given: _Relation) -> Relation:
    full = {s: a if isinstance(a, _Answer) else _Answer(answer=a) for s, a in given.facts.items()}
    return Relation(
        name,
        given.title or name,
        tuple(given.paraphrases),
        {s: a.answer for s, a in full.items()},
        {s: tuple(a.distractors) for s, a in full.items() if a.distractors},
    )
