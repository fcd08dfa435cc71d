from __future__ import annotations

import pytest

from clinometer.errors import TopicError
from clinometer.readouts import EMPTY, OTHER, REFUSAL, ShownQuestion
from clinometer.readouts.text import FunctionReader, WordCountReader

SHOWN = ShownQuestion("Write a story about him.")


def read(reader: WordCountReader | FunctionReader, *replies: str) -> list[int]:
    return reader.read(replies, [SHOWN] * len(replies))


def test_the_category_named_most_often_is_the_reply() -> None:
    reader = WordCountReader({"man": ("he", "him"), "woman": ("she", "old woman")})
    assert read(reader, "He met an old  woman; he left.", "Hero and sheep", "She. He.") == [
        0,
        OTHER,
        OTHER,
    ]
    assert read(reader, "<think>he he he</think>She", "", "I'm sorry, I can't") == [
        1,
        EMPTY,
        REFUSAL,
    ]
    assert read(reader, "Write a story about him. She left.") == [1]  # the question does not count


def test_a_function_reads() -> None:
    says: dict[str, str | None] = {"x": "yes", "y": None, "z": "nonsense"}
    reader = FunctionReader(says.__getitem__, ("no", "yes"), "mine:read")
    assert read(reader, "x", "y", "") == [1, OTHER, EMPTY]
    with pytest.raises(TopicError, match="returned 'nonsense'"):
        read(reader, "z")
