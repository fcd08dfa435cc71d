"""The regression of the paper: judgements on a score (4.4)."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from clinometer.display.text import Plain
from clinometer.extras import require
from clinometer.statistics.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class Odds:
    """The odds of a category against the most frequent one, times `ratio` for each standard
    deviation of the score."""

    outcome: str
    ratio: float
    low: float
    high: float
    p: float


@dataclass(frozen=True)
class LogisticRegression(Plain):
    """A multinomial logistic regression of n judgements on a score, as in 4.4."""

    n: int

    chi2: float
    """Likelihood ratio against a model without the score."""

    df: int
    p: float

    mcfadden: float
    """1 - log-likelihood / that without the score: 0 nothing explained, 1 all."""

    base: str
    """The reference category of the odds: the most frequent one."""

    odds: tuple[Odds, ...]

    problem: str = ""
    """Why the numbers must not be used, "" if the fit succeeded."""


def regression(
    outcome: Sequence[int] | IntArray,
    score: FloatArray,
    *,
    categories: Sequence[str],
    level: float = 0.95,
) -> LogisticRegression:
    """Fit categories (indices into `categories`) on a score, scaled to standard deviation 1.

    Requires two categories that occur, and a score that varies.
    """
    require("a regression", "statsmodels")
    from statsmodels.discrete.discrete_model import MNLogit
    from statsmodels.tools.sm_exceptions import (
        ConvergenceWarning,
        PerfectSeparationWarning,
    )

    codes, y, counts = np.unique(
        np.asarray(outcome), return_inverse=True, return_counts=True
    )
    # The most frequent category is the base: odds against a rare one are noisy.
    is_other = np.arange(len(codes)) != counts.argmax()
    order = np.argsort(is_other, kind="stable")
    rank = np.argsort(order)
    standardised = (score - score.mean()) / score.std(ddof=1)
    design = np.column_stack([np.ones(len(y)), standardised])
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        fit = MNLogit(rank[y], design).fit(method="newton", maxiter=200, disp=False)
        ends = np.asarray(fit.conf_int(1 - level)).reshape(len(codes) - 1, 2, 2)[:, 1]
        slopes = np.asarray(fit.params)[1]
        p_values = np.asarray(fit.pvalues)[1]
    kinds = [warning.category for warning in raised]
    problem = ""
    if any(issubclass(kind, ConvergenceWarning) for kind in kinds):
        problem = "the fit did not converge"
    is_separated = any(issubclass(kind, PerfectSeparationWarning) for kind in kinds)
    if is_separated or not fit.llf < -1e-3:
        problem = "the score separates the categories completely"
    with np.errstate(over="ignore"):
        ratios = np.exp(slopes)
        ends = np.exp(ends)
    names = [categories[k] for k in codes[order].tolist()]
    odds = []
    for k, name in enumerate(names[1:]):
        row = Odds(
            outcome=name,
            ratio=float(ratios[k]),
            low=float(ends[k, 0]),
            high=float(ends[k, 1]),
            p=float(p_values[k]),
        )
        odds.append(row)
    return LogisticRegression(
        n=len(y),
        chi2=float(fit.llr),
        df=int(fit.df_model),
        p=float(fit.llr_pvalue),
        mcfadden=float(fit.prsquared),
        base=names[0],
        odds=tuple(odds),
        problem=problem,
    )
