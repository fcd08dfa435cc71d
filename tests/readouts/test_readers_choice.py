from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from clinometer.readouts import (
    EMPTY,
    OTHER,
    REFUSAL,
    ChoiceReader,
    ShownQuestion,
    option_orders,
    read_choice,
)
from clinometer.readouts.readers import lay_out, with_order

PEOPLE = ("The grandfather", "The grandson", "Can't be determined")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("A", 0),
        (" b", 1),
        ("(C)", 2),
        ("C) Can't be determined", 2),
        ("**B.** The grandson, because he is young", 1),
        ("Option B", 1),
        ("Answer: (A) The grandfather", 0),
        ("The correct answer is C.", 2),
        ("I would choose B", 1),
        ("B The grandson", 1),
        ("the grandfather", 0),
        ("Grandson.", 1),
        ("Can’t be determined", 2),
        ("It can't be determined from this", 2),
        ("I think that it is (B).", 1),
        ("<think>A? No, B.</think>\nB", 1),
        ("A good question", OTHER),
        ("A The grandson", OTHER),  # a label and the text of another option
        ("Either (A) or (B)", OTHER),
        ("The grandfathers", OTHER),
        ("I'm sorry, but I can't help", REFUSAL),
        ("<think>Let me see", EMPTY),
        (' "" ', EMPTY),
    ],
)
def test_replies_choose_by_label_or_text(reply: str, expected: int) -> None:
    assert read_choice(reply, PEOPLE, labels="ABC") == expected


def test_short_texts_count_only_at_the_start() -> None:
    options = ("Yes", "No")
    assert read_choice("No, I would not.", options) == 1
    assert read_choice("I have no opinion", options) == OTHER
    assert read_choice("Nobody", options) == OTHER


def test_a_repeated_question_is_not_an_answer() -> None:
    question = "Yes or no: should she be hired?"
    assert read_choice(f"{question} No.", ("Yes", "No"), question=question) == 1


def test_the_longest_text_counts() -> None:
    assert read_choice("not urgent at all", ("not", "not urgent")) == 1


def test_the_reader_gives_categories_in_any_order_shown() -> None:
    reader = ChoiceReader(spellings=(("Yes", "Invite"), ("No",)))
    turned = ShownQuestion("?", options=("No", "Yes"), labels=("A", "B"), order=(1, 0))
    assert reader.read(["A", "B", "invite", "No", "maybe"], [turned] * 5) == [1, 0, 0, 1, OTHER]


OPTIONS = {"now": ["Now", "at once"], "soon": ["Soon"], "late": ["Late"]}


def test_labels_follow_the_order_shown_and_answers_the_categories() -> None:
    shown = lay_out("When? [options: late, now, soon] Answer:", OPTIONS, "numbers")
    assert shown.text == "When?\n1) Late\n2) Now\n3) Soon\nAnswer:"
    assert shown.options == ("Late", "Now", "Soon")
    assert shown.order == (2, 0, 1)
    assert shown.answers == ("2", "", "3", "1")  # Now, at once, Soon, Late


def test_without_labels_options_are_named_in_the_sentence() -> None:
    shown = lay_out("When: [options]?", OPTIONS, "none")
    assert shown.text == "When: Now, Soon or Late?"
    assert shown.labels == ()


def test_an_order_can_be_written_out_again() -> None:
    once = with_order("A [options] b", ["x", "y"])
    assert with_order(once, ["y", "x"]) == "A [options: y, x] b"


def test_few_options_are_shown_in_every_order() -> None:
    assert [len(set(option_orders(n))) for n in (1, 2, 3)] == [1, 2, 6]


@pytest.mark.parametrize("n", [4, 5, 6, 7, 10])
def test_many_options_are_balanced_by_position_and_by_neighbour(n: int) -> None:
    orders = option_orders(n)
    assert all(sorted(order) == list(range(n)) for order in orders)
    positions = Counter((item, place) for order in orders for place, item in enumerate(order))
    neighbours = Counter(pair for order in orders for pair in pairwise(order))
    assert len(positions) == n * n
    assert len(set(positions.values())) == 1
    assert len(neighbours) == n * (n - 1)
    assert len(set(neighbours.values())) == 1
