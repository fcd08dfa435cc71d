"""The progress of an annotator, against a plain list of what was answered."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from clinometer.web.annotation.store import Standing, Store
from clinometer.web.annotation.task import Item, Task

ITEMS = 7


@pytest.mark.parametrize("seed", range(3))
def test_standing_is_what_a_list_of_answers_says(seed: int, database: Path) -> None:
    store = Store(database, Task("t", "rating", tuple(Item(f"i{n}", "x") for n in range(ITEMS))))
    person, other = store.annotators(2)
    for one in (person, other):
        store.begin(one)
    store.judge(other, 3, "1")  # must not count
    rng = random.Random(seed)  # noqa: S311
    answered: list[int] = []
    for step in range(40):
        place = rng.randrange(ITEMS) if seed else step % ITEMS
        if rng.random() < 0.25:
            store.undo(person, place)
        else:
            store.judge(person, place, "2")
        answered = [p for p in answered if p != place]
        if store.answer(person, place) is not None:
            answered.append(place)
        unanswered = [p for p in range(ITEMS) if p not in answered]
        last = answered[-1] if answered else None
        expected = Standing(len(answered), unanswered[0] if unanswered else None, last)
        assert store.standing(person) == expected
    store.close()
