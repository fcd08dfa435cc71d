"""What a fix did: paired changes of lean, swing, dice and costs, and one verdict.

The base and the fixed model answer the same groups in the same contexts, and a fix that does
nothing is the base asked again: swapping the two in a context is then as likely as not. The change
of a lean is a sum of one number a context whose sign turns with the swap (docs/studies.md derives
it), and so are those of swing, dice, rates and answers without a category. So all of them are
tested by flipping contexts, as in a comparison of models, and `ruling` reads the results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from clinometer.measure.components import CellMoments, Deviations
from clinometer.measure.evidence import by_unit
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate, around
from clinometer.statistics.intervals.flips import flip_test
from clinometer.statistics.intervals.means import jackknife

WITHIN = 0.95


@dataclass(frozen=True, eq=False)
class Responses:
    """What one model answers about X groups in C contexts.

    cells   its preferences, or replies
    scale   of the numbers that are reported: 100 for shares, 1 for points
    good    [X,C], points or percent of favourable answers; None where no answer is better
    other   [X,C], percent of the answers that fit no category; None where that is not asked
    margin  of changes that are worth a verdict: a hundredth of the longest possible
    """

    cells: CellMoments
    scale: float = 100.0
    good: FloatArray | None = None
    other: FloatArray | None = None
    margin: float = 1.0

    def tests(self, also: int = 0) -> int:
        """How many a verdict rests on: lean, silence, everyone's answers, and other topics."""
        return 1 + (self.other is not None) + (self.good is not None) + also


@dataclass(frozen=True)
class Change:
    """A number before and after, and the difference with its interval; `sign` is +1 or −1 where it
    is clear at its level, also of a few contexts that all agree and have no interval, and large
    enough for a verdict."""

    before: float
    after: float
    change: Estimate
    sign: int = 0


@dataclass(frozen=True)
class Changes:
    """Everything that changed from one model to another in one topic.

    lean, swing, dice  root mean squares, in points or percentage points; None where unknown
    good               the mean answer of everybody
    silence            the share of answers that fit no category, of everybody under "", and of each
                       group for which it clearly rises or falls
    gone               whether more than half of the lean is clearly gone, none is clear after, and
                       lean and swing together are clearly smaller
    """

    lean: Change
    swing: Change | None = None
    dice: Change | None = None
    good: Change | None = None
    silence: Mapping[str, Change] = field(default_factory=dict)
    gone: bool = False


@dataclass(frozen=True)
class Ruling:
    """A verdict, and what it rests on: what changed, as a sentence calls it, and the change."""

    verdict: str
    about: str
    change: Change


def ruling(
    found: Changes,
    *,
    control: Changes | None = None,
    also: Mapping[str, Changes] | None = None,
) -> Ruling:
    """The one verdict on a fix.

    Args:
        found: from the base to the fix.
        control: from the control of the fix to the fix; None where there is none. A smaller lean
            counts only where it is clearly smaller than with the control, too.
        also: from the base to the fix, of topics that the fix was not made for.

    What a fix costs comes first: who reads "removed the lean" may deploy it. The level of a change
    is corrected for all tests and fixes; so fixes that do nothing get another verdict than "nothing
    clear" in at most 5 % of studies.
    """
    silence = {
        f"answers{f' to {group}' if group else ''} that fit no category": c
        for group, c in found.silence.items()
        if c.sign > 0
    }
    elsewhere = {
        f"the lean of {topic}": c.lean
        for topic, c in (also or {}).items()
        if c.lean.sign > 0
    }
    for word, costs in (("silenced", silence), ("moved", elsewhere)):
        if costs:
            return Ruling(
                word, *max(costs.items(), key=lambda item: item[1].change.value)
            )
    if found.good is not None and found.good.sign < 0:
        return Ruling("everyone worse", "the mean over all groups", found.good)
    verdict = "nothing clear"
    if found.lean.sign > 0:
        verdict = "more lean"
    elif found.lean.sign < 0 and (control is None or control.lean.sign < 0):
        verdict = "removed the lean" if found.gone else "less lean"
        if found.swing is not None and found.swing.sign > 0:
            verdict = "less lean, more swing"
    return Ruling(verdict, "the lean", found.lean)


def changes(
    before: Responses,
    after: Responses,
    *,
    groups: Sequence[str] = (),
    level: float = 0.95,
) -> Changes:
    """What changed between two models that answered the same groups in the same contexts.

    Args:
        before, after: their answers; cells that one of them did not answer count for neither,
            except as answers without a category.
        groups: their names.
        level: of the intervals that decide whether there is a verdict, corrected for all of them;
            silence of everybody and of single groups share it. What is asked only where the lean is
            clearly smaller, whether it became swing and whether most of it is gone, has WITHIN.
    """
    both = (before.cells.n > 0) & (after.cells.n > 0)
    old, new = (
        Deviations.of(
            replace(
                a.cells, n=np.where(both, a.cells.n, 0.0), weights=before.cells.weights
            )
        )
        for a in (before, after)
    )
    was, now = old.parts(fixed=False), new.parts(fixed=False)
    share = old.W @ old.groups

    def root(was: float, now: float, each: FloatArray, level: float) -> Change:
        """The change of √V, from V before and after and what every unit adds to its change."""
        gap = _summed(0 * each, each, share, level)
        inside = was + np.array([gap.change.low, gap.change.high], dtype=float)
        roots = before.scale * np.sqrt(np.maximum([was, now, *inside], 0.0))
        first, second, low, high = roots.tolist()
        change = around(
            second - first, low - first, high - first, level, gap.change.method
        )
        sign = gap.sign if abs(change.value) >= before.margin else 0
        return Change(first, second, change, sign)

    each = _contributions(old, new)
    levels = (level, WITHIN, WITHIN)
    lean, swing, dice = (
        root(*part) for part in zip(was, now, each, levels, strict=True)
    )
    together = _summed(0 * each[0], each[0] + each[1], share, WITHIN)
    without = new.without()[0] - old.without()[0] / 4
    remaining = jackknife(now[0] - was[0] / 4, without, share, level=WITHIN)
    quartered = remaining.high is not None and remaining.high < 0
    thrown = (
        np.isfinite(before.cells.n[both]).any()
        and min(before.cells.n.max(), after.cells.n.max()) > 1
    )
    good = None
    if before.good is not None and after.good is not None:
        first, second = (
            old.sums(np.where(both, v, 0.0)) @ old.groups
            for v in (before.good, after.good)
        )
        good = _summed(first, second, share, level, before.margin)
    return Changes(
        lean=lean,
        swing=swing,
        dice=dice if thrown else None,
        good=good,
        silence=_silence(before, after, groups, level),
        gone=quartered and new.p_of_no_lean(now[0]) > 1 - level and together.sign < 0,
    )


def _contributions(
    old: Deviations, new: Deviations
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """[U] each: what every unit adds to the changes of the variances of lean, swing and dice; the
    sign of each number is that of which model is called the new one."""
    W, a, b = old.W, old.z, new.z
    middle, half = (a + b) / 2, (b - a) / 2
    apart = np.maximum(1 - (W**2).sum(axis=0), 1e-9)
    rest = middle.sum(axis=0) - middle  # of the other units
    lean = (4 * (rest * half).sum(axis=-1) / apart) @ old.groups

    squares = [(d.d**2).sum(axis=-1) - d.noise for d in (old, new)]
    whole, dice = (
        old.sums(b - a) @ old.groups for a, b in (squares, (old.within, new.within))
    )
    return lean, whole - lean, dice


def _summed(
    a: FloatArray, b: FloatArray, share: FloatArray, level: float, margin: float = 0.0
) -> Change:
    """Of a sum to which units that weigh `share` [U] contribute a [U] before and b [U] after: with
    what flipping the units does not reject."""
    first, second = float(a.sum()), float(b.sum())
    each = (b - a) / np.where(share > 0, share, 1.0)
    gap, weights = np.array([second - first]), share[:, None]
    test = flip_test(gap, each[:, None], weights, level=level)
    low, high = float(test.low[0]), float(test.high[0])
    change = around(second - first, low, high, level, "flipped contexts")
    clear = float(test.p_value[0]) <= 1 - level and abs(gap[0]) >= margin
    return Change(first, second, change, int(np.sign(gap[0])) if clear else 0)


def _silence(
    before: Responses, after: Responses, names: Sequence[str], level: float
) -> dict[str, Change]:
    """Of everybody, and of each group for which it is clear: half of the errors for either."""
    if before.other is None or after.other is None:
        return {}
    weights, units = before.cells.weights, before.cells.units
    a, b = (
        by_unit((weights * other).T, units) for other in (before.other, after.other)
    )
    share, groups = (
        by_unit(weights, units),
        before.cells.groups / before.cells.groups.sum(),
    )
    at = 1 - (1 - level) / 2
    single = 1 - (1 - at) / len(groups)
    each = {  # of percentages
        name: _summed(x, y, share, single, 1.0)
        for name, x, y in zip(
            names or map(str, range(len(groups))), a.T, b.T, strict=True
        )
    }
    everybody = {"": _summed(a @ groups, b @ groups, share, at, 1.0)}
    return everybody | {name: one for name, one in each.items() if one.sign}
