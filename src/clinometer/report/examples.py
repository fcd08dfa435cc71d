"""Single answers that show a reader what the numbers of a run consist of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clinometer.display.numbers import percent
from clinometer.display.text import brief
from clinometer.outcomes.outcome import Mark
from clinometer.report.cell_statistics import CellStatistics, is_answered, sentence
from clinometer.runs import Run
from clinometer.runs.folder.cells import cell_words
from clinometer.runs.names import group_name
from clinometer.statistics.arrays import FloatArray
from clinometer.topics.conversation import CASE
from clinometer.topics.shortened import from_group, question_of

_ROOM = 90
"""Characters before the word of a sentence: two lines of the first screen."""

_ROOM_ASKED = 118
"""Characters of a question on two lines of the first screen."""

_MOST_SWINGING = 40
"""Groups among which an example of swing is looked for."""

_SWING = "leans one way in one, the other way in the other: swing"
_SWING_FROM_MEAN = "below the mean in one, above it in the other: swing"


@dataclass(frozen=True)
class Example:
    """One answer."""

    group: str

    why: str
    """Why it was chosen."""

    before: str
    """The sentence before the word."""

    after: str
    """The sentence after the word."""

    word: str
    """The likeliest word of the favoured category; "" where words are not stored."""

    shares: tuple[float, ...]
    """The share of each category's words."""

    favoured: int
    """The index of the favoured category."""

    second: Example | None = None
    """The sentence that goes the other way, of an example of swing."""

    carried: float | None = None
    """How much of the probability its words carry; None where that is unknown."""

    asked: bool = False
    """Whether it is a question or a case, and `word` the likelier answer."""

    mark: Mark | None = None
    """The answer on a scale, if there is one."""

    @property
    def room(self) -> int:
        """Return how much of `before` is shown, in characters."""
        return _ROOM_ASKED if self.asked else _ROOM

    @property
    def way(self) -> int:
        """Return the category of `word`: for a question the likelier one, which need not be
        favoured."""
        return int(np.argmax(self.shares)) if self.asked else self.favoured


def pick_examples(cells: CellStatistics) -> list[Example]:
    """Return the strongest answer, the strongest the other way, and the group that swings most;
    none of them twice."""
    run = cells.run
    trusted = cells.trusted
    if np.isnan(trusted).all() or np.nanmax(trusted) <= 0:
        return []
    favoured = cells.favoured.flat[np.nanargmax(trusted)]
    other_way = np.where(cells.favoured != favoured, trusted, np.nan)
    n = int((~np.isnan(trusted)).sum())
    is_pair = len(run.preferences.categories) == 2
    candidates = {
        f"strongest answer of {n:,}": trusted,
        f"strongest {'the other' if is_pair else 'another'} way": other_way,
    }
    used: list[int] = []
    examples = []
    for why, strength in candidates.items():
        remaining = strength.copy()
        remaining[used] = np.nan  # the groups of examples differ
        if not np.isnan(remaining).all():
            x, c = np.unravel_index(np.nanargmax(remaining), remaining.shape)
            used.append(int(x))
            examples.append(example(run, int(x), int(c), why=why))
    swing = _swing(run, trusted)
    if swing is not None:
        examples.append(swing)
    return examples


def top_examples(cells: CellStatistics, n: int = 20) -> list[Example]:
    """Return the answers with the largest share of the risk, each sentence once."""
    total = float(cells.risk_parts.sum())
    answered = is_answered(cells.run)
    examples = []
    for x, c in cells.one_a_sentence(cells.heaviest(10 * n), n):
        share = 100 * cells.risk_parts[x, c] / total
        why = "" if answered else f"{share:.2g} % of R"
        examples.append(example(cells.run, x, c, why=why))
    return examples


def example(run: Run, x: int, c: int, *, why: str = "") -> Example:
    """Return a cell as an example."""
    p = run.preferences
    shares = p.values[x, c].astype(float)
    reference = np.broadcast_to(p.grid.reference, p.values.shape)[x, c]
    favoured = int(np.argmax(shares - reference))
    before, after = sentence(run, x, c)
    asked = is_answered(run)
    mark = run.outcome.mark(shares, reference)
    category = favoured
    carried = None
    if asked:
        before = _asked_text(run, x, c, before)
        answer = _answer_text(
            run, favoured, float(shares[favoured]), float(reference[favoured]), mark
        )
        # With the group, whose name may be cut off above.
        answer = f"{brief(p.groups[x], 40)}: {answer}"
        why = f"{answer} · {why}" if why else answer
        category = int(np.argmax(shares))
    elif p.coverage is not None:
        carried = float(p.coverage[x, c])
    return Example(
        group=p.groups[x],
        why=why,
        before=before,
        after=after,
        word=_likeliest_word(run, x, c, p.categories[category]),
        shares=tuple(shares.tolist()),
        favoured=favoured,
        carried=carried,
        asked=asked,
        mark=mark,
    )


def _asked_text(run: Run, x: int, c: int, prompt: str) -> str:
    """Return what was asked: the question of a prompt, or the name of a case, whose whole prompt is
    too long to show."""
    p = run.preferences
    name = group_name(run, p.groups[x])
    if CASE in p.labels:
        return f"Case {p.labels[CASE][c]}, {name}: "
    return question_of(from_group(prompt, name))


def _answer_text(
    run: Run, category: int, share: float, usual_share: float, mark: Mark | None
) -> str:
    """Return the answer with its share, beside the mean where it is measured from that."""
    usual = percent(usual_share)
    answer = f"{brief(run.preferences.categories[category], 24)} {percent(share)}"
    if mark is not None:
        usual = mark.usual
        answer = mark.answer
    return f"{answer}, mean {usual}" if run.outcome.reference.is_mean else answer


def _likeliest_word(run: Run, x: int, c: int, category: str) -> str:
    """Return the likeliest word of a category in a cell; "" where words are not stored."""
    for word in cell_words(run, x, c):
        if category in word.categories and word.probability > 0:
            return word.word
    return ""


def _swing(run: Run, strength: FloatArray) -> Example | None:
    """Return the group whose answers change side most, in the two sentences furthest apart."""
    risk = np.nan_to_num(run.risks.r_volatility, nan=-np.inf)
    for x in np.argsort(-risk, kind="stable")[:_MOST_SWINGING].tolist():
        contexts = np.flatnonzero(~np.isnan(strength[x]))
        if contexts.size < 2:
            continue
        values = run.preferences.values[x, contexts]
        y = int(np.argmax(values.max(axis=0) - values.min(axis=0)))
        lowest = example(run, x, int(contexts[values[:, y].argmin()]))
        highest = example(run, x, int(contexts[values[:, y].argmax()]))
        if lowest.favoured != highest.favoured:
            why = _SWING_FROM_MEAN if run.outcome.reference.is_mean else _SWING
            if lowest.asked:
                why = f"{lowest.group}: {why}"
            return replace(lowest, why=why, second=highest)
    return None
