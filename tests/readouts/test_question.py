"""Questions as prompts show them: labels, orders, and the answers that a model would write."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from clinometer.readouts.question import lay_out, option_orders, with_order

OPTIONS = {"now": ["Now", "at once"], "soon": ["Soon"], "late": ["Late"]}


def test_labels_follow_the_order_shown_and_answers_the_categories() -> None:
    shown = lay_out("When? [options: late, now, soon] Answer:", OPTIONS, "numbers")
    assert shown.text == "When?\n1) Late\n2) Now\n3) Soon\nAnswer:"
    assert shown.options == ("Late", "Now", "Soon")
    assert shown.order == (2, 0, 1)
    assert shown.answers == ("2", "", "3", "1")  # Now, at once, Soon, Late


def test_options_without_labels_stand_in_the_sentence() -> None:
    shown = lay_out("When: [options]?", OPTIONS, "none")
    assert shown.text == "When: Now, Soon or Late?"
    assert shown.labels == ()


def test_an_order_that_is_written_out_is_replaced() -> None:
    assert with_order("A [options: x, y] b", ["y", "x"]) == "A [options: y, x] b"


@pytest.mark.parametrize("n", [4, 5, 6, 7, 10])
def test_many_options_are_balanced_by_position_and_by_neighbour(n: int) -> None:
    orders = option_orders(n)
    assert all(sorted(order) == list(range(n)) for order in orders)
    positions = Counter(
        (item, place) for order in orders for place, item in enumerate(order)
    )
    neighbours = Counter(pair for order in orders for pair in pairwise(order))
    assert len(positions) == n * n
    assert len(set(positions.values())) == 1
    assert len(neighbours) == n * (n - 1)
    assert len(set(neighbours.values())) == 1


@pytest.mark.parametrize(("n", "factorial"), [(1, 1), (2, 2), (3, 6)])
def test_few_options_are_shown_in_every_order(n: int, factorial: int) -> None:
    assert len(set(option_orders(n))) == factorial


def test_three_options_are_shown_in_the_order_of_the_alphabet_first() -> None:
    """Folders of earlier runs number their contexts by this order."""
    assert option_orders(3)[:3] == ((0, 1, 2), (0, 2, 1), (1, 0, 2))
