"""What a reply says: without thinking, and of a long one the beginning."""

from __future__ import annotations

import pytest

from clinometer.readouts.reply import LONGEST, answer, spoken


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("[THINK]\nhm\n[/THINK]\n\nNo", "No"),
        (
            "<|channel|>analysis<|message|>hm<|end|><|channel|>final<|message|>B<|return|>",
            "B",
        ),
        ("<think>a</think>b<think>c</think>d", "d"),
        ("Yes <think>and so", "Yes"),
        ("I think so", "I think so"),
    ],
)
def test_thinking_is_not_the_reply(reply: str, expected: str) -> None:
    assert spoken(reply) == expected


def test_a_reply_as_long_as_the_longest_request_is_read_to_its_end() -> None:
    """The longest reply that a topic may ask for has 100,000 tokens; most have one character or
    more."""
    reply = "word " * 19_999 + "72"
    assert answer(reply, "").endswith("72")
    assert len(answer("x" * 2 * LONGEST, "")) == LONGEST
