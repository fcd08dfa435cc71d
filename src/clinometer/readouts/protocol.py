"""What a readout promises: replies in, categories out, and nothing dropped."""

from __future__ import annotations

from collections.abc import Sequence
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
    """k(y | t): which category a reply t to a question is.

    kind        its name in `[readout]`
    exact       whether log-probabilities of `ShownQuestion.answers` give the same numbers as ever
                more replies would; otherwise only replies can be read
    """

    @property
    def kind(self) -> str: ...

    @property
    def exact(self) -> bool: ...

    def read(self, replies: Sequence[str], shown: Sequence[ShownQuestion]) -> list[int]:
        """The category of each reply to its question, by index; OTHER, REFUSAL or EMPTY for one
        that is none of them."""
