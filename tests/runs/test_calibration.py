"""A judge that errs about one group is noticed, and one that errs alike is not."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from clinometer.runs.calibration import errors_by_group


def labels(
    rates: dict[str, float], n: int, rng: np.random.Generator
) -> tuple[dict[str, str], ...]:
    people, judge, groups = {}, {}, {}
    for group, rate in rates.items():
        for i in range(n):
            key = f"{group}{i}"
            groups[key], people[key] = group, "Yes"
            judge[key] = "no" if rng.random() < rate else " yes"
    return people, judge, groups


def test_a_judge_that_errs_about_one_group_is_noticed(rng: np.random.Generator) -> None:
    people, judge, groups = labels({"a": 0.05, "b": 0.05, "c": 0.5, "d": 0.05}, 30, rng)
    worst, *rest = errors_by_group(people, judge, groups)
    assert worst.group == "c"
    assert worst.p < 0.001
    assert all(one.p > 0.05 for one in rest)
    k = sum(judge[key] == "no" for key in people if groups[key] == "c")
    ends = proportion_confint(k, 30, method="wilson")
    assert (worst.errors.low, worst.errors.high) == pytest.approx(ends, abs=1e-12)


def test_a_judge_that_errs_alike_is_seldom_said_to_differ(
    rng: np.random.Generator,
) -> None:
    said = 0
    for _ in range(100):
        made = errors_by_group(*labels(dict.fromkeys("abcd", 0.15), 20, rng))
        said += any(one.p < 0.05 for one in made)
    assert said <= 10


def test_replies_without_a_label_or_a_group_do_not_count() -> None:
    assert errors_by_group({"1": "yes"}, {"1": "yes"}, {}) == []
