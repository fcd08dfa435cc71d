from __future__ import annotations

import pytest

from clinometer.readouts import EMPTY, OTHER, REFUSAL, spoken
from clinometer.readouts.readers import unread


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("<think>\nhm\n</think>\n\nYes", "Yes"),
        ("hm</think> Yes", "Yes"),
        ("[THINK]hm[/THINK]No", "No"),
        ("<|channel|>analysis<|message|>hm<|end|><|channel|>final<|message|>B<|return|>", "B"),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("Yes <think>and so", "Yes"),
        ("<think>and so", ""),
        ("I think so", "I think so"),
    ],
)
def test_thinking_is_not_the_reply(reply: str, expected: str) -> None:
    assert spoken(reply) == expected


def test_what_is_no_category_is_told_apart() -> None:
    said = ["", " … ", "I cannot answer that", "As a language model, I", "Bananas"]
    assert [unread(reply) for reply in said] == [EMPTY, EMPTY, REFUSAL, REFUSAL, OTHER]
