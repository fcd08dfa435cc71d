"""A model's answer counts only when it added blanks and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clinometer.reliability.blanks import accept, with_blanks
from clinometer.reliability.statement import Blanks, Refused, find_term

TEXT = "The well-known poor don't save money, they say."


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("The ____ nurse is tired ____.", "The ___ nurse is tired ___."),
        ('"The __ nurse is tired."', "The ___ nurse is tired."),
        ("The nurse is tired. ____", "The nurse is tired ___."),
        ("____ The nurse is tired.", "___ The nurse is tired."),
        ("The ____ ____ nurse is tired.", "The ___ nurse is tired."),
        ("The nurse  is tired____.", "The nurse is tired ___."),
    ],
)
def test_blanks_are_carried_over(answer: str, kept: str) -> None:
    assert accept(answer, "The nurse is tired.") == kept


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("", "empty"),
        ("The well-known poor don't save money, they say.", "no_blank"),
        ("The well-known poor don't save ____ cash, they say.", "text_changed"),
        ("The well-known poor don't save ____ money", "text_changed"),
        ("the well-known poor don't save ____ money, they say.", "text_changed"),
        ("The well-known poor do ____ n't save money, they say.", "inside_a_word"),
        ("The well ____ -known poor don't save money, they say.", "inside_a_word"),
        ("The well-known ____ poor don't save money, they say.", "inside_a_target"),
        ("Sure! The well-known poor don't save ____ money, they say.", "text_changed"),
    ],
)
def test_anything_else_is_refused_by_name(answer: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        accept(answer, TEXT, find_term(TEXT, "well-known poor"))
    assert refused.value.reason == reason


@given(st.data())
def test_written_blanks_are_accepted_and_leave_the_text_unchanged(data: st.DataObject) -> None:
    words = data.draw(st.lists(st.sampled_from(["the", "poor", "don't", "say"]), min_size=1))
    text = " ".join(words) + data.draw(st.sampled_from(["", ".", "?!"]))
    starts = [i for i in range(len(text)) if text[i].isalnum() and (i == 0 or text[i - 1] == " ")]
    end = len(text.rstrip(".?!"))
    places = data.draw(st.sets(st.sampled_from([*starts, end]), min_size=1))
    points = with_blanks(text, places)
    assert Blanks.parse(points).plain == text
    assert len(Blanks.parse(points)) == len(places)
    assert accept(points, text) == points
