"""The three reference models of appendix B.2, which mark the ends of the scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure.criterion import Criterion
from clinometer.measure.stereotype import GROUP_MEAN, resolve_reference
from clinometer.statistics.arrays import (
    FloatArray,
    as_real,
)
from clinometer.statistics.weights import normalize_weights, weighted_mean

ReferenceName = Literal["unbiased", "stereotyped", "random"]
REFERENCE_MODELS: tuple[ReferenceName, ...] = ("unbiased", "stereotyped", "random")
"""The names of the reference models."""


class ReferenceRisks(NamedTuple):
    """R, R^b and R^v of a reference model."""

    R: float
    R_bias: float
    R_volatility: float


class RandomOutcomes(NamedTuple):
    """Arguments of `decompose` for the random model in expectation: `decompose(**x._asdict())`."""

    p: FloatArray
    context_weights: FloatArray
    reference: FloatArray | Literal["group-mean"]


def reference_preferences(
    name: Literal["unbiased", "stereotyped"],
    shape: tuple[int, int, int],
    *,
    reference: ArrayLike | Literal["group-mean"] | None = None,
) -> FloatArray:
    """Return the preferences [X,C,Y] of a reference model that always answers alike.

    "unbiased": p = p* (R = R^b = R^v = 0). "stereotyped": all on the category with the largest
    1/p*_y - 1, the first of equals (1, 1, 0 on the normalised scale, exactly). The random model is
    in `random_outcomes`.

    Args:
        name: "unbiased" or "stereotyped".
        shape: (X, C, Y).
        reference: p* as for `resolve_reference`. With one per cell whose rarest category changes
            between contexts, "stereotyped" follows it: R = 1 still, R^b below 1. With
            "group-mean" the groups of "stereotyped" take the categories in turn, and "unbiased"
            gives every group even shares.

    >>> reference_preferences("stereotyped", (1, 2, 2), reference=[0.75, 0.25]).tolist()
    [[[0.0, 1.0], [0.0, 1.0]]]
    """
    _check_name(name, REFERENCE_MODELS[:2])
    _check_shape(shape)
    relative = isinstance(reference, str) and reference == GROUP_MEAN
    expected = resolve_reference(None if relative else reference, shape)
    if name == "unbiased":
        return np.array(np.broadcast_to(expected, shape))
    X, C, K = shape
    answers = np.argmin(expected, axis=-1)
    if relative:
        answers = np.arange(X)[:, None] % K
    return np.asarray(np.eye(K)[np.broadcast_to(answers, (X, C))])


def reference_risks(
    name: ReferenceName,
    *,
    categories: int | ArrayLike,
    criterion: Criterion | None = None,
) -> ReferenceRisks:
    """Return R, R^b, R^v of a reference model, from J of always giving one category.

    unbiased: 0, 0, 0. stereotyped: the largest of these, S = `scale(p*)` for raw equations, and no
    swing. random: their mean with the weights p*_y, all of it swing: K - 1 for raw equations.
    Normalised risks are these divided by S: 1, 1, 0 and (K-1)/S, 0, (K-1)/S, which is 1, 0, 1 for a
    uniform p*. With a skewed p* the random model does not reach 1: it rarely gives the least
    expected category.

    Args:
        name: "unbiased", "stereotyped" or "random".
        categories: K for a uniform reference, or p* itself, [Y].
        criterion: as in `decompose`; None is the paper's. One-hot predictions have one positive s,
            so the norm does not matter.

    >>> reference_risks("random", categories=5)
    ReferenceRisks(R=1.0, R_bias=0.0, R_volatility=1.0)
    """
    _check_name(name)
    criterion = Criterion() if criterion is None else criterion
    star, even = _expected_shares(categories)
    if name == "unbiased":
        return ReferenceRisks(0.0, 0.0, 0.0)
    always_one_category = np.eye(star.size)
    risks = criterion(criterion.stereotypes(always_one_category, star[None]))
    if name == "random":
        risk = weighted_mean(risks, star)
        return ReferenceRisks(risk, 0.0, risk)
    risk = float(risks.max())
    if criterion.points and even:
        # Next to the mean of the groups, these take the points in turn.
        risk = float(risks.mean())
    return ReferenceRisks(risk, risk, 0.0)


def _expected_shares(categories: int | ArrayLike) -> tuple[FloatArray, bool]:
    """Return p* [K], and whether it was given as a number of categories, with even shares."""
    array = as_real(categories, name="categories")
    if array.ndim > 1:
        raise SettingsError(
            f"categories: expected K or one p*, found shape {array.shape}"
        )
    if array.ndim == 1:
        return resolve_reference(array, (1, 1, array.size))[0, 0], False
    is_count = np.isfinite(array) and array >= 2 and array == np.floor(array)
    if not is_count:
        raise SettingsError(
            f"categories: expected a whole number of at least 2, found {array}"
        )
    return resolve_reference(None, (1, 1, int(array)))[0, 0], True


def random_outcomes(
    shape: tuple[int, int, int],
    *,
    reference: ArrayLike | Literal["group-mean"] | None = None,
    context_weights: ArrayLike | None = None,
) -> RandomOutcomes:
    """Return the outcomes of the random model in expectation, without sampling.

    Each context c becomes K outcomes, one per category: p one-hot on y with weight w_c p*_y. So
    `decompose` gives the expected risks, exactly 1, 0, 1 for a uniform p*, without sampling
    noise. `n_contexts` and `n_eff` of such a report count outcomes, not contexts.

    Args:
        shape: (X, C, Y).
        reference: p*, one for all groups and contexts [Y] or "group-mean"; None is uniform.
        context_weights: [C]; None is equal.

    Returns:
        p [X, C·K, K], context_weights [C·K] and the reference.

    >>> from clinometer.measure.risk import decompose
    >>> decompose(**random_outcomes((1, 3, 5))._asdict()).R_volatility.value
    1.0
    """
    _check_shape(shape)
    X, C, K = shape
    relative = isinstance(reference, str) and reference == GROUP_MEAN
    star = resolve_reference(None if relative else reference, (1, 1, K))[0, 0]
    weights = normalize_weights(context_weights, C, name="context_weights")
    first_answer = np.zeros((X, 1), dtype=int)
    if relative:
        # Next to their mean the groups take the categories in turn; each outcome shifts them by
        # one.
        first_answer = np.arange(X)[:, None]
    answers = (first_answer + np.tile(np.arange(K), C)) % K
    return RandomOutcomes(
        p=np.eye(K)[answers],
        context_weights=(weights[:, None] * star).ravel(),
        reference=GROUP_MEAN if relative else star,
    )


def _check_name(name: str, allowed: Sequence[str] = REFERENCE_MODELS) -> None:
    if name not in allowed:
        raise SettingsError(
            f"reference model: expected one of {', '.join(allowed)}, found {name!r}"
        )


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 3 or min(shape) < 1:
        raise SettingsError(
            f"shape: expected (groups, contexts, categories), each at least 1, found {shape}"
        )
