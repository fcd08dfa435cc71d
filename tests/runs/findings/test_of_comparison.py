"""Which of two models has more risk, and which groups differ: by corrected p-values and signs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from clinometer.measure import Comparison
from clinometer.measure.differences import Difference
from clinometer.runs.findings.of_comparison import (
    comparison_findings,
    difference_finding,
    groups_finding,
)


def difference(
    value: float,
    *,
    group: str | None = None,
    p: float = 0.001,
    corrected: float = 0.001,
    ends: tuple[float, float] | None = None,
    models: tuple[str, str] = ("a", "b"),
) -> Difference:
    low, high = ends or (None, None)
    measure = "R" if group is None else "r"
    a, b = models
    return Difference(a, b, measure, group, value, low, high, p, corrected)


def comparison(
    *overall: Difference, by_group: tuple[Difference, ...] = ()
) -> Comparison:
    ranks = [
        SimpleNamespace(model=name, measure="R", value=value)
        for name, value in [("a", 0.1), ("b", 0.2), ("c", 0.3)]
    ]
    made = SimpleNamespace(
        overall=overall, by_group=by_group, level=0.95, n_eff=40.0, ranks=ranks
    )
    return cast(Comparison, made)


@pytest.mark.parametrize(
    ("value", "ends", "direction"),
    [(0.2, (0.1, 0.3), "higher"), (-0.2, (-0.3, -0.1), "lower")],
)
def test_the_first_model_has_the_higher_risk_where_the_difference_is_positive(
    value: float, ends: tuple[float, float], direction: str
) -> None:
    finding = difference_finding(difference(value, ends=ends), comparison())
    assert f"a has a clearly {direction} R than b" in finding.text


def test_a_group_differs_by_its_corrected_p_value() -> None:
    """At 95 %; the third is clear before the correction only."""
    groups = (
        difference(0.1, group="x", corrected=0.04),
        difference(-0.3, group="y", corrected=0.05),
        difference(0.5, group="z", p=0.01, corrected=0.06),
    )
    pair = difference(0.1)
    finding = groups_finding(comparison(pair, by_group=groups), pair)
    assert finding is not None
    assert finding.tally == {"clear": 2, "undecided": 1}
    assert finding.clear == 2  # the undecided are on no side
    assert finding.words["most"] == "y"  # |-0.3| > |0.1|


def test_a_pair_of_several_models_differs_by_its_corrected_interval() -> None:
    """The p-value alone would list every pair; intervals are corrected for all of them."""
    clear = difference(-0.2, models=("a", "c"), ends=(-0.3, -0.1))
    open_pairs = [
        difference(-0.1, models=models, p=0.04, corrected=0.1, ends=(-0.3, 0.1))
        for models in (("a", "b"), ("b", "c"))
    ]
    finding = comparison_findings(comparison(clear, *open_pairs))[0]
    assert finding.kind == "models"
    assert finding.tally == {"clear": 1, "undecided": 2}
    assert finding.words == {"lowest": "a", "highest": "c"}
