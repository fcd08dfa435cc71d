"""Does a score agree with human judgement? (COBIAS, section 4.4)"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import chi2

from clinometer.display.text import Plain, plain
from clinometer.errors import SettingsError, TableError
from clinometer.extras import require
from clinometer.reliability.people.agreement import Agreement, agreement
from clinometer.reliability.people.ratings import Ratings
from clinometer.reliability.statement import count_words
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.rank import RankCorrelation, spearman

#: Logistic regressions of a judgement on scores; ordinal: proportional odds.
Kind = Literal["multinomial", "ordinal"]


@dataclass(frozen=True)
class Term:
    """One coefficient: the change in log-odds per standard deviation of the factor.

    `odds_ratio` is its exponential. `outcome`: in a multinomial fit, the category whose odds
    against the most frequent one it is; in an ordinal fit "" (the odds of a higher category, at
    every threshold).
    """

    factor: str
    outcome: str
    value: float
    se: float
    z: float
    p: float
    low: float
    high: float
    odds_ratio: float


@dataclass(frozen=True)
class RegressionFit(Plain):
    """A fitted regression.

    chi2, df, p   likelihood ratio against the intercept-only model
    mcfadden      1 - log-likelihood / that of the intercept-only model: 0 nothing explained, 1 all
    base          the reference category of the odds; "" for an ordinal fit
    problem       why the numbers must not be used, "" if the fit succeeded
    """

    kind: Kind
    n: int
    log_likelihood: float
    log_likelihood_null: float
    chi2: float
    df: int
    p: float
    mcfadden: float
    base: str
    terms: tuple[Term, ...]
    problem: str = ""


def fit(
    kind: Kind,
    outcome: Sequence[int] | NDArray[np.int64],
    factors: Mapping[str, FloatArray],
    *,
    categories: Sequence[str],
    level: float = 0.95,
) -> RegressionFit:
    """Fit categories (indices into `categories`) on factors, each scaled to standard deviation 1.

    Categories that do not occur are dropped. Requires at least two others, and factors that vary.
    """
    codes, y, counts = np.unique(np.asarray(outcome), return_inverse=True, return_counts=True)
    if kind == "multinomial":  # odds against a rare category are noisy
        order = np.argsort(np.arange(len(codes)) != counts.argmax(), kind="stable")
        codes, y = codes[order], np.argsort(order)[y]
    names = [categories[int(k)] for k in codes]
    if len(names) < 2:
        raise SettingsError(f"outcome: expected at least two categories, found {', '.join(names)}")
    for name, values in factors.items():
        if not np.ptp(values) > 0:
            raise SettingsError(f"{name}: expected values that vary, found one value only")
    X = np.column_stack([(v - v.mean()) / v.std(ddof=1) for v in factors.values()])
    result, problem = _fitted(kind, y, X)
    shares = np.bincount(y) / len(y)
    null = float(len(y) * (shares @ np.log(shares)))
    reached = float(result.llf)
    df = X.shape[1] * (len(names) - 1 if kind == "multinomial" else 1)
    ratio = 2 * (reached - null)
    if not reached < -1e-3:  # NaN, or perfect prediction: coefficients diverge
        problem = "the factors separate the categories completely"
    return RegressionFit(
        kind=kind,
        n=len(y),
        log_likelihood=reached,
        log_likelihood_null=null,
        chi2=ratio,
        df=df,
        p=float(chi2.sf(ratio, df)),
        mcfadden=1 - reached / null,
        base=names[0] if kind == "multinomial" else "",
        terms=tuple(_terms(kind, result, list(factors), names, level)),
        problem=problem,
    )


def beyond(larger: RegressionFit, smaller: RegressionFit) -> tuple[float, int, float]:
    """Likelihood-ratio test of two nested fits: chi-square, degrees of freedom and p."""
    ratio = max(2 * (larger.log_likelihood - smaller.log_likelihood), 0.0)
    df = larger.df - smaller.df
    return ratio, df, float(chi2.sf(ratio, df))


def _fitted(kind: Kind, y: NDArray[np.int64], X: FloatArray) -> tuple[Any, str]:
    require("a regression", "statsmodels")
    from statsmodels.discrete.discrete_model import MNLogit
    from statsmodels.miscmodels.ordinal_model import OrderedModel
    from statsmodels.tools.sm_exceptions import ConvergenceWarning, PerfectSeparationWarning

    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always")
        try:
            if kind == "multinomial":
                design = np.column_stack([np.ones(len(y)), X])
                result = MNLogit(y, design).fit(method="newton", maxiter=200, disp=False)
            else:
                model = OrderedModel(y, X, distr="logit")
                result = model.fit(method="bfgs", maxiter=500, gtol=1e-8, disp=False)
        except np.linalg.LinAlgError as error:
            raise SettingsError(
                f"{kind} regression: the factors are collinear; leave one of them out"
            ) from error
    if any(issubclass(w.category, PerfectSeparationWarning) for w in raised):
        return result, "the factors separate the categories completely"
    converged = not any(issubclass(w.category, ConvergenceWarning) for w in raised)
    return result, "" if converged else "the fit did not converge"


def _terms(
    kind: Kind, result: Any, factors: list[str], names: list[str], level: float
) -> list[Term]:
    """The coefficients of the factors; constants and thresholds are left out."""
    width = float(ndtri((1 + level) / 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the standard errors of a failed fit; `problem` says so
        values, errors = np.asarray(result.params), np.asarray(result.bse)
    # Constants come first, thresholds last.
    first, outcomes = (1, names[1:]) if kind == "multinomial" else (0, [""])
    values, errors = (a.reshape(-1, len(outcomes))[first:] for a in (values, errors))
    terms = []
    for (j, factor), (k, outcome) in product(enumerate(factors), enumerate(outcomes)):
        b, se = float(values[j, k]), float(errors[j, k])
        z = b / se if se > 0 else float("nan")
        p = float(chi2.sf(z * z, 1))
        ends = b - width * se, b + width * se
        terms.append(Term(factor, outcome, b, se, z, p, *ends, odds_ratio=float(np.exp(b))))
    return terms


LENGTH = "length"


@dataclass(frozen=True)
class Validation:
    """A score compared with human judgements.

    correlation     Spearman's correlation of the score and the mean judgement
    given_length    the same, controlling for the number of words; None without texts
    with_length     correlation of score and length
    outcome         items by their median judgement (the lower of two middle ones; for words, the
                    most frequent): the response of the regressions
    multinomial, ordinal
                    None if the judgements have no order or the score has nothing to explain
    length_added    what the score adds to length in the ordinal regression: chi-square, df, p
    unmatched       ids with only a score or only a judgement
    """

    score: str
    items: int
    unmatched: int
    agreement: Agreement
    correlation: RankCorrelation | None
    given_length: RankCorrelation | None
    with_length: RankCorrelation | None
    outcome: Mapping[str, int]
    multinomial: RegressionFit
    ordinal: RegressionFit | None
    length_added: tuple[float, int, float] | None

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        people = self.agreement.to_dict()["summary"]
        added = self.length_added
        return {
            "summary": {
                "score": self.score,
                "items": self.items,
                "unmatched": self.unmatched,
                "spearman": plain(self.correlation),
                "spearman_given_length": plain(self.given_length),
                "spearman_score_length": plain(self.with_length),
                "fleiss_kappa": people["fleiss_kappa"],
                "krippendorff_alpha": people["krippendorff_alpha"],
            },
            "outcome": dict(self.outcome),
            "multinomial": plain(self.multinomial),
            "ordinal": plain(self.ordinal),
            "score_beyond_length": None
            if added is None
            else {"chi2": added[0], "df": added[1], "p": added[2]},
        }


def validate(
    ratings: Ratings,
    scores: Mapping[str, float],
    *,
    texts: Mapping[str, str] | None = None,
    score: str = "score",
    replicates: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Validation:
    """Compare a score (id -> number) with judgements of the same ids; texts give the length.

    Judgements that are words (yes, no) have no mean, so there is no correlation, and no ordinal
    regression unless there are exactly two categories.
    """
    kept = [i for i, item in enumerate(ratings.items) if item in scores]
    judged = [i for i in kept if (ratings.codes[i] >= 0).any()]
    ids = [ratings.items[i] for i in judged]
    if len(ids) < 3:
        raise TableError(
            f"scores: expected at least three ids that are also judged, found {len(ids)}"
        )
    x = np.array([scores[item] for item in ids])
    if not np.isfinite(x).all():
        raise TableError(f"scores: expected numbers, found {x[~np.isfinite(x)][0]}")
    known = {**(texts or {}), **ratings.texts}
    words = None
    if all(item in known for item in ids):
        words = np.array([float(count_words(known[item])) for item in ids])
        words = words if np.ptp(words) > 0 else None
    outcome = _consensus(ratings, judged)
    ordered = ratings.numeric or len(ratings.categories) == 2
    draws: dict[str, Any] = {"replicates": replicates, "level": level, "seed": seed}
    means = ratings.means()[judged] if ratings.numeric else None
    factors = {score: x}
    options: dict[str, Any] = {"categories": ratings.categories, "level": level}
    ordinal = fit("ordinal", outcome, factors, **options) if ordered else None
    added = None
    if ordinal is not None and words is not None:
        length = fit("ordinal", outcome, {LENGTH: words}, **options)
        added = beyond(fit("ordinal", outcome, {LENGTH: words, **factors}, **options), length)
    places, counts = np.unique(outcome, return_counts=True)
    return Validation(
        score=score,
        items=len(ids),
        unmatched=len(ratings.items) + len(scores) - 2 * len(kept),
        agreement=agreement(ratings, **draws),
        correlation=None if means is None else spearman(x, means, **draws),
        given_length=None
        if means is None or words is None
        else spearman(x, means, given=words, **draws),
        with_length=None if words is None else spearman(x, words, **draws),
        outcome={ratings.categories[int(k)]: int(n) for k, n in zip(places, counts, strict=True)},
        multinomial=fit("multinomial", outcome, factors, **options),
        ordinal=ordinal,
        length_added=added,
    )


def _consensus(ratings: Ratings, chosen: list[int]) -> NDArray[np.int64]:
    """[n] one category per item: the median of numbers, the most frequent (or first) of words."""
    if not ratings.numeric:
        return np.asarray(ratings.counts[chosen].argmax(axis=1))
    codes = np.sort(ratings.codes[chosen], axis=1)  # missing judgements, -1, come first
    missing = (codes < 0).sum(axis=1)
    place = missing + (codes.shape[1] - missing - 1) // 2
    return np.asarray(np.take_along_axis(codes, place[:, None], axis=1)[:, 0])
