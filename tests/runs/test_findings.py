"""What must be said in which situation: planted preferences, answers, ratings and comparisons."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from tests.preferences import labelled, pair

from clinometer.measure import compare, preference
from clinometer.measure.correction import Sampling
from clinometer.runs.findings import (
    KINDS,
    Facts,
    Finding,
    comparison_findings,
    facts_of_table,
    statements,
)
from clinometer.runs.folder.record import FloorRecord
from clinometer.statistics.arrays import FloatArray
from clinometer.statistics.estimate import Estimate

MALE = ("male", "female")
YES = ("yes", "no")


def around(
    means: Any,
    contexts: int,
    spread: float = 0.03,
    seed: int = 0,
    *,
    least: float = 0.001,
    most: float = 0.999,
) -> FloatArray:
    """[X, C] shares that scatter around the mean of each group."""
    middle = np.asarray(means, dtype=float)[:, None]
    noise = np.random.default_rng(seed).normal(0, spread, (len(middle), contexts))
    if contexts > 1:
        noise -= noise.mean(axis=1, keepdims=True)
    return np.clip(middle + noise, least, most)


def ratings(means: Any, contexts: int, top: int = 10, spread: float = 0.3) -> FloatArray:
    """[X, C, top]: two neighbouring ratings whose mean scatters around that of the group."""
    at = around(means, contexts, spread, least=1.0, most=top - 1e-9)
    p = np.zeros((*at.shape, top))
    whole = np.floor(at).astype(int) - 1
    part = at - np.floor(at)
    for x, c in np.ndindex(at.shape):
        p[x, c, whole[x, c]] += 1 - part[x, c]
        p[x, c, min(int(whole[x, c]) + 1, top - 1)] += part[x, c]
    return p


def counted(p: FloatArray, replies: int, seed: int = 1) -> tuple[FloatArray, FloatArray]:
    """Shares of sampled replies, and their number."""
    counts = np.random.default_rng(seed).multinomial(replies, p)
    return counts / replies, np.full(p.shape[:2], float(replies))


Later = Callable[[], Facts]
"""Facts that are computed where they are asked for: collecting the tests takes no time."""


def facts(*given: Any, **how: Any) -> Later:
    """The facts of planted preferences, see `_facts`."""
    return cache(partial(_facts, *given, **how))


def _facts(
    p: FloatArray,
    categories: tuple[str, ...] = MALE,
    *,
    reference: Any = None,
    criterion: str | None = None,
    clusters: list[str] | None = None,
    population: str = "similar",
    answers: FloatArray | None = None,
    weights: FloatArray | None = None,
    known: dict[str, Any] | None = None,
) -> Facts:
    """The facts of planted preferences, through the estimators that a user has."""
    table = labelled(
        p,
        categories=categories,
        context_weights=np.ones(p.shape[1]) if weights is None else weights,
        reference=reference,
        criterion=criterion,
        answers=answers,
        sampling=Sampling() if weights is None else Sampling.of_counts(weights),
        labels={} if clusters is None else {"wording": clusters},
    )
    by = None if clusters is None else "wording"
    report = table.estimate(population=population, clusters=by)
    leans = table.leans(clusters=by, known=table.exact(population))
    found = facts_of_table("M", table, report, leans, clusters=by, population=population)
    return replace(found, **(known or {}))


def floor(R: float, p: float, *, width: float = 0.05, p_between: float = 0.5) -> FloorRecord:
    given = Estimate(R, R - width, R + width, 0.95, "shuffled words")
    return FloorRecord(
        shuffles=99, R=given, R_bias=given, R_volatility=given, R_between=given, p=p,
        p_between=p_between,
    )  # fmt: skip


def rates(p: FloatArray, **how: Any) -> Later:
    known = {"favourable": 0, "words": ("“Yes”", "“No”", "“Maybe”"), "context": "question"}
    third = p.shape[2] == 3
    return facts(p, (*YES, "maybe") if third else YES, reference="group-mean", known=known, **how)


def scale(p: FloatArray, **how: Any) -> Later:
    names = tuple(str(i + 1) for i in range(p.shape[2]))
    return facts(p, names, reference="group-mean", criterion="points", **how)


def silent(f: Later) -> Later:
    """The same where no group has an answer."""
    return lambda: replace(
        f(), leans=tuple(replace(g, favoured=None, category=None) for g in f().leans)
    )


def wordings(n: int, contexts: int) -> list[str]:
    return [f"w{c % n}" for c in range(contexts)]


ALIKE = np.repeat(around([0.6], 40, 0.2), 4, axis=0)
SWING = np.where(np.random.default_rng(3).random((4, 40)) < 0.5, 0.1, 0.9)
THIRD = np.concatenate([pair(around([0.9, 0.3], 40, 0.0)) * 0.9999, np.full((2, 40, 1), 1e-4)], -1)
RARE = np.concatenate([pair(around([0.9, 0.3], 40)) * 0.9999, np.full((2, 40, 1), 1e-4)], -1)
MANY = around(np.r_[np.full(117, 0.8), 0.4, 0.45, 0.42], 16)
MISSING = pair(around([0.8, 0.8, 0.8], 40))
MISSING[1] = np.nan
FEW, FEW_N = counted(pair(np.repeat(around([0.5], 40, 0.1), 4, axis=0)), 2)
EIGHT, EIGHT_N = counted(pair(np.full((2, 8), 0.5)), 4, seed=4)
NULL, NULL_N = counted(pair(np.repeat(around([0.5], 30, 0.1), 4, axis=0)), 10)
REAL, REAL_N = counted(pair(around([0.8, 0.5, 0.4, 0.3], 30, 0.05)), 20)
RATED, RATED_N = counted(ratings([5.2, 7.3, 6.0, 6.1], 30), 20)
FIVE = np.random.default_rng(5).dirichlet([9, 1, 1, 1, 1], (3, 40))
SPREAD5 = np.random.default_rng(6).dirichlet([3] * 5, (3, 40))
RACES = ("a", "b", "c", "d", "e")


@dataclass(frozen=True)
class Case:
    """A situation, and what its headline must and must not say."""

    facts: Later
    kind: str
    sure: str
    says: tuple[str, ...]
    never: tuple[str, ...] = ()
    n: int | None = None


NOT_NONE = ("no difference", "none")
CASES: dict[str, Case] = {
    # words, even reference
    "all one way": Case(
        facts(pair(around([0.9, 0.8, 0.7, 0.8], 40))), "words", "clear",
        ("prefers male for 4 of 4 groups", "are clear"), NOT_NONE),
    "extremes": Case(
        facts(pair(around([0.94, 0.4, 0.7], 40))), "words", "clear",
        ("for 2 of 3 groups: g0 most, 94 %; g1 least, 40 %",)),
    "117 of 120": Case(facts(pair(MANY)), "words", "clear", ("for 117 of 120 groups",), NOT_NONE),
    "117 of 120, R not above shuffled words": Case(
        facts(pair(MANY), known={"floor": floor(0.58, 0.5)}), "words", "clear",
        ("for 117 of 120 groups",), ("shuffled", *NOT_NONE)),
    "above shuffled words": Case(
        facts(pair(MANY), known={"floor": floor(0.2, 0.01)}), "words", "clear", ("117 of 120",),
        ("shuffled",)),
    "one word a category": Case(
        facts(pair(MANY), known={"floor": floor(0.58, 1.0, width=0.0)}), "words", "clear",
        ("117 of 120",), ("shuffled",)),
    "swing alone": Case(
        facts(pair(SWING)), "words", "unclear",
        ("which way changes with the context", "no single group leans steadily"), NOT_NONE),
    "parity on average, of one group": Case(
        facts(pair(np.tile([0.9, 0.1], 20)[None])), "words", "unclear",
        ("prefers neither male nor female on average for g0; which way changes with the context",),
        ("clearly",)),
    "parity on average, of three": Case(
        facts(pair(np.tile([0.8, 0.2], (3, 20)))), "words", "unclear",
        ("prefers neither male nor female on average for any of 3 groups",), ("clearly",)),
    "parity everywhere": Case(
        facts(np.full((3, 40, 2), 0.5)), "alike", "exact", ("as the reference in every context",),
        ("lean to",), 1),
    "one group": Case(
        facts(pair(around([0.8], 40))), "words", "clear", ("for g0 (80 %), clearly",)),
    "one group that swings": Case(
        facts(pair(SWING[:1])), "words", "unclear", ("not clearly",)),
    "five contexts": Case(
        facts(pair(around([0.9, 0.8], 5))), "words", "cannot tell",
        ("5 contexts cannot tell whether other contexts would show it",), ("clearly",)),
    "two contexts": Case(
        facts(pair(around([0.9, 0.8], 2))), "words", "cannot tell", ("2 contexts cannot tell",)),
    "one context": Case(
        facts(pair(around([0.9, 0.8], 1))), "words", "cannot tell", ("1 context cannot tell",)),
    "six contexts": Case(
        facts(pair(around([0.9, 0.8], 6))), "words", "clear", ("are clear",)),
    "the whole set": Case(
        facts(pair(around([0.9, 0.4], 40)), population="set"), "words", "exact",
        ("in exactly these 40 contexts",), ("clearly",)),
    "improbable words": Case(
        facts(pair(around([0.9, 0.4], 40)), known={"improbable": 0.8}), "improbable", "cannot tell",
        ("hardly ever writes any of these words", "80 %", "less than 0.1 %"), ("prefers",), 1),
    "probable enough": Case(
        facts(pair(around([0.9, 0.4], 40)), known={"improbable": 0.4}), "words", "clear",
        ("prefers",)),
    "a given reference": Case(
        facts(pair(around([0.9, 0.8], 40)), reference=np.array([0.7, 0.3])), "words", "clear",
        ("more than the reference for 2 of 2",)),
    "a missing group": Case(
        facts(MISSING), "words", "clear", ("for 2 of 2 groups",)),
    "the other way": Case(
        facts(pair(around([0.1, 0.2, 0.3], 40))), "words", "clear", ("prefers female for 3 of 3",)),
    "full agreement of many": Case(
        facts(pair(np.full((3, 40), 0.7))), "words", "clear", ("are clear",)),
    "full agreement of few": Case(
        facts(pair(np.full((3, 10), 0.7))), "words", "clear", ("all 3 are clear",)),
    "one context that outweighs all": Case(
        facts(pair(around([0.9, 0.8], 40)), weights=np.r_[1000.0, np.ones(39)]), "words",
        "clear", ("all 2 are clear",)),
    "half finished": Case(
        facts(pair(around([0.9, 0.8], 40)), known={"finished": False}), "words", "clear",
        ("M so far prefers",)),
    "a corpus": Case(
        facts(pair(around([0.9, 0.8], 40)), weights=np.arange(1.0, 41), population="corpus"),
        "words", "clear", ("are clear",)),
    # several categories
    "five categories": Case(
        facts(FIVE, RACES), "answers", "clear",
        ("furthest from an even split for", "clear leans: 3 to a"), NOT_NONE),
    "five categories, swing alone": Case(
        facts(SPREAD5, RACES), "answers", "unclear", ("no single group leans steadily",), NOT_NONE),
    "five categories, four contexts": Case(
        facts(FIVE[:, :4], RACES), "answers", "cannot tell", ("4 contexts cannot tell",)),
    # decisions
    "90 against 30 %": Case(
        rates(pair(around([0.9, 0.3], 40, 0.0))), "rates", "clear",
        ("answers “Yes” in 90 % of cases for g0 and in 30 % for g1, 60 percentage points apart",),
        NOT_NONE),
    "the same with a third answer of 0.01 %": Case(
        rates(THIRD), "rates", "clear", ("60 percentage points apart",), NOT_NONE),
    "a rare answer and noise": Case(
        rates(RARE), "rates", "clear", ("60 percentage points apart", "2 of 2 groups clearly"),
        NOT_NONE),
    "90 against 30 % of the few that are decided": Case(
        lambda: replace(rates(pair(around([0.9, 0.3], 40, 0.0)))(), other=0.73), "rates", "clear",
        ("answers “Yes” in 90 % of decided cases (27 % of all) for g0 and in 30 %",),
        ("of cases",)),
    "2 against 0.5 %": Case(
        rates(pair(around([0.02, 0.005], 40, 0.001))), "rates", "clear",
        ("2.0 % of cases for g0 and in 0.5 % for g1",), NOT_NONE),
    "12 to 74 %": Case(
        rates(pair(around([0.12, 0.74, 0.4, 0.5], 40))), "rates", "clear",
        ("62 percentage points apart", "clearly differ from the mean"), NOT_NONE),
    "12 to 74 % in three wordings": Case(
        rates(pair(around([0.12, 0.74, 0.4, 0.5], 30)), clusters=wordings(3, 30)), "rates",
        "cannot tell", ("62 percentage points apart", "3 wordings cannot tell"),
        ("clearly", *NOT_NONE)),
    "12 to 74 % in two wordings": Case(
        rates(pair(around([0.12, 0.74], 30)), clusters=wordings(2, 30)), "rates", "cannot tell",
        ("2 wordings cannot tell",), ("clearly", *NOT_NONE)),
    "12 to 74 % in eight wordings": Case(
        rates(pair(around([0.12, 0.74], 80)), clusters=wordings(8, 80)), "rates", "clear",
        ("2 of 2 groups clearly differ",)),
    "treated alike": Case(
        rates(pair(ALIKE)), "alike", "exact", ("alike for every group",), ("percentage",), 1),
    "swings between groups": Case(
        rates(pair(SWING)), "rates", "unclear", ("no single group leans steadily",), NOT_NONE),
    "one of four differs": Case(
        rates(pair(around([0.5, 0.5, 0.5, 0.9], 40))), "rates", "clear", ("g3",), NOT_NONE),
    "replies of a fair model": Case(
        rates(NULL, answers=NULL_N), "rates", "unclear",
        ("no difference between the 4 groups is clear",), ("clearly",)),
    "two replies of a fair model": Case(
        rates(FEW, answers=FEW_N), "rates", "unclear",
        ("no difference between the 4 groups is clear",), ("clearly", "swings", "which way")),
    "replies of eight contexts that dice explain": Case(
        rates(EIGHT, answers=EIGHT_N), "rates", "unclear",
        ("no difference between the 2 groups is clear",), ("alike", "clearly")),
    "replies that differ": Case(
        rates(REAL, answers=REAL_N), "rates", "clear", ("clearly differ",), NOT_NONE),
    "replies about a whole set": Case(
        rates(REAL, answers=REAL_N, population="set"), "rates", "clear", ("clearly differ",),
        ("exactly these",)),
    "decisions about a whole set": Case(
        rates(pair(around([0.9, 0.3], 40)), population="set"), "rates", "exact",
        ("in exactly these 40 contexts",), ("clearly",)),
    "one group alone": Case(
        rates(pair(around([0.9], 40))), "alike", "exact", ("alike",), (), 1),
    "no favourable answer": Case(
        facts(pair(around([0.9, 0.3], 40)), YES, reference="group-mean"), "answers", "clear",
        ("what all groups get in the same context",)),
    # ratings
    "ratings 5.2 and 7.3": Case(
        scale(ratings([5.2, 7.3, 6.0, 6.1], 40)), "ratings", "clear",
        ("rates g1 highest (7.", "on a scale of 1 to 10", "g0 lowest (5.", "points apart"),
        NOT_NONE),
    "ratings in three wordings": Case(
        scale(ratings([5.2, 7.3], 30), clusters=wordings(3, 30)), "ratings", "cannot tell",
        ("3 wordings cannot tell",), ("clearly", *NOT_NONE)),
    "ratings of replies": Case(
        scale(RATED, answers=RATED_N), "ratings", "clear", ("points apart", "clearly differ"),
        NOT_NONE),
    "equal ratings": Case(
        scale(np.repeat(ratings([5.2], 40), 3, axis=0)), "alike", "exact", ("alike",), (), 1),
    "ratings that swing": Case(
        scale(ratings([5, 5, 5, 5], 40, spread=2.0)), "ratings", "unclear",
        ("no single group leans steadily",), NOT_NONE),
    "a scale of five": Case(
        scale(ratings([2.0, 4.0], 40, top=5)), "ratings", "clear", ("on a scale of 1 to 5",)),
    # nothing
    "no answer": Case(
        silent(facts(pair(around([0.9, 0.8], 40)))), "nothing", "described",
        ("no answer that can be measured",), (), 1),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_headlines(name: str) -> None:
    case = CASES[name]
    found = statements(case.facts())
    first = found[0]
    assert (first.kind, first.sure) == (case.kind, case.sure), first.text
    for part in case.says:
        assert part in first.text
    for part in case.never:
        assert part not in first.text.lower()
    assert case.n is None or len(found) == case.n
    assert {one.kind for one in found} <= set(KINDS)
    assert [*KINDS].index(found[0].kind) == min([*KINDS].index(one.kind) for one in found)


def models(*leans: float, contexts: int = 40, groups: int = 4, seed: int = 0) -> list[FloatArray]:
    """Models over the same contexts, each with its lean for every group."""
    return [pair(around([lean] * groups, contexts, 0.06, seed + i)) for i, lean in enumerate(leans)]


ONE_GROUP = models(0.7, 0.7, groups=6)
ONE_GROUP[0][2] = pair(around([0.95], 40))[0]

#: (models, measure, kind, sure, what the first sentence says, what it never says)
COMPARED: dict[str, tuple[list[FloatArray], str, str, str, tuple[str, ...], tuple[str, ...]]] = {
    "higher": (models(0.8, 0.7), "R", "difference", "clear", ("a clearly higher R than b",), ()),
    "lower": (models(0.6, 0.7), "R", "difference", "clear", ("a clearly lower R than b",), ()),
    "equal": (models(0.7, 0.7), "R", "difference", "unclear", ("do not clearly differ",), ()),
    "the same answers": (models(0.7)[:1] * 2, "R", "difference", "unclear",
                         ("do not clearly differ in R: +0.000",), ()),
    "five contexts": (models(0.8, 0.7, contexts=5), "R", "difference", "cannot tell",
                      ("cannot tell",), ("clearly higher",)),
    "bias risk": (models(0.8, 0.7), "R_bias", "difference", "clear", ("bias risk",), ()),
    "volatility": (models(0.8, 0.7), "R_volatility", "difference", "unclear",
                   ("volatility risk",), ()),
    "between groups": (models(0.8, 0.7), "R_between", "difference", "unclear",
                       ("differ in risk between groups",), ()),
    "one group": (ONE_GROUP, "R", "difference", "clear", ("1 of 6 groups", "g2"), ()),
    "no single group": (models(0.7, 0.7), "R", "difference", "unclear",
                        ("no single group differs clearly",), ()),
    "three models": (models(0.6, 0.7, 0.8), "R", "models", "clear",
                     ("a has the lowest, c the highest R", "3 of 3 pairs"), ()),
    "four models that are equal": (models(0.7, 0.7, 0.7, 0.7), "R", "models", "unclear",
                                   ("No difference between the 4 models is clear",),
                                   ("pairs differ",)),
    "three models in five contexts": (models(0.6, 0.7, 0.8, contexts=5), "R", "models",
                                      "cannot tell", ("cannot tell",), ("clearly",)),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPARED)
def test_verdicts_of_comparisons(name: str) -> None:
    arrays, measure, kind, sure, says, never = COMPARED[name]
    names = list("abcdef"[: len(arrays)])
    groups = [f"g{x}" for x in range(arrays[0].shape[0])]
    found = compare(*arrays, names=names, groups=groups)
    first, *rest = comparison_findings(found, measure=measure)
    assert (first.kind, first.sure) == (kind, sure), first.text
    for part in says:
        assert part in first.text
    for part in never:
        assert part not in first.text
    for d in found.overall:
        if d.low is not None and d.high is not None and d.p_corrected is not None:
            assert (d.low > 0 or d.high < 0) == (d.p_corrected <= 0.05 + 1e-9)
    assert all(isinstance(one, Finding) for one in rest)


def test_there_are_at_least_sixty_situations() -> None:
    assert len(CASES) + len(COMPARED) >= 60


def test_a_fair_model_is_not_found_to_differ() -> None:
    """8 fair models asked with sampled replies: none of their groups is called clear."""
    called = 0
    for seed in range(8):
        fair = np.repeat(around([0.5], 30, 0.1, seed), 4, axis=0)
        shares, n = counted(pair(fair), 10, seed)
        called += statements(rates(shares, answers=n)())[0].sure == "clear"
    assert called <= 1


def test_dice_of_few_replies_are_not_called_swing() -> None:
    """R of two replies a cell is mostly dice: no interval, and no statement that rests on one."""
    said = {one.kind: one for one in statements(rates(FEW, answers=FEW_N)())}
    assert said["size"].low is None
    assert "2 replies a cell are too few to take dice out of it; 3 would do" in said["size"].text
    assert said["steadiness"].sure == "cannot tell"
    assert "so few replies" in said["steadiness"].text
    same = pair(np.ones((2, 10)))
    assert statements(rates(same, answers=np.full((2, 10), 2.0))())[0].kind == "rates"


def test_the_size_of_r_is_said_in_the_unit_of_the_criterion() -> None:
    def size(f: Later) -> str:
        return next(one.text for one in statements(f()) if one.kind == "size")

    assert "the share of answers that would have to change" in size(CASES["90 against 30 %"].facts)
    assert "points)" in size(CASES["ratings 5.2 and 7.3"].facts)
    assert "an even split" in size(CASES["all one way"].facts)


def test_findings_are_plain_values() -> None:
    for one in statements(CASES["12 to 74 %"].facts()):
        row = one.to_dict()
        assert row["text"] == str(one)
        assert isinstance(row["numbers"], dict)


def test_preferences_of_words_can_be_told_from_improbable_ones() -> None:
    """The share of the probability is that of the words, before they are compared."""
    result = preference(np.log([[0.0004, 0.0002]]), [[1, 0], [0, 1]])
    assert float(np.exp(result.log_coverage[0])) < 1e-3
