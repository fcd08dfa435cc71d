"""Single answers that show a reader what the numbers consist of: sentences with their words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from clinometer.errors import ClinometerError
from clinometer.report.derived import Reading
from clinometer.report.summary.decisions import (
    asks,
    example_reason,
    from_group,
    group_text,
    question_of,
)
from clinometer.report.summary.leans import Leans
from clinometer.runs import Run
from clinometer.runs.folder.recover import cell_prompt, cell_words

_ASKED = 10  # contexts whose words are considered for a headline
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
    asked          whether it is a question, and `word` the likelier answer
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
    faint: bool = False
    asked: bool = False

    @property
    def room(self) -> int:
        """How much of `before` is shown, in characters."""
        return _ROOM_ASKED if self.asked else _ROOM

    @property
    def way(self) -> int:
        """The category of `word`: for a question the likelier one, which need not be favoured."""
        return int(np.argmax(self.shares)) if self.asked else self.favoured


def pick_examples(reading: Reading, leans: Leans) -> list[Example]:
    """The strongest answer, the largest share of the risk, the strongest the other way, and the
    group that swings most; none of them twice.

    Answers whose words carry hardly any probability are noise: they come last.
    """
    run, p = reading.run, reading.run.preferences
    strength = np.where(reading.cell_weights > 0, reading.strength, np.nan)
    if np.isnan(strength).all() or np.nanmax(strength) <= 0:
        return []
    good = ~p.low_coverage
    trusted = np.where(good, strength, np.nan)
    if np.isnan(trusted).all():
        trusted = strength
    part = reading.cell_weights * run.risks.group_weights[:, None] * trusted
    first = _top(trusted)
    way = int(reading.favoured[first])
    other = np.where(reading.favoured != way, trusted, np.nan)
    n = int((~np.isnan(strength)).sum())
    wanted = [
        (f"strongest answer of {n:,}", trusted),
        ("largest share of the risk", part),
        ("strongest the other way" if len(p.categories) == 2 else "strongest another way", other),
    ]
    used: list[tuple[int, int]] = []
    found = []
    for why, values in wanted:
        cell = _top(_without(values, used))
        if cell is not None:
            used.append(cell)
            found.append(example(run, *cell, why=why))
    swing = _swing(reading, trusted)
    return [*found, swing] if swing else found


def top_examples(reading: Reading, n: int = 20) -> list[Example]:
    """The answers with the largest share of the risk, each sentence once."""
    run = reading.run
    part = reading.cell_weights * run.risks.group_weights[:, None] * reading.strength
    total = float(np.nansum(part))
    if not total > 0:
        return []
    found: list[Example] = []
    seen: set[str] = set()
    for at in np.argsort(-np.nan_to_num(part), axis=None, kind="stable")[: 10 * n]:
        x, c = (int(i) for i in np.unravel_index(at, part.shape))
        if not part[x, c] > 0 or len(found) == n:
            break
        before, after = sentence(run, x, c)
        if f"{before}_{after}" in seen:
            continue
        seen.add(f"{before}_{after}")
        found.append(example(run, x, c, why=f"{100 * part[x, c] / total:.2g} % of R"))
    return found


def example(run: Run, x: int, c: int, *, why: str = "") -> Example:
    """A cell as an example."""
    p = run.preferences
    shares = tuple(float(v) for v in p.values[x, c])
    reference = _reference(run, x, c)
    favoured = int(np.argmax(np.asarray(shares) - reference))
    before, after = sentence(run, x, c)
    asked = asks(run)
    if asked:
        before = question_of(from_group(before, group_text(run, p.groups[x])))
        mean = float(reference[favoured])
        why = example_reason(run, x, favoured, why, shares[favoured], mean) if why else ""
    found = Example(
        p.groups[x],
        p.contexts[c],
        why,
        before,
        after,
        "",
        shares,
        favoured,
        faint=bool(p.low_coverage[x, c]),
        asked=asked,
    )
    name = p.categories[found.way]
    words = cell_words(run, x, c)
    word = next((w.word for w in words if name in w.categories and w.probability > 0), "")
    return replace(found, word=word)


def likeliest_word(reading: Reading, x: int, y: int) -> str:
    """The word of a category that a group's heaviest contexts make likeliest; "" if not stored."""
    run = reading.run
    name = run.preferences.categories[y]
    total: dict[str, float] = defaultdict(float)
    for c in np.argsort(-reading.cell_weights[x], kind="stable")[:_ASKED]:
        for w in cell_words(run, x, int(c)):
            if name in w.categories:
                total[w.word] += w.probability * float(reading.cell_weights[x, c])
    word = max(total, key=lambda w: total[w], default="")
    return word if total[word] > 0 else ""


def sentence(run: Run, x: int, c: int) -> tuple[str, str]:
    """The text before and after the word."""
    templates = run.preferences.templates or run.preferences.contexts
    try:
        prompt, _ = cell_prompt(run, run.preferences.groups[x], templates[c])
    except ClinometerError:  # contexts of a preferences table need not be templates
        return f"{run.preferences.groups[x]}: {templates[c]}", ""
    return prompt.before + (" " if prompt.space else ""), prompt.after


def _swing(reading: Reading, strength: np.ndarray) -> Example | None:
    """The group whose answers change side most, in the two sentences furthest apart."""
    run = reading.run
    order = np.argsort(-np.nan_to_num(run.risks.r_volatility, nan=-np.inf), kind="stable")
    for x in order[:40]:
        there = np.flatnonzero(~np.isnan(strength[x]))
        if there.size < 2:
            continue
        values = run.preferences.values[x, there]
        y = int(np.argmax(values.max(axis=0) - values.min(axis=0)))
        low, high = there[int(values[:, y].argmin())], there[int(values[:, y].argmax())]
        a, b = example(run, int(x), int(low)), example(run, int(x), int(high))
        if a.favoured != b.favoured:
            mean = isinstance(run.preferences.reference, str)
            said = _SWING_ASKED if mean else _SWING
            return replace(a, why=f"{a.group}: {said}" if a.asked else said, second=b)
    return None


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


def _reference(run: Run, x: int, c: int) -> np.ndarray:
    p = run.preferences
    return np.asarray(np.broadcast_to(p.grid.reference, p.values.shape)[x, c])
