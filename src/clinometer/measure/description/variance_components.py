"""Variance of the stereotype by group, context and interaction; which contexts pull a group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clinometer.display.text import Plain
from clinometer.errors import SettingsError
from clinometer.measure.distribution import (
    StereotypeDistribution,
    stereotype_distribution,
)
from clinometer.measure.grid import PreferenceGrid
from clinometer.statistics.arrays import ROUNDING, FloatArray


@dataclass(frozen=True)
class LabelShare(Plain):
    """What a labelling of contexts (source, predicate class) explains.

    Attributes:
        name: of the labelling.
        n_labels: labels that carry weight.
        context: share of the context component that lies between labels; None if that is 0.
        interaction: share of the interaction between labels: groups that one label favours.
        by_chance: the share that meaningless labels would have on average.
    """

    name: str
    n_labels: int
    context: float | None
    interaction: float | None
    by_chance: float | None


@dataclass(frozen=True)
class Components(Plain):
    """Weighted sums of squares of a stereotype, as `variance_components` gives them.

    Attributes:
        category: whose stereotype; None if each group's favoured category was used.
        mean: weighted mean over all cells.
        total: weighted variance around it.
        group, context, interaction: its components; `interaction` includes the residual, since
            each cell was scored once.
        shared: what group and context explain only jointly; 0 unless cells are missing (or
            weights differ by group), then of either sign.
        labels: one entry for each labelling given.
    """

    category: str | None
    mean: float
    total: float
    group: float
    context: float
    interaction: float
    shared: float
    labels: tuple[LabelShare, ...]

    def table(self) -> list[dict[str, Any]]:
        """One plain row per component: component, variance, share (None if nothing varies)."""
        parts = ("group", "context", "interaction", "shared")
        return [
            {
                "component": name,
                "variance": getattr(self, name),
                "share": getattr(self, name) / self.total if self.total > 0 else None,
            }
            for name in parts
        ]


@dataclass(frozen=True)
class Pull(Plain):
    """A context that moves the mean stereotype of a group away from where the others put it.

    Attributes:
        group, context: which (context is its index).
        direction: "up" towards the category, "down" away from it.
        stereotype: s of the cell.
        weight: w_c within the group.
        contribution: w_c (s_c - mean s); over all contexts of a group they sum to 0.
    """

    group: str
    context: int
    direction: str
    stereotype: float
    weight: float
    contribution: float


def variance_components(
    grid: PreferenceGrid,
    *,
    category: str | None = None,
    labels: Mapping[str, Sequence[object]] | None = None,
    normalize: bool = True,
) -> Components:
    """Split the variance of the stereotype into group, context and interaction.

    s_xc = mean + alpha_x + beta_c + gamma_xc, with weights w_x w_c. On a complete grid
    total = sum of w_x alpha_x² + sum of w_c beta_c² + sum of w_x w_c gamma_xc² exactly. Group:
    groups lean differently in every context. Context: a context shifts all groups alike.
    Interaction: a context shifts one group and not the others (and noise).

    Args:
        grid, normalize: the preferences, and as in `decompose`.
        category: whose s is split; None takes for each group the category it favours on average,
            so that the group's mean is its bias risk (norm inf).
        labels: name -> [C] labels of the contexts; the variance between labels is split off.

    Missing cells, or weights that differ by group: the additive part is fitted by weighted least
    squares; `group` is what the groups add to the contexts, `context` what the contexts add to
    the groups, and `shared` the rest of the additive part. If nothing varies, all are 0 and the
    shares None.

    >>> from clinometer.measure.grid import read_preferences
    >>> cells = read_preferences([[[0.6, 0.4], [0.8, 0.2]], [[0.4, 0.6], [0.6, 0.4]]])
    >>> parts = variance_components(cells, category="0")
    >>> [round(v, 12) for v in (parts.group, parts.context, parts.interaction)]
    [0.04, 0.04, 0.0]
    """
    d = stereotype_distribution(grid, normalize=normalize)
    s, w = _scores(d, category), d.weights * d.group_weights[:, None]
    s = np.where(w > 0, s, 0.0)
    w = w / w.sum()
    kept_x, kept_c = w.sum(axis=1) > 0, w.sum(axis=0) > 0
    s, w = s[np.ix_(kept_x, kept_c)], w[np.ix_(kept_x, kept_c)]
    row, column = w.sum(axis=1), w.sum(axis=0)
    mean = float((w * s).sum())
    total = float((w * (s - mean) ** 2).sum())
    alpha, beta = _additive(s - mean, w)
    gamma = s - mean - alpha[:, None] - beta
    interaction = float((w * gamma**2).sum())
    by_group = float((row * ((w * (s - mean)).sum(axis=1) / row) ** 2).sum())
    by_context = float((column * ((w * (s - mean)).sum(axis=0) / column) ** 2).sum())
    additive = total - interaction
    balanced = bool(np.allclose(w, np.outer(row, column), rtol=1e-9, atol=0))
    group = by_group if balanced else additive - by_context
    context = by_context if balanced else additive - by_group
    shared = 0.0 if balanced else additive - group - context
    numbers = [mean, total, group, context, interaction, shared]
    mean, total, group, context, interaction, shared = (
        0.0 if abs(v) < ROUNDING**2 else v for v in numbers
    )
    shares = tuple(
        _label_share(name, values, kept_c, beta=beta, gamma=gamma, w=w)
        for name, values in (labels or {}).items()
    )
    return Components(category, mean, total, group, context, interaction, shared, shares)


def pulls(
    grid: PreferenceGrid,
    *,
    category: str | None = None,
    top: int = 5,
    normalize: bool = True,
) -> tuple[Pull, ...]:
    """For each group, the contexts that pull its mean stereotype most, up and down.

    The contribution of a context is w_c (s_c - mean s): how far the mean would move if the
    context had the mean value. Upward pulls come first, the strongest first; contexts that do not
    pull are not listed, nor are groups without an observed cell. Arguments as for
    `variance_components`; `top` is the number in each direction, at least 1.

    >>> from clinometer.measure.grid import read_preferences
    >>> cells = read_preferences([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4]])
    >>> [(q.context, q.direction, round(q.contribution, 3)) for q in
    ...  pulls(cells, category="0", top=1)]
    [(0, 'up', 0.133), (1, 'down', -0.067)]
    """
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise SettingsError(f"top: expected a whole number of at least 1, found {top!r}")
    d = stereotype_distribution(grid, normalize=normalize)
    scores = _scores(d, category)
    found: list[Pull] = []
    for x, group in enumerate(d.groups):
        w = d.weights[x]
        s = np.where(w > 0, scores[x], 0.0)
        size = w * (s - w @ s)
        for direction, sign in (("up", 1.0), ("down", -1.0)):
            order = np.argsort(-sign * size, kind="stable")[:top]
            found.extend(
                Pull(group, int(c), direction, float(s[c]), float(w[c]), float(size[c]))
                for c in order
                if sign * size[c] > ROUNDING
            )
    return tuple(found)


def _scores(d: StereotypeDistribution, category: str | None) -> FloatArray:
    """s [X,C] of the category, or of the one that each group favours on average."""
    if category is not None:
        if category not in d.categories:
            known = ", ".join(d.categories)
            raise SettingsError(f"category: expected one of {known}, found {category!r}")
        return np.asarray(d.s[..., d.categories.index(category)])
    seen = np.where((d.weights > 0)[..., None], d.s, 0.0)
    favoured = np.argmax(np.einsum("xc,xcy->xy", d.weights, seen), axis=1)
    return np.asarray(d.s[np.arange(favoured.size), :, favoured])


def _additive(s: FloatArray, w: FloatArray) -> tuple[FloatArray, FloatArray]:
    """alpha [X] and beta [C] of the weighted least squares fit s ~ alpha_x + beta_c.

    The contexts are eliminated, which leaves X equations. Their common constant is free: the
    smallest solution is taken, and both vectors are then centred on 0 as far as possible.
    """
    row, column = w.sum(axis=1), w.sum(axis=0)
    centred = (w * s).sum(axis=0) / column
    matrix = np.diag(row) - (w / column) @ w.T
    alpha = np.linalg.lstsq(matrix, (w * (s - centred)).sum(axis=1), rcond=None)[0]
    alpha = alpha - row @ alpha
    beta = centred - (alpha @ w) / column
    return alpha, beta


def _label_share(
    name: str,
    values: Sequence[object],
    kept: np.ndarray[Any, np.dtype[np.bool_]],
    *,
    beta: FloatArray,
    gamma: FloatArray,
    w: FloatArray,
) -> LabelShare:
    texts = [str(v) for v in values]
    if isinstance(values, str) or len(texts) != kept.size:
        raise SettingsError(
            f"labels: expected {kept.size} labels, one a context, for {name!r}, found {len(texts)}"
        )
    labels = np.unique([t for t, k in zip(texts, kept, strict=True) if k], return_inverse=True)[1]
    member = np.equal.outer(labels, np.arange(int(labels.max()) + 1)).astype(np.float64)
    column = w.sum(axis=0)
    beta = beta - column @ beta
    mass = column @ member
    context = _ratio(float((((column * beta) @ member) ** 2 / mass).sum()), column @ beta**2)
    cells = w @ member
    between = np.divide(
        ((w * gamma) @ member) ** 2, cells, out=np.zeros_like(cells), where=cells > 0
    )
    interaction = _ratio(float(between.sum()), float((w * gamma**2).sum()))
    square = float(column @ column)
    chance = _ratio(float((((column**2) @ member) / mass).sum()) - square, 1.0 - square)
    return LabelShare(name, member.shape[1], context, interaction, chance)


def _ratio(part: float, whole: float) -> float | None:
    return float(part / whole) if whole > ROUNDING**2 else None
