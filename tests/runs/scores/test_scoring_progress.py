"""Progress of hosted and chat audits: replies that have come count as parts of cells."""

from __future__ import annotations

from clinometer.runs.scores.scoring import Moving


def test_progress_moves_with_every_cell_that_is_answered_and_never_back() -> None:
    seen: list[tuple[int, int]] = []
    moving = Moving(lambda done, total: seen.append((done, total)), 10, 3)
    moving(10, 100)
    for _ in range(7):
        moving.heard()
    moving(11, 100)  # a block of one cell is stored while others are on their way
    moving(26, 100)
    assert seen == [(10, 100), (11, 100), (12, 100), (12, 100), (26, 100)]
