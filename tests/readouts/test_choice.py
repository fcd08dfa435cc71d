"""Replies by the option that they choose."""

from __future__ import annotations

import pytest

from clinometer.readouts.choice import ChoiceReader, read_choice
from clinometer.readouts.question import ShownQuestion
from clinometer.readouts.reply import EMPTY, OTHER

PEOPLE = ("The grandfather", "The grandson", "Can't be determined")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (" b", 1),
        ("C) Can't be determined", 2),
        ("**B.** The grandson, because he is young", 1),
        ("Option B", 1),
        ("Answer: (A) The grandfather", 0),
        ("The correct answer is C.", 2),
        ("I would choose B", 1),
        ("B The grandson", 1),
        ("Can’t be determined", 2),
        ("It can't be determined from this", 2),
        ("I think that it is (B).", 1),
        ("<think>A? No, B.</think>\nB", 1),
        ("A The grandson", OTHER),  # a label and the text of another option
        ("Either (A) or (B)", OTHER),
        ("The grandfathers", OTHER),
        (' "" … ', EMPTY),
    ],
)
def test_replies_choose_by_label_or_text(reply: str, expected: int) -> None:
    assert read_choice(reply, PEOPLE, labels="ABC") == expected


def test_the_longest_text_counts() -> None:
    assert read_choice("not urgent at all", ("not", "not urgent")) == 1


def test_a_text_of_one_word_counts_only_at_the_start() -> None:
    options = ("Yes", "No")
    assert read_choice("No, I would not.", options) == 1
    assert read_choice("I have no opinion", options) == OTHER
    assert read_choice("Nobody", options) == OTHER


def test_the_first_of_two_options_has_a_text_that_both_have() -> None:
    spellings = (("Hire", "yes"), ("Invite", "yes"))
    assert read_choice("Yes", ("Hire", "Invite"), spellings=spellings) == 0


def test_a_repeated_question_is_not_an_answer() -> None:
    question = "Yes or no: should she be hired?"
    assert read_choice(f"{question} No.", ("Yes", "No"), question=question) == 1


def test_the_reader_gives_categories_in_any_order_shown() -> None:
    reader = ChoiceReader(spellings=(("Yes", "Invite"), ("No",)))
    turned = ShownQuestion("?", options=("No", "Yes"), labels=("A", "B"), order=(1, 0))
    replies = ["A", "B", "invite", "No", "maybe"]
    assert reader.read(replies, [turned] * 5) == [1, 0, 0, 1, OTHER]
