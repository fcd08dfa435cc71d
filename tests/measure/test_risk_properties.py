"""What must hold for any preferences, weights, reference and norm."""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from clinometer.measure import RiskReport, decompose
from clinometer.statistics.arrays import FloatArray

NORMS = st.one_of(st.just(np.inf), st.floats(1, 40), st.sampled_from([1, 2, 3]))
TOLERANCE = 1e-12
#: Preferences and the settings of `decompose`.
Problem = tuple[FloatArray, dict[str, Any]]


def simplex(draw: st.DrawFn, size: tuple[int, ...], least: float = 0.0) -> FloatArray:
    raw = draw(arrays(np.float64, size, elements=st.floats(0, 1)))
    raw = raw + least
    total = raw.sum(axis=-1, keepdims=True)
    return np.where(total > 1e-3, raw / np.where(total > 1e-3, total, 1.0), 1.0 / size[-1])


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Preferences with every kind of weights and reference; s stays below about 100."""
    X, C, K = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.integers(2, 5))
    settings: dict[str, Any] = {
        "criterion": "ratio",
        "norm": draw(NORMS),
        "normalize": draw(st.booleans()),
    }
    shape = draw(st.sampled_from([None, (C,), (X, C)]))
    if shape:
        settings["context_weights"] = draw(arrays(np.float64, shape, elements=st.floats(0.01, 9)))
    kind = draw(st.sampled_from([None, (K,), (X, K), (X, C, K)]))
    if kind:
        settings["reference"] = simplex(draw, kind, least=0.05)
    settings["group_weights"] = draw(arrays(np.float64, X, elements=st.floats(0.01, 9)))
    return simplex(draw, (X, C, K)), settings


def same(one: RiskReport, other: RiskReport) -> None:
    for name in ("r", "r_bias", "r_volatility"):
        np.testing.assert_allclose(
            getattr(other, name), getattr(one, name), rtol=TOLERANCE, atol=1e-11
        )
    assert other.R.value == pytest.approx(one.R.value, rel=TOLERANCE, abs=1e-11)


@given(problems())
def test_volatility_is_never_negative_and_the_components_add_up(problem: Problem) -> None:
    p, settings = problem
    report = decompose(p, **settings)
    assert (report.r_volatility >= -TOLERANCE).all()
    np.testing.assert_allclose(report.r_bias + report.r_volatility, report.r, atol=1e-10)
    total = report.R_bias.value + report.R_volatility.value
    assert total == pytest.approx(report.R.value, abs=1e-10)


@given(problems())
def test_normalised_risks_lie_between_zero_and_one(problem: Problem) -> None:
    p, settings = problem
    report = decompose(p, **{**settings, "normalize": True})
    for values in (report.r, report.r_bias, report.r_volatility):
        assert (values >= 0).all()
        assert (values <= 1 + TOLERANCE).all()


@given(problems(), st.randoms(use_true_random=False))
def test_order_of_categories_does_not_matter(problem: Problem, random: Random) -> None:
    p, settings = problem
    order = list(range(p.shape[2]))
    random.shuffle(order)
    swapped = dict(settings)
    if "reference" in settings:
        swapped["reference"] = settings["reference"][..., order]
    one, other = decompose(p, **settings), decompose(p[..., order], **swapped)
    same(one, other)
    np.testing.assert_allclose(other.mean_stereotype, one.mean_stereotype[:, order], atol=1e-11)


@given(problems(), st.integers(0, 5))
def test_splitting_a_context_changes_nothing(problem: Problem, which: int) -> None:
    p, settings = problem
    C = p.shape[1]
    c = which % C
    w = settings.get("context_weights", np.ones(C)).copy()
    w[..., c] /= 2
    split = {**settings, "context_weights": np.concatenate([w, w[..., [c]]], axis=-1)}
    if np.ndim(settings.get("reference", 0)) == 3:
        cells = settings["reference"]
        split["reference"] = np.concatenate([cells, cells[:, [c]]], axis=1)
    same(decompose(p, **settings), decompose(np.concatenate([p, p[:, [c]]], axis=1), **split))


@given(problems(), st.floats(1e-6, 1e6))
def test_scale_of_the_weights_does_not_matter(problem: Problem, factor: float) -> None:
    p, settings = problem
    w = settings.get("context_weights", np.ones(p.shape[1]))
    scaled = {
        **settings,
        "context_weights": w * factor,
        "group_weights": settings["group_weights"] / factor,
    }
    one, other = decompose(p, **settings), decompose(p, **scaled)
    same(one, other)
    assert other.n_eff == pytest.approx(one.n_eff, rel=1e-9)


@given(problems())
def test_contexts_that_agree_give_only_bias(problem: Problem) -> None:
    p, settings = problem
    if np.ndim(settings.get("reference", 0)) == 3:
        settings["reference"] = np.repeat(settings["reference"][:, :1], p.shape[1], axis=1)
    report = decompose(np.repeat(p[:, :1], p.shape[1], axis=1), **settings)
    np.testing.assert_array_equal(report.r_volatility, 0.0)
    np.testing.assert_allclose(report.r, report.r_bias, rtol=1e-12, atol=1e-11)


@given(problems(), st.lists(NORMS, min_size=2, max_size=3))
def test_risks_do_not_grow_with_the_norm(problem: Problem, norms: list[float]) -> None:
    p, settings = problem
    reports = [decompose(p, **{**settings, "norm": k}) for k in sorted(norms)]
    for smaller, larger in itertools.pairwise(reports):
        assert (larger.r <= smaller.r * (1 + 1e-12) + 1e-10).all()
        assert (larger.r_bias <= smaller.r_bias * (1 + 1e-12) + 1e-10).all()


@given(problems())
def test_normalising_divides_by_the_scale_of_a_shared_reference(problem: Problem) -> None:
    p, settings = problem
    if np.ndim(settings.get("reference", 0)) > 1:
        settings["reference"] = settings["reference"].reshape(-1, p.shape[2])[0]
    reference = settings.get("reference", np.full(p.shape[2], 1 / p.shape[2]))
    raw = decompose(p, **{**settings, "normalize": False})
    unit = decompose(p, **{**settings, "normalize": True})
    np.testing.assert_allclose(raw.r / (1 / reference.min() - 1), unit.r, rtol=1e-9, atol=1e-10)
