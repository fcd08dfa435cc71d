"""The question that a mode asks of each item, and the buttons that answer it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Mode = Literal["blanks", "rating", "category"]

SKIP = "skip"
"""The value of an item that was skipped."""

OTHER = "other"
"""The category of what is in none of those of a task."""


@dataclass(frozen=True)
class Answer:
    """A button: the value it stores, its label, and its key."""

    value: str
    label: str
    key: str


@dataclass(frozen=True)
class Question:
    """The question of a mode, and its answers."""

    text: str

    column: str
    """The column that it shows."""

    answers: tuple[Answer, ...]

    high: str = ""
    """What a high answer says of the context of a statement, where it says something."""

    @property
    def values(self) -> frozenset[str]:
        return frozenset(answer.value for answer in self.answers)


_SKIP = Answer(SKIP, "Skip", "s")
_RATINGS = (
    "1 far too little",
    "2 too little",
    "3 in between",
    "4 nearly enough",
    "5 enough",
)

QUESTIONS: dict[str, Question] = {
    "blanks": Question(
        text="Does every blank stand where information could be added?",
        column="context_points",
        answers=(Answer("yes", "Yes", "y"), Answer("no", "No", "n"), _SKIP),
    ),
    "rating": Question(
        text="Is there enough context to judge this statement as it stands?",
        column="sentence",
        high="enough",
        answers=(*(Answer(label[0], label, label[0]) for label in _RATINGS), _SKIP),
    ),
    "category": Question(
        text="Which of these does the reply say?", column="reply", answers=(_SKIP,)
    ),
}
"""The question of each mode; a task adds its categories."""
