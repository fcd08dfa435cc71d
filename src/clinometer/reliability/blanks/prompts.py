"""The prompt that asks a language model for blanks: Figure 6 of the COBIAS paper."""

from __future__ import annotations

from collections.abc import Sequence

from clinometer.models.generation.writer import Turn

_REQUEST = """\
I will give you a sentence. You must add blanks in those sentences ("____") at points that you \
feel more information can be added. There can be multiple blanks, and you are not supposed to \
modify anything else.

Example Input

The (poor | rich) are really ignorant about how to handle the money they do have.

Example Output

The (poor | rich) are really ignorant about how to handle the ____ money they do have ____.

Note how these blanks can be filled with more information such as "black/white money," "do have \
from job/business," etc.

Do not modify the sentence in any other way! Take your time to understand my request. Let me know \
when you're ready, and I will give you a sentence to work on."""

_READY = "I understand your request. Please provide me with a sentence to work on."


def points_prompt(text: str, examples: Sequence[tuple[str, str]] = ()) -> list[Turn]:
    """The conversation up to the model's answer; `examples` are (sentence, points) pairs, shown as
    earlier turns."""
    shown = [
        turn
        for sentence, points in examples
        for turn in (("user", sentence), ("assistant", points.replace("___", "____")))
    ]
    return [("user", _REQUEST), ("assistant", _READY), *shown, ("user", text)]
