from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from clinometer.errors import SettingsError
from clinometer.measure import RiskReport, decompose, reference_risks
from clinometer.measure.criterion import Criterion
from clinometer.measure.reference_models import (
    REFERENCE_MODELS,
    ReferenceName,
    random_outcomes,
    reference_preferences,
)

SKEWED = np.array([0.5, 0.3, 0.2])
WRONG: Any = "fair"
SHORT: Any = (1, 2)


def triple(report: RiskReport) -> tuple[float, float, float]:
    return report.R.value, report.R_bias.value, report.R_volatility.value


@pytest.mark.parametrize("norm", [1, 2, 2.5, np.inf])
@pytest.mark.parametrize("C", [1, 3, 10, 49, 1000])
@pytest.mark.parametrize("K", [2, 3, 5, 7, 49])
def test_reference_models_are_exact(
    K: int, C: int, norm: float, rng: np.random.Generator
) -> None:
    settings: dict[str, Any] = {
        "criterion": f"ratio:{norm}",
        "group_weights": rng.random(3),
    }
    w = rng.zipf(1.5, C).astype(float)
    expected: dict[ReferenceName, tuple[float, float, float]] = {
        "unbiased": (0, 0, 0),
        "stereotyped": (1, 1, 0),
        "random": (1, 0, 1),
    }
    for name in ("unbiased", "stereotyped"):
        p = reference_preferences(name, (3, C, K))
        assert triple(decompose(p, context_weights=w, **settings)) == expected[name]
        assert triple(decompose(p, **settings)) == expected[name]
    for weights in (None, w):
        outcomes = random_outcomes((3, C, K), context_weights=weights)
        assert triple(decompose(**outcomes._asdict(), **settings)) == (1, 0, 1)
    for name in REFERENCE_MODELS:
        assert (
            reference_risks(name, categories=K, criterion=Criterion(norm=norm))
            == expected[name]
        )


@pytest.mark.parametrize(
    "criterion",
    [
        Criterion(),
        Criterion(normalize=False),
        Criterion("share"),
        Criterion("points", points=(1, 2, 5)),
    ],
)
@pytest.mark.parametrize("name", REFERENCE_MODELS)
def test_closed_form_equals_decompose_under_a_skewed_reference(
    name: ReferenceName, criterion: Criterion, rng: np.random.Generator
) -> None:
    shape, w = (2, 11, 3), rng.random(11)
    if name == "random":
        given = random_outcomes(shape, reference=SKEWED, context_weights=w)._asdict()
    else:
        p = reference_preferences(name, shape, reference=SKEWED)
        given = {"p": p, "reference": SKEWED, "context_weights": w}
    expected = reference_risks(name, categories=SKEWED, criterion=criterion)
    found = triple(decompose(**given, criterion=criterion))
    if (
        name != "stereotyped" or criterion.name != "points"
    ):  # the rarest, not the furthest
        assert found == pytest.approx(expected, rel=1e-13, abs=1e-15)
    if name == "stereotyped" and criterion == Criterion():
        assert found == (1, 1, 0)


@pytest.mark.parametrize("per", ["group", "cell"])
def test_reference_per_group_and_per_cell(per: str, rng: np.random.Generator) -> None:
    shape = (2, 4, 3)
    reference = rng.dirichlet(np.full(3, 4.0), size=2 if per == "group" else (2, 4))
    unbiased = reference_preferences("unbiased", shape, reference=reference)
    assert triple(decompose(unbiased, reference=reference)) == (0, 0, 0)
    extreme = reference_preferences("stereotyped", shape, reference=reference)
    assert decompose(extreme, reference=reference, criterion="ratio").R.value == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: reference_preferences(WRONG, (1, 1, 2)), "unbiased, stereotyped"),
        (lambda: reference_risks(WRONG, categories=2), "found 'fair'"),
        (lambda: reference_preferences("unbiased", SHORT), r"shape: .*found \(1, 2\)"),
        (lambda: random_outcomes((1, 0, 2)), "each at least 1"),
        (lambda: reference_risks("random", categories=1), "at least 2"),
        (lambda: reference_risks("random", categories=2.5), "whole number"),
        (lambda: reference_risks("random", categories=np.nan), "whole number"),
        (lambda: reference_risks("random", categories=[[0.5, 0.5]]), "one p"),
        (lambda: reference_risks("random", categories=[1.0, 0.0]), "positive"),
        (
            lambda: reference_preferences("unbiased", (1, 1, 2), reference=WRONG),
            "^reference: ",
        ),
        (lambda: random_outcomes((1, 1, 2), reference=WRONG), "^reference: "),
        (lambda: Criterion(norm=0), "norm"),
        (
            lambda: random_outcomes((1, 3, 2), context_weights=[1, 1]),
            "expected 3 weights",
        ),
    ],
)
def test_wrong_input_is_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        call()
