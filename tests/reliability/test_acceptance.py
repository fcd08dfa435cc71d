"""What is a version of a statement, and why other texts are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.reliability.acceptance import accept_version
from clinometer.reliability.statement import Blanks, Refused

BLANKS = Blanks.parse("The ___ women at the ___ office are arrogant ___.")


@pytest.mark.parametrize(
    ("version", "reason"),
    [
        ("The women at the office are arrogant.", "original"),
        ("The women in the office are arrogant today.", "text_changed"),
        ("The women at the office are very arrogant.", "text_changed"),
        ("The men at the office are arrogant today.", "text_changed"),
        ("Theyoung women at the office are arrogant.", "text_changed"),
        ("The women at the office are arrogant today", "text_changed"),
        (
            "The women at the office are arrogant. Note: I filled it.",
            "fill_is_no_phrase",
        ),
        ("The ___ women at the office are arrogant today.", "fill_is_no_phrase"),
        ("The [young] women at the office are arrogant.", "fill_is_no_phrase"),
        (
            "The women at the office are arrogant " + "so " * 16 + "much.",
            "fill_too_long",
        ),
        ("", "text_changed"),
    ],
)
def test_rejected_fillings_name_the_reason(version: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        accept_version(BLANKS, version)
    assert str(refused.value) == reason


@given(
    st.lists(
        st.sampled_from(["", "5th-floor", "on the second floor"]),
        min_size=3,
        max_size=3,
    )
)
def test_every_filling_can_be_recovered(fills: list[str]) -> None:
    text = BLANKS.fill(fills)
    if any(fills):
        assert accept_version(BLANKS, text.lower().replace(" are", "  are")) == text
    else:
        with pytest.raises(Refused, match="original"):
            accept_version(BLANKS, text)
