"""Single answers that show a reader what the numbers consist of: sentences with their words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clinometer.display.numbers import percent
from clinometer.display.text import brief
from clinometer.report.cell_statistics import CellStatistics, sentence
from clinometer.runs import Run
from clinometer.runs.folder.recover import cell_words
from clinometer.runs.nouns import asks, from_group, group_name, question_of
from clinometer.topics.conversation import CASE

_ROOM, _ROOM_ASKED = 90, 118  # characters before the word: two lines of the first screen
_SWING = "leans one way in one, the other way in the other: swing"
_SWING_ASKED = "below the mean in one, above it in the other: swing"


@dataclass(frozen=True)
class Example:
    """One answer.

    why            why it was chosen
    before, after  the sentence around the word
    word           the likeliest word of the favoured category; "" where words are not stored
    shares         the share of each category's words
    favoured       index of the favoured category
    second         the sentence that goes the other way, of an example of swing
    carried        how much of the probability its words carry; None where that is unknown
    asked          whether it is a question or a case, and `word` the likelier answer
    score          on a scale: the answer, and how far up the scale it and the mean are
    """

    group: str
    context: str
    why: str
    before: str
    after: str
    word: str
    shares: tuple[float, ...]
    favoured: int
    second: Example | None = None
    carried: float | None = None
    asked: bool = False
    score: tuple[str, float, float] | None = None

    @property
    def room(self) -> int:
        """How much of `before` is shown, in characters."""
        return _ROOM_ASKED if self.asked else _ROOM

    @property
    def way(self) -> int:
        """The category of `word`: for a question the likelier one, which need not be favoured."""
        return int(np.argmax(self.shares)) if self.asked else self.favoured


def pick_examples(cells: CellStatistics) -> list[Example]:
    """The strongest answer, the strongest the other way, and the group that swings most; none of
    them twice."""
    run, p, trusted = cells.run, cells.run.preferences, cells.trusted
    if np.isnan(trusted).all() or np.nanmax(trusted) <= 0:
        return []
    way = int(cells.favoured[_top(trusted)])
    other = np.where(cells.favoured != way, trusted, np.nan)
    n = int((~np.isnan(trusted)).sum())
    candidates = [
        (f"strongest answer of {n:,}", trusted),
        ("strongest the other way" if len(p.categories) == 2 else "strongest another way", other),
    ]
    used: list[tuple[int, int]] = []
    examples = []
    for why, values in candidates:
        cell = _top(_without(values, used))
        if cell is not None:
            used.append(cell)
            examples.append(example(run, *cell, why=why))
    swing = _swing(run, trusted)
    return [*examples, swing] if swing else examples


def top_examples(cells: CellStatistics, n: int = 20) -> list[Example]:
    """The answers with the largest share of the risk, each sentence once."""
    part = cells.risk_parts
    total = float(part.sum())
    examples = []
    for x, c in cells.one_a_sentence(cells.heaviest(10 * n), n):
        share = "" if is_answered(cells.run) else f"{100 * part[x, c] / total:.2g} % of R"
        examples.append(example(cells.run, x, c, why=share))
    return examples


def example(run: Run, x: int, c: int, *, why: str = "") -> Example:
    """A cell as an example."""
    p = run.preferences
    shares = tuple(float(v) for v in p.values[x, c])
    reference = np.broadcast_to(p.grid.reference, p.values.shape)[x, c]
    favoured = int(np.argmax(np.asarray(shares) - reference))
    before, after = sentence(run, x, c)
    asked, score = is_answered(run), None
    if points := run.risks.criterion.points:
        mark, mean = (float(v @ np.array(points)) for v in (np.asarray(shares), reference))
        up, middle = ((v - points[0]) / (points[-1] - points[0]) for v in (mark, mean))
        score = (f"{mark:.1f}", up, middle)
    if asked:
        before = question_of(from_group(before, group_name(run, p.groups[x])))
        if CASE in p.labels:  # a whole prompt is too long to show
            before = f"Case {p.labels[CASE][c]}, {group_name(run, p.groups[x])}: "
        # With the group, whose name may be cut off above, and its share beside the mean.
        usual, answer = percent(float(reference[favoured])), brief(p.categories[favoured], 24)
        answer = f"{answer} {percent(shares[favoured])}"
        if score is not None:
            usual, answer = f"{mean:.1f}", f"{score[0]} of {points[0]:g} to {points[-1]:g}"
        beside = f", mean {usual}" if _from_mean(run) else ""
        why = " · ".join(filter(None, (f"{brief(p.groups[x], 40)}: {answer}{beside}", why)))
    answer_cell = Example(
        p.groups[x],
        p.contexts[c],
        why,
        before,
        after,
        "",
        shares,
        favoured,
        carried=None if p.coverage is None or asked else float(p.coverage[x, c]),
        asked=asked,
        score=score,
    )
    name = p.categories[answer_cell.way]
    words = cell_words(run, x, c)
    word = next((w.word for w in words if name in w.categories and w.probability > 0), "")
    return replace(answer_cell, word=word)


def is_answered(run: Run) -> bool:
    """Whether cells are answers to questions or cases, and not words in a sentence."""
    return asks(run) or run.record.components is not None or bool(run.risks.criterion.points)


def _swing(run: Run, strength: np.ndarray) -> Example | None:
    """The group whose answers change side most, in the two sentences furthest apart."""
    order = np.argsort(-np.nan_to_num(run.risks.r_volatility, nan=-np.inf), kind="stable")
    for x in order[:40]:
        contexts = np.flatnonzero(~np.isnan(strength[x]))
        if contexts.size < 2:
            continue
        values = run.preferences.values[x, contexts]
        y = int(np.argmax(values.max(axis=0) - values.min(axis=0)))
        low, high = contexts[int(values[:, y].argmin())], contexts[int(values[:, y].argmax())]
        a, b = example(run, int(x), int(low)), example(run, int(x), int(high))
        if a.favoured != b.favoured:
            why = _SWING_ASKED if _from_mean(run) else _SWING
            return replace(a, why=f"{a.group}: {why}" if a.asked else why, second=b)
    return None


def _from_mean(run: Run) -> bool:
    """Whether the reference is the mean of the groups."""
    return isinstance(run.preferences.reference, str)


def _top(values: np.ndarray) -> tuple[int, int] | None:
    if np.isnan(values).all():
        return None
    x, c = np.unravel_index(int(np.nanargmax(values)), values.shape)
    return int(x), int(c)


def _without(values: np.ndarray, used: Sequence[tuple[int, int]]) -> np.ndarray:
    """Values without the groups already shown, so that the examples differ."""
    left = values.copy()
    for x, _ in used:
        left[x] = np.nan
    return left
