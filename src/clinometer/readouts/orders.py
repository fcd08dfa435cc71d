"""In which orders options are shown."""

from __future__ import annotations

from itertools import permutations

#: Up to this many options, every order is shown.
MOST_WHOLE = 3


def option_orders(n: int) -> tuple[tuple[int, ...], ...]:
    """All orders of up to three options; beyond, few orders that are balanced.

    Balanced (a Williams design): every option stands equally often at every position, and equally
    often right after every other. These are n orders for an even n, and 2n for an odd one.

    >>> option_orders(2)
    ((0, 1), (1, 0))
    >>> option_orders(4)
    ((0, 3, 1, 2), (1, 0, 2, 3), (2, 1, 3, 0), (3, 2, 0, 1))
    >>> len(option_orders(3)), len(option_orders(5))
    (6, 10)
    """
    if n <= MOST_WHOLE:
        return tuple(permutations(range(n)))
    zigzag = [0]
    low, high = 1, n - 1
    while low <= high:
        zigzag.append(high)
        if low < high:
            zigzag.append(low)
        low, high = low + 1, high - 1
    rows = [tuple((item + shift) % n for item in zigzag) for shift in range(n)]
    return tuple(rows if n % 2 == 0 else [*rows, *(row[::-1] for row in rows)])
