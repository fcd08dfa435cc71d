"""Risks with intervals: how much they would change with other contexts.

An interval contains every true value under which the estimate is not surprising (an inverted test).
Nothing is resampled, so nothing is random. docs/inference.md has the construction and its coverage.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Literal, Unpack, get_args

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, ndtr, ndtri, stdtr, stdtrit

from clinometer.errors import SettingsError
from clinometer.measure.correction import BiasModel, Correction, Units, correct_units, normal_nodes
from clinometer.measure.criterion import Criterion
from clinometer.measure.grid import PreferenceArguments, PreferenceGrid, read_preferences
from clinometer.measure.results import GroupIntervals, RiskReport
from clinometer.measure.risk import decompose_grid
from clinometer.settings import LEVEL
from clinometer.statistics.arrays import ROUNDING, FloatArray, snap
from clinometer.statistics.estimate import Estimate

if TYPE_CHECKING:
    from clinometer.display.notebook import DataFrame

Family = Callable[["Noise"], FloatArray]

STEPS = 41
"""True values along each family; shares are interpolated linearly between them."""

FAR = 0.9985
"""The shared factor is tried up to this quantile."""

LEAST_EFFECTIVE = 4.0
"""Effective units needed for an interval of R^b or R^v: with 3.6 and 3.9, R^b was held in 88 to
92 % of the simulations where groups swing together; R^v was not tried below 4."""

LEAST_FOR_R = 2.5
"""The same for R: an interval from two wordings reaches from 0 to several times R and says nothing
that two wordings do not."""

LONG_SCALE = 10
"""With more points on a scale only R has an interval: those of R^b and R^v would take minutes, and
lean, swing and dice of the same replies have theirs."""

LEAST_FOR_NONE = 30.0
"""With at least this many effective units, full agreement gives an interval of width 0."""

METHOD = "inverted"

Unit = Literal["contexts", "draws"]


def estimate_risks(
    p: ArrayLike | DataFrame,
    *,
    level: float = 0.95,
    unit: Unit = "contexts",
    clusters: Sequence[object] | None = None,
    samples: ArrayLike | None = None,
    correct: bool = True,
    **given: Unpack[PreferenceArguments],
) -> RiskReport:
    """The report of `decompose` with corrected values and an interval for every risk.

    Args:
        p: as for `decompose`.
        given: weights, reference, mask, labels and criterion, as for `decompose`.
        level: the share of intervals that should contain the truth.
        unit: "contexts": the contexts are a sample of all possible ones, with given weights;
            "draws": they were sampled by weight from a larger set, context_weights [C] count how
            often, and the target is that set.
        clusters: [C] labels (predicate, source) of contexts that were sampled together.
        samples: the number of answers behind p, see `sampled_correction`; None: p is exact.
        correct: show corrected values (see `corrected`); False shows the plug-in ones. The
            interval is the same for both.

    Returns:
        `RiskReport` with `intervals` and the ends of R, R_bias, R_volatility. n_eff counts units:
        clusters or draws where these were sampled.

    Degenerate input: a single effective unit gives values without intervals, and a group with one
    observed unit a NaN row. With fewer than four effective units R^b and R^v of all groups have no
    interval, with fewer than three R has none; if all units agree, no risk has one with fewer than
    30, and with more its width is 0.
    `note` of an estimate says so. Errors as for `decompose`.

    >>> rng = np.random.default_rng(1)
    >>> p = rng.beta(5, 5, (40, 60))                       # R = R^v = 0.246, R^b = 0
    >>> report = estimate_risks(np.stack([p, 1 - p], axis=-1))
    >>> [round(float(v), 2) for v in (report.R_volatility.low, report.R_volatility.high)]
    [0.21, 0.26]
    >>> report.R_bias.low
    0.0
    """
    report, _ = estimate_grid(
        read_preferences(p, **given),
        level=level,
        unit=unit,
        clusters=clusters,
        samples=samples,
        correct=correct,
    )
    return report


def estimate_grid(
    grid: PreferenceGrid,
    *,
    level: float = 0.95,
    unit: Unit = "contexts",
    clusters: Sequence[object] | None = None,
    samples: ArrayLike | None = None,
    correct: bool = True,
    draws: int | None = None,
    criteria: FloatArray | None = None,
    more: ExtraError | None = None,
) -> tuple[RiskReport, Correction]:
    """`estimate_risks` of preferences that have been read, and the correction of the same units.

    With unit "draws", `draws` is the number of samples behind the weights; None: the weights are
    counts. `criteria` [C,X] is J of each cell, already corrected for the noise of counting; `more`
    are errors besides that of the contexts.
    """
    LEVEL.check("level", level)
    if unit not in get_args(Unit):
        raise SettingsError(f"unit: expected one of {get_args(Unit)}, found {unit!r}")
    report = decompose_grid(grid)
    units = Units.of(
        grid,
        clusters=clusters,
        drawn=unit == "draws",
        draws=draws,
        samples=samples,
        criteria=criteria,
    )
    counted = samples is not None or criteria is not None
    best = correct_units(units, BiasModel.of(units), sampled=counted)
    if correct:
        report = replace(
            report,
            r=snap(best.r),
            r_bias=snap(best.r_bias),
            r_volatility=snap(best.r_volatility),
            R=best.R,
            R_bias=best.R_bias,
            R_volatility=best.R_volatility,
        )
    elif counted:  # counting noise inflates shares of answers: no estimate
        # It inflates their mean too, if less; and r is never below r^b.
        r, R = np.maximum(best.r, 0.0), max(best.R.value, 0.0)
        r_bias, R_bias = np.minimum(report.r_bias, r), min(report.R_bias.value, R)
        report = replace(
            report,
            r=snap(r),
            r_bias=snap(r_bias),
            r_volatility=snap(r - r_bias),
            R=Estimate(R, method="sampled"),
            R_bias=replace(report.R_bias, value=R_bias),
            R_volatility=Estimate(R - R_bias, method="sampled"),
        )
    if clusters is not None or unit == "draws":
        report = replace(report, n_eff=float(1.0 / np.sum(units.slots**2)))
    if np.sum(units.slots**2) > 1 - 1e-9:
        return report, best
    top = grid.criterion.top
    long = len(grid.criterion.points) > LONG_SCALE
    if long:
        up = units.on_the_scale()
        units = replace(up, s=up.s[..., [-1, 0]], ratio=np.ones(len(up.group_weights)))
    bounds = inverted(Noise.of(units, more), level=level, top=top)
    if long:
        bounds[1:] = np.nan
    # r, and with it r^v, may be off by as much, regardless of the contexts; r^b is not concerned.
    bounds[[0, 2]] += units.allowance * np.array([-1.0, 1.0])
    sizes = 1.0 / np.append(units.spread, np.sum(units.slots**2))
    sizes[-1] = min(sizes[-1], report.n_eff)  # missing cells leave fewer of them
    return _with_bounds(report, bounds, sizes, level=level, top=top), best


def _with_bounds(
    report: RiskReport,
    bounds: FloatArray,
    sizes: FloatArray,
    *,
    level: float,
    top: float,
) -> RiskReport:
    """The report with ends [3,X+1,2] clipped to 0..top and stretched to contain the value shown.

    No interval where an end is NaN, or `sizes` [X+1], the effective units, are too few: fewer than
    LEAST_EFFECTIVE for r^v, R^b and R^v, LEAST_FOR_R for R, or LEAST_FOR_NONE where all agree.
    """
    bounds = snap(np.clip(bounds, 0.0, top))
    # R is the sum of two parts that are not negative: neither end of theirs is above its own.
    bounds[1:] = np.minimum(bounds[1:], bounds[0])
    overall, ends = [], []
    for i, (shown, values) in enumerate(
        (
            (report.R, report.r),
            (report.R_bias, report.r_bias),
            (report.R_volatility, report.r_volatility),
        )
    ):
        every = np.append(values, min(shown.value, top))
        low, high = np.minimum(bounds[i, :, 0], every), np.maximum(bounds[i, :, 1], every)
        agree = (high - low <= ROUNDING) & (sizes < LEAST_FOR_NONE)
        few = (sizes < LEAST_EFFECTIVE) & (i == 2)
        few[-1] = sizes[-1] < (LEAST_FOR_R if i == 0 else LEAST_EFFECTIVE)
        # NaN (a missing group) counts as a single unit too.
        alone = np.append(~(report.n_eff_by_group > 1 + 1e-9), False)
        unknown = np.isnan(low)
        gone = agree | few | alone | unknown
        ends.append(np.where(gone[:-1, None], np.nan, np.stack([low, high], axis=1)[:-1]))
        name = METHOD if shown.method == "plug-in" else f"{shown.method}, {METHOD}"
        if unknown[-1]:
            note = f"a scale of more than {LONG_SCALE} points has an interval of R alone"
            overall.append(Estimate(float(every[-1]), method=shown.method, note=note))
        elif gone[-1]:
            needed = (3.0 if i == 0 else LEAST_EFFECTIVE) if few[-1] else LEAST_FOR_NONE
            note = "all contexts agree, and they are" if agree[-1] and not few[-1] else "these are"
            note += f" too few contexts to tell; {needed:.0f} effective ones would do"
            overall.append(Estimate(float(every[-1]), method=shown.method, note=note))
        else:
            value, *both = (float(v) for v in (every[-1], low[-1], high[-1]))
            overall.append(Estimate(value, both[0], both[1], level, name))
    return replace(
        report,
        R=overall[0],
        R_bias=overall[1],
        R_volatility=overall[2],
        intervals=GroupIntervals(ends[0], ends[1], ends[2], level, METHOD),
    )


def inverted(noise: Noise, *, level: float, top: float) -> FloatArray:
    """Ends [3,X+1,2] of r, r^b, r^v of each group, and of R, R^b, R^v in the last column.

    Args:
        noise: of the means.
        level: of the intervals.
        top: the largest possible risk, 1 or inf. R is a mean: Student's t on the log-odds scale,
            which avoids both ends, or with Hall's correction for skewness; the wider one.
    """
    tail = (1 - level) / 2
    X = noise.risk.size
    ends = np.empty((3, X + 1, 2))
    values = np.append(noise.risk, noise.weights @ noise.risk)
    spread = np.sqrt(noise.risk_variance)
    reach = float(noise.quantile(1 - tail)) * spread
    skewed = _skewed(values, reach, noise.risk_skewness, spread)
    odds = _log_odds(values, reach, top)
    ends[0] = np.stack([np.minimum(skewed, odds)[:, 0], np.maximum(skewed, odds)[:, 1]], axis=1)
    ends[1:, :-1] = _single(noise, tail)
    ends[1:, -1] = ends[1:, 0] if X == 1 else _together(noise, tail)
    # r^v inherits the skewness of r: both arms scale with those of r.
    middle = values - np.append(noise.bias(noise.mean), noise.weights @ noise.bias(noise.mean))
    for side in (0, 1):
        before, after = reach, np.abs(ends[0, :, side] - values)
        arm = np.abs(ends[2, :, side] - middle)
        inner = np.minimum(arm, before)
        ratio = np.divide(after, before, out=np.ones(X + 1), where=before > 0)
        ends[2, :, side] += (2 * side - 1) * (
            np.sqrt(np.maximum(arm**2 + inner**2 * (ratio**2 - 1), 0.0)) - arm
        )
    return ends


def _together(noise: Noise, tail: float) -> FloatArray:
    """Ends [2,2] of R^b and R^v: the range over the families."""
    found = [_along(noise, family, tail) for family in (_scaled, _concentrated, _shifted)]
    lows, highs, leasts, mosts = (list(chain(*parts)) for parts in zip(*found, strict=True))
    return np.array([[min(lows), max(highs)], [min(leasts), max(mosts)]])


def _along(
    noise: Noise, family: Family, tail: float
) -> tuple[list[float], list[float], list[float], list[float]]:
    """The low and high ends of R^b and of R^v from one family; [] where it gives none."""
    w, (f, mass) = noise.weights, noise.nodes
    T, R = float(w @ noise.bias(noise.mean)), float(w @ noise.risk)
    truth = family(noise)
    theta = noise.bias(truth) @ w
    mean, linear, gap, other = noise.of_means(truth)
    shift = f @ noise.risk_shared

    def share(seen: float) -> FloatArray:
        return noise.below(seen - mean, linear, other) @ mass

    seen = share(T)
    # Assuming v = R - theta, the error of R - R^b is theta - T.
    rest = noise.below(mean - T - shift, gap, other) @ mass
    if family is _shifted:
        kept = _range(theta, np.minimum(seen - tail, 1 - tail - seen))
        swing = [R - v for v in _range(theta, np.minimum(rest - tail, 1 - tail - rest))]
        return kept[:1], kept[1:], swing[1:], swing[:1]
    column = theta[:, None]
    low = crossing(column, 1 - tail - seen[:, None]).tolist()
    most = R - crossing(column, rest[:, None] - tail)
    if rest[0] > tail:  # parity itself is kept, and R^v may be above R

        def at_parity(x: FloatArray) -> FloatArray:
            return noise.below(x - shift + mean[0], gap[0], other[0]) @ mass

        reach = 8 * np.sqrt(noise.risk_variance[-1] + gap[0].max() + other[0].max())
        most = np.maximum(most, R - T - solved(at_parity, tail, np.array([-reach - T])))
    if family is _concentrated:
        return low, [], [], most.tolist()
    # Clamp estimates below the average at parity, so that the interval cannot be empty.
    high = crossing(column, tail - share(max(T, float(mean[0] @ mass)))[:, None])
    least = R - crossing(column, rest[:, None] - (1 - tail))
    return low, high.tolist(), least.tolist(), most.tolist()


def _moments(noise: Noise) -> tuple[FloatArray, FloatArray, float]:
    """r^b as observed [X], values of R^b to try [S], and the mean square of r^b without noise."""
    w, size = noise.weights, noise.bias(noise.mean)
    own, total = (np.trace(v, axis1=1, axis2=2) for v in (noise.own, noise.total))
    reach = float(w @ np.sqrt(total)) + np.sqrt(noise.risk_variance[-1])
    theta = _tried(float(w @ size), reach)
    square, length = float(w @ size**2), float(w @ (noise.mean**2).sum(axis=1))
    return size, theta, max(square * (1 - float(w @ own) / max(length, 1e-300)), 0.0)


def _tried(value: FloatArray | float, reach: FloatArray | float) -> FloatArray:
    """Values [S,..] around an estimate, from 0 where that is near."""
    return np.asarray(np.linspace(np.maximum(value - 5 * reach, 0.0), value + 4 * reach, STEPS))


def _scaled(noise: Noise) -> FloatArray:
    """Truths [S,X,k] along the observed means, with the spread that the second moment implies."""
    size, theta, square = _moments(noise)
    middle = float(noise.weights @ size)
    spread = float(noise.weights @ (size - middle) ** 2)
    left = np.maximum(square - theta**2, 0.0)
    stretch = np.sqrt(left / spread) if spread > 0 else np.zeros(STEPS)
    sizes = np.maximum(theta[:, None] + stretch[:, None] * (size - middle), 0.0)
    return _of_size(noise, sizes, theta)


def _concentrated(noise: Noise) -> FloatArray:
    """The same mean and second moment, but with some groups at parity and all others equal: among
    truths with these moments, the one whose noise inflates R^b most."""
    size, theta, square = _moments(noise)
    order = np.argsort(-size, kind="stable")
    before = np.empty(size.size)
    before[order] = np.cumsum(noise.weights[order]) - noise.weights[order]
    share = np.minimum(theta**2 / max(square, 1e-300), 1.0)
    room = np.divide(
        share[:, None] - before,
        noise.weights,
        out=np.zeros((STEPS, size.size)),
        where=noise.weights > 0,
    )
    return _of_size(noise, np.clip(room, 0.0, 1.0), theta)


def _of_size(noise: Noise, sizes: FloatArray, theta: FloatArray) -> FloatArray:
    """Truths along the observed means with r^b in proportion to sizes [S,X] and mean theta [S]."""
    middle = sizes @ noise.weights
    sizes = sizes * np.divide(theta, middle, out=np.zeros(STEPS), where=middle > 0)[:, None]
    return np.asarray(sizes[..., None] * _direction(noise))


def _direction(noise: Noise) -> FloatArray:
    """[X,k], the observed means at r^b = 1; one at exact parity is taken along the first axis."""
    size = noise.bias(noise.mean)
    first = np.zeros(noise.mean.shape[1])
    first[0] = 1.0
    if first.size > 1:
        first -= 1.0 / first.size
    mean = np.where((size > 0)[:, None], noise.mean, first)
    return np.asarray(mean / noise.bias(mean)[:, None])


def _shifted(noise: Noise) -> FloatArray:
    """Truths [S,X,k]: denoised deviations from the shared lean, with that lean shifted."""
    w, shared = noise.weights, noise.shared
    inner = np.einsum("x,lxk,mxk->lm", w, shared, shared)
    along = np.linalg.pinv(inner) @ np.einsum("x,lxk,xk->l", w, shared, noise.mean)
    rest = noise.mean - np.einsum("l,lxk->xk", along, shared)
    spread = float(w @ (rest**2).sum(axis=1))
    trace = float(w @ np.trace(noise.own, axis1=1, axis2=2))
    kept = np.sqrt(max(0.0, 1.0 - trace / spread)) if spread > 0 else 0.0
    length = float(np.linalg.norm(along))
    way = along / length if length > 0 else np.eye(len(along))[0]
    reach = float(noise.quantile(FAR))
    steps = along + np.linspace(-reach, reach, 2 * STEPS - 1)[:, None] * way
    return np.asarray(kept * rest + np.einsum("sl,lxk->sxk", steps, shared))


def _single(noise: Noise, tail: float) -> FloatArray:
    """Ends [2,X,2] of r^b and r^v of each group separately, from truths along its mean."""
    size = noise.bias(noise.mean)
    sd = np.sqrt(np.trace(noise.total, axis1=1, axis2=2))
    theta = _tried(size, sd + np.sqrt(noise.risk_variance[:-1]))
    truth = theta[..., None] * _direction(noise)
    root, f, mass = _own_nodes(noise)
    e = np.einsum("ql,xlk->qxk", f, root)
    value = noise.bias(truth[:, None] + e)
    inverse = np.linalg.pinv(noise.total, hermitian=True)
    pull = np.einsum("xk,xkl->xl", noise.risk_cross, inverse)
    rest = noise.risk_variance[:-1] - np.einsum("xk,xk->x", pull, noise.risk_cross)
    width = np.maximum(0.1 * sd, 1e-150)
    wide = np.sqrt(np.maximum(rest, 0.0) + width**2)
    shift = np.einsum("qxk,xk->qx", e, pull)

    def share(x: FloatArray, spread: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("q,sqx->sx", mass, ndtr(x / spread)))

    lifted = np.maximum(size, mass @ value[0])
    low, high = share(size - value, width), share(lifted - value, width)
    rest_share = share(value - size - shift, wide)
    ends = np.empty((2, size.size, 2))
    ends[0, :, 0] = crossing(theta, 1 - tail - low)
    ends[0, :, 1] = crossing(theta, tail - high)
    ends[1, :, 0] = noise.risk - crossing(theta, rest_share - (1 - tail))
    ends[1, :, 1] = noise.risk - crossing(theta, rest_share - tail)
    above = np.flatnonzero(rest_share[0] > tail)  # parity is kept, and r^v may be above r
    at, spread = (shift - value[0])[:, above], wide[above]
    least = solved(lambda x: mass @ ndtr((x - at) / spread), tail, -8 * (sd + wide)[above])
    ends[1, above, 1] = np.maximum(ends[1, above, 1], (noise.risk - size)[above] - least)
    return ends


def _own_nodes(noise: Noise) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Roots [X,k,k] of the groups' covariances, and nodes [Q,k] with weights for them."""
    roots, k = _roots(noise.total), noise.mean.shape[1]
    if noise.nodes[0].shape[1] == 1 and k == 1:
        return roots, *noise.nodes
    stretch = float(noise.quantile(0.975)) / 1.959964
    n = 4 * noise.nodes[0].shape[0]
    return roots, stretch * normal_nodes(n, k), np.full(n, 1.0 / n)


def _skewed(
    values: FloatArray, reach: FloatArray, skewness: FloatArray, spread: FloatArray
) -> FloatArray:
    """Ends [n,2] of values ± reach for means whose distribution is skewed (Hall 1992).

    t + g (t²/3 + 1/6) + g² t³/27 has no skewness left when t has g; its inverse is a cube root.
    """
    t = np.divide(reach, spread, out=np.zeros_like(values), where=spread > 0)
    g = np.where(np.abs(skewness) < 1e-6, 1e-6, skewness)
    ends = [values - spread * (np.cbrt(1 + g * (x - g / 6)) - 1) * 3 / g for x in (t, -t)]
    return np.stack(ends, axis=1)


def _log_odds(values: FloatArray, reach: FloatArray, top: float) -> FloatArray:
    """Ends [n,2] of values ± reach on the scale of log(v / (top - v)); of log v for top = inf.

    A value less than its reach from 0, as the noise of counting leaves some, has the arms of one
    that far: the scale would stretch them without end.
    """
    at = np.maximum(values, np.minimum(reach, top / 2))
    room = np.ones_like(at) if np.isinf(top) else 1 - at / top
    inside = (at > 0) & (room > 0)
    size = np.divide(reach, at * room, out=np.zeros_like(at), where=inside)
    factor = np.exp(np.minimum(size, 30.0))
    low, high = at / (factor * room + at / top), at * factor / (room + at * factor / top)
    plain = np.stack([values - reach, values + reach], axis=1)
    ends = np.stack([low, high], axis=1) + (values - at)[:, None]
    return np.where(inside[:, None], ends, plain)


def _range(theta: FloatArray, inside: FloatArray) -> list[float]:
    """Smallest and largest theta where inside >= 0, interpolated linearly; [] if there is none."""
    ok = inside >= 0
    if not ok.any():
        return []
    turn = np.flatnonzero(ok[1:] != ok[:-1])
    share = inside[turn] / (inside[turn] - inside[turn + 1])
    every = np.append(theta[ok], theta[turn] + share * (theta[turn + 1] - theta[turn]))
    return [float(every.min()), float(every.max())]


def solved(share: Callable[[FloatArray], FloatArray], tail: float, low: FloatArray) -> FloatArray:
    """x [n] from `low` up to 0 at which a rising share(x) reaches tail, by halving."""
    high = np.zeros_like(low)
    for _ in range(40):
        middle = (low + high) / 2
        over = share(middle) > tail
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return high


def crossing(truth: FloatArray, values: FloatArray) -> FloatArray:
    """Where values [S,X], rising along truth [S,X], first reach 0: 0 and the last at the ends."""
    above = values >= 0
    right = np.where(above.any(axis=0), above.argmax(axis=0), len(truth) - 1)[None]
    left = np.maximum(right - 1, 0)
    a, b = np.take_along_axis(values, left, 0)[0], np.take_along_axis(values, right, 0)[0]
    x, y = np.take_along_axis(truth, left, 0)[0], np.take_along_axis(truth, right, 0)[0]
    share = np.clip(np.divide(-a, b - a, out=np.zeros(a.size), where=b > a), 0.0, 1.0)
    return np.asarray(x + share * (y - x))


# --- The sampling error of the means ------------------------------------------------------------


LINE_NODES, QUADRATURE_NODES = 81, 96
"""Nodes over f for two categories, and for more."""

TURNS = 40
"""With more than two categories, rotations of the nodes over own errors: at least
this many over all groups."""


CACHED = 20_000
"""Numbers that a processor's cache holds with what is computed from them."""


@dataclass(frozen=True, eq=False)
class ExtraError:
    """Errors that do not come from the contexts: N independent ones, each of size one standard
    deviation, that move the mean [N,X,K] and the risk [N,X] of every group."""

    mean: FloatArray
    risk: FloatArray


@dataclass(frozen=True, eq=False)
class Noise:
    """Errors of the means of X groups over the contexts; D = X k, k = 1 on a line, else K.

    Attributes:
        mean: [X,k]; risk: [X]; weights: [X], of the groups.
        freedom: degrees of freedom of the variances (Satterthwaite), a mean over groups.
        tail_adjustment: (a, b) of `quantile`.
        total: [X,k,k], covariance of the mean of each group.
        shared: [L,X,k], how far the L factors move each group; own: [X,k,k], what is left of total.
        gram: [D,D], covariance of the rest between groups, each times its weight.
        risk_shared, risk_rest, cross: [L], number, [D]: the error of R along f, the variance of
            its rest, and the covariance of that with the rest of the means (times weight).
        risk_variance: [X+1], of each r, and of R.
        risk_skewness: [X+1], of each r, and of R.
        risk_cross: [X,k], covariance of each r with its own mean.
        mean_squared_correlation: of the rest between groups, minus what few units produce by
            chance.
        ratio, criterion: as in `Units`.
    """

    mean: FloatArray
    risk: FloatArray
    weights: FloatArray
    freedom: float
    tail_adjustment: tuple[float, float]
    total: FloatArray
    shared: FloatArray
    own: FloatArray
    gram: FloatArray
    risk_shared: FloatArray
    risk_rest: float
    cross: FloatArray
    risk_variance: FloatArray
    risk_skewness: FloatArray
    risk_cross: FloatArray
    mean_squared_correlation: float
    ratio: FloatArray | None
    criterion: Criterion

    @classmethod
    def of(cls, units: Units, more: ExtraError | None = None) -> Noise:
        """The noise of these units."""
        k = 1 if units.ratio is not None else units.s.shape[2]
        w, q = units.group_weights, units.spread
        factor = np.sqrt(np.where(q < 1 - 1e-9, q / np.maximum(1 - q, 1e-9), 0.0))
        skewness = _skewness(units)
        e, e_risk = units.centred(k), units.centred_risk()
        e *= factor[:, None]
        e_risk *= factor
        if more is not None:
            e = np.concatenate([e, more.mean[..., :k]])
            e_risk = np.concatenate([e_risk, more.risk])
        U, X, _ = e.shape
        freedom = float(w @ units.freedom)
        of_R = e_risk @ w
        f, size, _ = np.linalg.svd(np.einsum("x,uxk->uk", w, e), full_matrices=False)
        known = int(np.count_nonzero(size > 1e-9 * size[0]))
        f = f[:, : max(1, min(known, units.s.shape[2] - 1))]
        flat = e.reshape(U, X * k)
        shared = f.T @ flat
        rest = f @ shared
        np.subtract(flat, rest, out=rest)
        total = np.einsum("uxk,uxl->xkl", e, e, optimize=True)
        shared = _drawn_together(shared.reshape(-1, X, k), w, rest, freedom)
        own = _definite(total - np.einsum("lxk,lxm->xkm", shared, shared), total)
        along = f.T @ of_R
        of_rest = of_R - f @ along
        weight = np.repeat(w, k)
        gram = rest.T @ rest
        return cls(
            mean=units.mean[:, :k],
            risk=units.risk,
            weights=w,
            freedom=freedom,
            tail_adjustment=units.tail_adjustment,
            total=total,
            shared=shared,
            own=own,
            gram=gram * np.outer(weight, weight),
            risk_shared=along,
            risk_rest=float(of_rest @ of_rest),
            cross=(rest.T @ of_rest) * weight,
            risk_variance=np.append((e_risk**2).sum(axis=0), of_R @ of_R),
            risk_skewness=skewness,
            risk_cross=np.einsum("ux,uxk->xk", e_risk, e),
            mean_squared_correlation=_mean_squared_correlation(gram, w, k, max(freedom - 1.0, 1.0)),
            ratio=units.ratio,
            criterion=units.criterion,
        )

    def quantile(self, tail: FloatArray | float) -> FloatArray:
        """Quantile of a studentised weighted mean: Student's, adjusted for uneven weights.

        A heavily weighted unit moves the mean and the variance around it together, so their ratio
        has lighter tails: t² becomes t² (1 - q) / (a + b t²), with q = sum of w², T = sum of w³,
        a = 1 - T/q, b = T/q - q; for even weights that is t² itself.
        """
        t = stdtrit(self.freedom, tail)
        a, b = self.tail_adjustment
        return np.asarray(t * np.sqrt((a + b) / (a + b * t * t)))

    @cached_property
    def nodes(self) -> tuple[FloatArray, FloatArray]:
        """[Q,L] values of f with weights [Q]."""
        L = self.shared.shape[0]
        if L == 1:
            at, mass = np.polynomial.legendre.leggauss(LINE_NODES)
            return self.quantile((at + 1) / 2)[:, None], mass / 2
        stretch = float(self.quantile(0.975) / ndtri(0.975))
        return stretch * normal_nodes(QUADRATURE_NODES, L), np.full(
            QUADRATURE_NODES, 1.0 / QUADRATURE_NODES
        )

    @cached_property
    def own_nodes(self) -> FloatArray:
        """[N,X,k], own errors of each group.

        k axes, both ways, rotated for each group, so that what a few nodes miss averages out
        over the groups. Axes have two lengths in turn, which give the length of a normal vector
        its right mean (J is proportional to length at parity) and mean square.
        """
        X, k = self.mean.shape
        turns = -(-TURNS // X)
        axes, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((turns, X, k, k)))
        length = np.sqrt(2.0) * np.exp(gammaln((k + 1) / 2) - gammaln(k / 2))
        sign = (-1.0) ** np.add.outer(np.add.outer(np.arange(turns), np.arange(X)), np.arange(k))
        axes = axes * (length + sign * np.sqrt(k - length**2))[..., None]
        nodes = np.moveaxis(axes, 2, 1).reshape(turns * k, X, k)
        nodes = np.einsum("ixk,xkl->ixl", nodes, _roots(self.own))
        return np.concatenate([nodes, -nodes])

    @cached_property
    def folds(self) -> _Folds | None:
        """J as a sum of sizes, on a line and on a scale of points; None elsewhere."""
        if self.ratio is not None:
            half, rest = (1 + self.ratio) / 2, (1 - self.ratio) / 2
            return _Folds.of(np.eye(1), half[:, None], rest[:, None], self.own)
        steps = self.criterion.steps
        return None if steps is None else _Folds.of(steps, self.criterion.gaps, 0.0, self.own)

    @cached_property
    def groups_worth(self) -> float:
        """The effective number of independent groups in the rest."""
        even, rho2 = float(self.weights @ self.weights), self.mean_squared_correlation
        return 1.0 / (rho2 + (1 - rho2) * even)

    def bias(self, mean: FloatArray) -> FloatArray:
        """J of means [..,X,k]: [..,X]."""
        if self.ratio is None:
            return self.criterion(mean)
        u, c = mean[..., 0], self.ratio
        return np.asarray((1 + c) / 2 * np.abs(u) + (1 - c) / 2 * u)

    def expected(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """J(at + own error), for at [S,Q,X,k]: mean [S,Q,X], mean gradient [S,Q,X,k], nonlinear
        variance [S,Q,X], and the growth of the mean with the size of the error [S,Q,X]."""
        folds = self.folds
        mean, bent, grow = np.zeros((3, *at.shape[:-1]))
        slopes = np.zeros(at.shape)
        step = max(1, CACHED // at[0].size)  # few at a time
        for row in (slice(i, i + step) for i in range(0, len(at), step)):
            part = self._nodes_mean(at[row]) if folds is None else folds.mean(at[row])
            mean[row], slopes[row], bent[row], grow[row] = part
        return mean, slopes, bent, grow

    def _nodes_mean(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """`expected` of at [S,Q,X,k] by nodes over the own errors, category by category."""
        nodes = np.ascontiguousarray(np.moveaxis(self.own_nodes, -1, 1))
        here = np.ascontiguousarray(np.moveaxis(at, -1, 0))
        first, second = np.zeros((2, *at.shape[:-1]))
        slopes = np.zeros(here.shape)
        for own in nodes[:, :, None, None]:
            x = here + own
            slope = np.moveaxis(self.criterion.gradient(np.moveaxis(x, 0, -1)), -1, 0)
            value = (slope * x).sum(axis=0)  # J(a s) = a J(s), so J is slope times s
            slopes += slope
            first += value
            second += value * value
        first, second, slopes = (part / len(nodes) for part in (first, second, slopes))
        grow = first - (slopes * here).sum(axis=0)  # slope times own error
        slopes = np.moveaxis(slopes, 0, -1)
        linear = np.einsum("...xk,xkl,...xl->...x", slopes, self.own, slopes, optimize=True)
        return first, slopes, np.maximum(second - first**2 - linear, 0.0), grow

    def of_means(self, truth: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The plug-in R^b when the means are `truth` [S,X,k], given each f: its mean [S,Q], its
        linear variance, that of R - R^b, and the nonlinear variance."""
        w, (f, _) = self.weights, self.nodes
        at = truth[:, None] + np.einsum("ql,lxk->qxk", f, self.shared)
        mean, slopes, bent, grow = self.expected(at)
        d = slopes.reshape(*slopes.shape[:2], -1)
        linear = np.einsum("sqd,sqd->sq", d @ self.gram, d)
        gap = np.maximum(self.risk_rest - 2 * d @ self.cross + linear, 0.0)
        rho2 = self.mean_squared_correlation
        other = (1 - rho2) * bent @ w**2 + rho2 * (np.sqrt(bent) @ w) ** 2
        # The size of the noise is estimated too, and the mean grows with it.
        other = other + (grow @ w) ** 2 / (2 * self.freedom * self.groups_worth)
        return mean @ w, linear, gap, other

    def below(self, x: FloatArray, linear: FloatArray, other: FloatArray) -> FloatArray:
        """Share of errors at most x: Student's, with the freedom of both variances [..]."""
        whole = linear + other
        parts = linear**2 / self.freedom + other**2 / (self.freedom * self.groups_worth)
        freedom = np.divide(whole**2, parts, out=np.full_like(whole, 1e6), where=parts > 0)
        t = x / np.sqrt(np.where(whole > 0, whole, 1e-300))
        return np.asarray(stdtr(np.clip(freedom, 1.0, 1e6), np.clip(t, -1e9, 1e9)))


@dataclass(frozen=True, eq=False)
class _Folds:
    """J(s) = sum over j of a_j |b_j s| + c_j b_j s, whose mean over normal errors is known.

    Attributes:
        steps: [J,k], b; size, plain: a and c, [J] or [X,J].
        sd: [X,J], of the error of b_j s; alike: [X,J,J], squares of the correlations between them.
    """

    steps: FloatArray
    size: FloatArray
    plain: FloatArray | float
    sd: FloatArray
    alike: FloatArray

    @classmethod
    def of(
        cls, steps: FloatArray, size: FloatArray, plain: FloatArray | float, own: FloatArray
    ) -> _Folds:
        covariance = steps @ own @ steps.T
        sd = np.sqrt(np.maximum(np.diagonal(covariance, axis1=1, axis2=2), 0.0))
        both = sd[:, :, None] * sd[:, None, :]
        alike = np.divide(covariance, both, out=np.zeros_like(both), where=both > 0) ** 2
        return cls(steps, size, plain, sd, alike)

    def mean(self, at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """As `Noise.expected`; folded normal distributions, whose nonlinear parts correlate as
        the squares of the errors do."""
        u, sd = at @ self.steps.T, self.sd
        t = np.clip(u / np.maximum(sd, 1e-150), -37.0, 37.0)  # beyond, exp and ndtr are 0 or 1
        density = sd * np.exp(-t * t / 2) * np.sqrt(2 / np.pi)
        sign = 2 * ndtr(t) - 1
        fold = u * sign + density
        bent = np.maximum(u * u + sd * sd - fold * fold - (sign * sd) ** 2, 0.0)
        each = self.size * np.sqrt(bent)
        return (
            (self.size * fold + self.plain * u).sum(axis=-1),
            (self.size * sign + self.plain) @ self.steps,
            np.einsum("...xj,xji,...xi->...x", each, self.alike, each, optimize=True),
            (self.size * density).sum(axis=-1),
        )


def _skewness(units: Units) -> FloatArray:
    """[X+1], skewness of the weighted means r and R, from that of the units, at most 1.2."""
    away, root = units.centred_risk(), np.sqrt(units.weight / units.total)
    np.divide(away, root, out=away, where=root > 0)
    del root
    away = np.append(away, (away @ units.group_weights)[:, None], axis=1)
    two, three = float(np.sum(units.slots**2)), float(np.sum(units.slots**3))
    second = units.share @ away**2 / (1 - two)
    third = units.share @ away**3 / max(1 - 3 * two + 2 * three, 1e-3)
    size = (two * second) ** 1.5
    found = np.divide(three * third, size, out=np.zeros_like(size), where=size > 1e-24)
    return np.clip(found, -1.2, 1.2)


def _drawn_together(
    shared: FloatArray, weights: FloatArray, rest: FloatArray, freedom: float
) -> FloatArray:
    """Loadings [L,X,k] shrunk towards their mean over groups by the noise in their spread."""
    L, X, k = shared.shape
    middle = np.einsum("x,lxk->lk", weights, shared)[:, None]
    spread = float(np.einsum("x,lxk->", weights, (shared - middle) ** 2))
    noise = L * float(weights @ (rest**2).sum(axis=0).reshape(X, k).sum(axis=1)) / freedom
    kept = max(0.0, 1.0 - noise / spread) if spread > 0 else 0.0
    return np.asarray(middle + kept * (shared - middle))


def _definite(own: FloatArray, total: FloatArray) -> FloatArray:
    """Covariances [X,k,k] without negative directions, at least 1e-4 of the total."""
    values, vectors = np.linalg.eigh(own)
    least = 1e-4 * np.trace(total, axis1=1, axis2=2)[:, None] / own.shape[-1]
    return np.asarray((vectors * np.maximum(values, least)[:, None]) @ np.swapaxes(vectors, 1, 2))


def _roots(covariance: FloatArray) -> FloatArray:
    values, vectors = np.linalg.eigh(covariance)
    root = np.sqrt(np.maximum(values, 0.0))
    return np.asarray((vectors * root[:, None]) @ np.swapaxes(vectors, 1, 2))


def _mean_squared_correlation(
    gram: FloatArray, weights: FloatArray, k: int, freedom: float
) -> float:
    """Mean squared correlation between groups, minus the 1/freedom expected by chance."""
    X = weights.size
    square = (gram**2).reshape(X, k, X, k).sum(axis=(1, 3))
    size = np.diag(gram).reshape(X, k).sum(axis=1)
    pairs = np.outer(weights * (size > 0), weights * (size > 0))
    np.fill_diagonal(pairs, 0.0)
    if not pairs.any() or freedom <= 1:
        return 0.0
    size = np.where(size > 0, size, 1.0)
    found = float((pairs * square / np.outer(size, size)).sum() / pairs.sum())
    return min(1.0, max(0.0, (found - 1 / freedom) / (1 - 1 / freedom)))
