"""What pages compute from a run: cells and contexts that matter, the lean of groups, and single
answers that show a reader what the numbers consist of.

Numbers in, arrays and plain tables out; nothing is drawn here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clinometer.display.numbers import percent
from clinometer.display.text import brief
from clinometer.errors import ClinometerError, RunError
from clinometer.measure.criterion import Criterion
from clinometer.runs import Run
from clinometer.runs.findings.of_run import run_findings
from clinometer.runs.folder.cells import cell_prompt, cell_words
from clinometer.runs.folder.recover import LoadedRun
from clinometer.runs.names import group_name, label
from clinometer.statistics.arrays import FloatArray
from clinometer.topics.conversation import CASE
from clinometer.topics.shortened import from_group, question_of

#: With more contexts than this, a band from lowest to highest only reflects their number.
_WHOLE_RANGE = 20


def drawn(run: Run) -> Run:
    """The run as it is drawn: of a scale the two ends, shared so that the mean score is the same.

    Its risks and findings are those of the whole scale.
    """
    points = np.array(run.risks.criterion.points)
    if len(points) < 3:
        return run
    p, ends = run.preferences, (run.risks.categories[0], run.risks.categories[-1])

    def shared(shares: FloatArray) -> FloatArray:
        up = (shares @ points - points[0]) / (points[-1] - points[0])
        return np.stack([1 - up, up], axis=-1)

    criterion = Criterion("points", points=(float(points[0]), float(points[-1])))
    even = np.full(len(points), 1 / len(points)) if p.reference is None else p.reference
    preferences = replace(
        p,
        values=shared(p.values),
        categories=ends,
        reference=even
        if isinstance(even, str)
        else shared(np.asarray(even, dtype=float)),
        criterion=criterion,
        low=None,
        high=None,
        answers=None,
    )
    up = run.risks.mean_stereotype @ points / (points[-1] - points[0])
    found = replace(
        run,
        preferences=preferences,
        risks=replace(
            run.risks,
            categories=ends,
            criterion=criterion,
            mean_stereotype=np.stack([-up, up], axis=-1),
        ),
    )
    vars(found).update(leans=run.leans, findings=run.findings)
    return found


@dataclass(frozen=True, eq=False)
class CellStatistics:
    """A run with the arrays that several tables and charts need, each computed once.

    run    as it is drawn, see `drawn`
    whole  as it was measured, where that differs
    """

    run: Run
    whole: Run | None = None

    @cached_property
    def s(self) -> FloatArray:
        """[X, C, Y]: the stereotype of each cell on the scale of the risks; NaN where missing."""
        p = self.run.preferences
        return np.where(p.observed[..., None], p.grid.stereotypes(), np.nan)

    @cached_property
    def cell_weights(self) -> FloatArray:
        """[X, C]: w_c within a group; 0 where missing."""
        return self.run.preferences.grid.shares()[0]

    @cached_property
    def strength(self) -> FloatArray:
        """[X, C]: J(s) of each cell; NaN where missing."""
        if (
            self.whole is not None
            and self.whole.risks.categories != self.run.risks.categories
        ):
            return CellStatistics(self.whole).strength
        missing = np.isnan(self.s).any(axis=2)
        j = self.run.risks.criterion(np.nan_to_num(self.s))
        return np.where(missing, np.nan, j)

    @cached_property
    def trusted(self) -> FloatArray:
        """[X, C]: the strength of the answers that count, and NaN elsewhere: answers whose words
        carry hardly any probability are noise, unless all are of that kind."""
        strength = np.where(self.cell_weights > 0, self.strength, np.nan)
        trusted = np.where(self.run.preferences.low_coverage, np.nan, strength)
        return strength if np.isnan(trusted).all() else trusted

    @cached_property
    def favoured(self) -> NDArray[np.int64]:
        """[X, C]: index of the category with the largest s."""
        return np.asarray(np.nan_to_num(self.s, nan=-np.inf).argmax(axis=2))

    @cached_property
    def context_mean(self) -> FloatArray:
        """[C, Y]: mean of s over the groups of each context, by group weight; NaN if none."""
        there = ~np.isnan(self.s).any(axis=2)
        w = there * self.run.risks.group_weights[:, None]
        total = w.sum(axis=0)
        summed = (w[..., None] * np.nan_to_num(self.s)).sum(axis=0)
        empty = np.full(summed.shape, np.nan)
        return np.asarray(
            np.divide(summed, total[:, None], out=empty, where=total[:, None] > 0)
        )

    @cached_property
    def depth(self) -> FloatArray:
        """[X, C]: the strength from 0 to 1, on any scale of the risks; what is measured from the
        mean of the groups is seldom far from it, and ends at the furthest."""
        if (
            self.run.risks.criterion.normalize
            and not self.run.outcome.reference.is_mean
        ):
            return self.strength
        return np.asarray(self.strength / max(1e-12, float(np.nanmax(self.strength))))

    @cached_property
    def risk_parts(self) -> FloatArray:
        """[X, C]: what each cell adds to R; 0 where missing."""
        groups = self.run.risks.group_weights[:, None]
        return np.asarray(self.cell_weights * groups * np.nan_to_num(self.strength))

    @cached_property
    def side(self) -> NDArray[np.int64]:
        """[X]: index of the category that each group leans to, clearly or not; -1 if missing."""
        place = {name: y for y, name in enumerate(self.run.preferences.categories)}
        return np.array(
            [
                -1 if one.favoured is None else place[one.favoured]
                for one in self.run.leans
            ]
        )

    @cached_property
    def answered(self) -> NDArray[np.int64]:
        """Groups with an answer."""
        return np.flatnonzero(self.side >= 0)

    @cached_property
    def clear(self) -> NDArray[np.bool_]:
        """[X]: whether the group is on the list of those that lean clearly, see `Run.leans`."""
        return np.array([one.category is not None for one in self.run.leans])

    @cached_property
    def share(self) -> FloatArray:
        """[X, Y]: mean share of each category over the contexts; NaN if missing."""
        p = self.run.preferences
        return p.grid.mean(p.values)

    @property
    def whole_range(self) -> bool:
        """Whether `share_range` is of all contexts, and not of their middle 90 %."""
        return len(self.run.preferences.contexts) <= _WHOLE_RANGE

    @cached_property
    def share_range(self) -> FloatArray:
        """[2, X, Y]: between what ends the share lies over the contexts of each group."""
        w = self.cell_weights[..., None]
        values = np.where(w > 0, self.run.preferences.values, np.inf)
        order = np.argsort(values, axis=1, kind="stable")
        values = np.take_along_axis(values, order, axis=1)
        upto = np.take_along_axis(
            np.broadcast_to(w, values.shape), order, axis=1
        ).cumsum(axis=1)
        ends = []
        for point in (0.0, 1.0) if self.whole_range else (0.05, 0.95):
            at = (
                (upto < point - 1e-12)
                .sum(axis=1, keepdims=True)
                .clip(max=values.shape[1] - 1)
            )
            ends.append(np.take_along_axis(values, at, axis=1)[:, 0])
        return np.where(np.isnan(self.share), np.nan, ends)

    @cached_property
    def mean_ends(self) -> FloatArray:
        """[2, X, Y]: the interval of each mean share, that of the group's lean; NaN without one,
        and of more than two categories for all but the favoured one."""
        p = self.run.preferences
        star = np.broadcast_to(p.grid.reference, p.values.shape)
        # How far a share moves where s moves by 1.
        worth = (1 / self.run.risks.criterion.worth(star)).mean(axis=1)
        ends = np.full((2, *self.share.shape), np.nan)
        for x, (lean, y) in enumerate(zip(self.run.leans, self.side, strict=True)):
            if lean.lean is None or lean.low is None or lean.high is None:
                continue
            moved = np.array([lean.low, lean.high]) - lean.lean
            ends[:, x, y] = self.share[x, y] + worth[x, y] * moved
            if self.share.shape[1] == 2:
                ends[:, x, 1 - y] = 1 - ends[::-1, x, y]
        return np.clip(ends, 0, 1)

    def ordered(self, score: FloatArray, n: int) -> list[tuple[int, int]]:
        """Group and context of the n cells with the highest score."""
        order = np.argsort(-score, axis=None, kind="stable")[:n]
        rows, columns = np.unravel_index(order, score.shape)
        return list(zip(rows.tolist(), columns.tolist(), strict=True))

    def heaviest(self, n: int) -> list[tuple[int, int]]:
        """The n cells that add most to R; none that adds nothing."""
        return [
            cell
            for cell in self.ordered(self.risk_parts, n)
            if self.risk_parts[cell] > 0
        ]

    def one_a_sentence(
        self, cells: Iterable[tuple[int, int]], n: int
    ) -> list[tuple[int, int]]:
        """The first n of the cells, each sentence once."""
        first: dict[tuple[str, str], tuple[int, int]] = {}
        for cell in cells:
            if len(first) == n:
                break
            first.setdefault(sentence(self.run, *cell), cell)
        return [*first.values()]

    def weighty_cells(self, n: int = 10) -> pd.DataFrame:
        """The cells that make up most of R: group, context, p of each category, share of R."""
        p, part, cells = self.run.preferences, self.risk_parts, self.heaviest(n)
        rows = [
            {
                "group": p.groups[x],
                "context_id": p.contexts[c],
                "template": _template(self.run, c),
                "sentence": "___".join(sentence(self.run, x, c)),
                "share": part[x, c] / part.sum(),
                **{f"p({y})": p.values[x, c, i] for i, y in enumerate(p.categories)},
            }
            for x, c in cells
        ]
        columns = ["group", "context_id", "template", "sentence", "share"]
        return pd.DataFrame(
            rows, columns=[*columns, *(f"p({y})" for y in p.categories)]
        )


def sentence(run: Run, x: int, c: int) -> tuple[str, str]:
    """The text before and after the word of a cell."""
    try:
        prompt, _ = cell_prompt(run, run.preferences.groups[x], _template(run, c))
    except ClinometerError:  # contexts of a preferences table need not be templates
        return f"{run.preferences.groups[x]}: {_template(run, c)}", ""
    return prompt.before + (" " if prompt.space else ""), prompt.after


def _template(run: Run, c: int) -> str:
    return (run.preferences.templates or run.preferences.contexts)[c]


def lean_errors(cells: CellStatistics, category: int) -> FloatArray | None:
    """[X]: the standard error of each group's mean lean to a category; None where there is none."""
    s, w = np.nan_to_num(cells.s[:, :, category]), cells.cell_weights
    mean = (w * s).sum(axis=1)
    total = np.square(w).sum(axis=1)
    n = np.divide(
        1.0, total, out=np.ones_like(total), where=total > 0
    )  # effective contexts
    if (n <= 1 + 1e-9).any():
        return None
    spread = np.sqrt((np.square(w) * np.square(s - mean[:, None])).sum(axis=1))
    error = np.asarray(spread * np.sqrt(n / (n - 1)))
    return error if np.isfinite(error).all() and (error > 0).any() else None


# --- Single answers: sentences with their words ---------------------------------------------------

_ROOM, _ROOM_ASKED = (
    90,
    118,
)  # characters before the word: two lines of the first screen
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
    way = cells.favoured.flat[np.nanargmax(trusted)]
    other = np.where(cells.favoured != way, trusted, np.nan)
    n = int((~np.isnan(trusted)).sum())
    candidates = [
        (f"strongest answer of {n:,}", trusted),
        (
            "strongest the other way"
            if len(p.categories) == 2
            else "strongest another way",
            other,
        ),
    ]
    used: list[int] = []
    examples = []
    for why, values in candidates:
        left = values.copy()
        left[used] = np.nan  # the groups of examples differ
        if not np.isnan(left).all():
            x, c = (int(i) for i in np.unravel_index(np.nanargmax(left), left.shape))
            used.append(x)
            examples.append(example(run, x, c, why=why))
    swing = _swing(run, trusted)
    return [*examples, swing] if swing else examples


def top_examples(cells: CellStatistics, n: int = 20) -> list[Example]:
    """The answers with the largest share of the risk, each sentence once."""
    part = cells.risk_parts
    total = float(part.sum())
    examples = []
    for x, c in cells.one_a_sentence(cells.heaviest(10 * n), n):
        share = (
            "" if is_answered(cells.run) else f"{100 * part[x, c] / total:.2g} % of R"
        )
        examples.append(example(cells.run, x, c, why=share))
    return examples


def example(run: Run, x: int, c: int, *, why: str = "") -> Example:
    """A cell as an example."""
    p = run.preferences
    shares = tuple(float(v) for v in p.values[x, c])
    reference = np.broadcast_to(p.grid.reference, p.values.shape)[x, c]
    favoured = int(np.argmax(np.asarray(shares) - reference))
    before, after = sentence(run, x, c)
    asked = is_answered(run)
    mark = run.outcome.mark(np.asarray(shares), reference)
    score = None
    if mark is not None:
        score = (mark.score, mark.position, mark.usual_position)
    if asked:
        before = question_of(from_group(before, group_name(run, p.groups[x])))
        if CASE in p.labels:  # a whole prompt is too long to show
            before = f"Case {p.labels[CASE][c]}, {group_name(run, p.groups[x])}: "
        # With the group, whose name may be cut off above, and its share beside the mean.
        usual, answer = (
            percent(float(reference[favoured])),
            brief(p.categories[favoured], 24),
        )
        answer = f"{answer} {percent(shares[favoured])}"
        if mark is not None:
            usual, answer = mark.usual, mark.answer
        beside = f", mean {usual}" if run.outcome.reference.is_mean else ""
        why = " · ".join(
            filter(None, (f"{brief(p.groups[x], 40)}: {answer}{beside}", why))
        )
    name = p.categories[int(np.argmax(shares)) if asked else favoured]
    words = (
        w for w in cell_words(run, x, c) if name in w.categories and w.probability > 0
    )
    return Example(
        p.groups[x],
        why,
        before,
        after,
        next((w.word for w in words), ""),
        shares,
        favoured,
        carried=None if p.coverage is None or asked else float(p.coverage[x, c]),
        asked=asked,
        score=score,
    )


def is_answered(run: Run) -> bool:
    """Whether cells are answers to questions or cases, and not words in a sentence."""
    return run.outcome.is_answered or run.record.components is not None


def _swing(run: Run, strength: np.ndarray) -> Example | None:
    """The group whose answers change side most, in the two sentences furthest apart."""
    order = np.argsort(
        -np.nan_to_num(run.risks.r_volatility, nan=-np.inf), kind="stable"
    )
    for x in order[:40]:
        contexts = np.flatnonzero(~np.isnan(strength[x]))
        if contexts.size < 2:
            continue
        values = run.preferences.values[x, contexts]
        y = int(np.argmax(values.max(axis=0) - values.min(axis=0)))
        low, high = (
            contexts[int(values[:, y].argmin())],
            contexts[int(values[:, y].argmax())],
        )
        a, b = example(run, int(x), int(low)), example(run, int(x), int(high))
        if a.favoured != b.favoured:
            why = _SWING_ASKED if run.outcome.reference.is_mean else _SWING
            return replace(a, why=f"{a.group}: {why}" if a.asked else why, second=b)
    return None


@dataclass(frozen=True, eq=False)
class RunSummary:
    """A run with what its pages need, each computed once."""

    opened: LoadedRun

    @property
    def whole(self) -> Run:
        """As it was measured; of a folder that could not be read an error says why."""
        if self.opened.run is None:
            raise RunError(self.opened.notice)
        return self.opened.run

    @cached_property
    def run(self) -> Run:
        """As it is drawn."""
        return drawn(self.whole)

    @cached_property
    def cells(self) -> CellStatistics:
        return CellStatistics(self.run, self.whole)

    @property
    def title(self) -> str:
        """The headline."""
        finished = self.opened.state == "finished"
        return run_findings(self.run, label(self.opened.name), finished=finished)[
            0
        ].text
