from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest

from clinometer.readouts import option_orders


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
