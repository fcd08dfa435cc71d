from __future__ import annotations

import dataclasses
import json
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike
from tests.measure import plain_loops

from clinometer.errors import SettingsError
from clinometer.measure import RiskReport, decompose, read_preferences
from clinometer.measure.criterion import Criterion
from clinometer.measure.risk import GroupIntervals, deviation, system_bias
from clinometer.statistics import arrays as arrays_module
from clinometer.statistics.arrays import FloatArray

M1 = [[0.6, 0.4]] * 3
M2 = [[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]]


def triple(report: RiskReport) -> tuple[float, float, float]:
    return report.R.value, report.R_bias.value, report.R_volatility.value


FIVE = [
    [0.4, 0.3, 0.2, 0.1, 0.0]
]  # s = (1, 0.5, 0, -0.5, -1): J_inf 1, J_1 1.5; scale 4


@pytest.mark.parametrize(
    ("p", "settings", "expected"),
    [
        (M1, {}, (0.2, 0.2, 0.0)),  # the paper's two models
        (M2, {}, (0.2, 0.0, 0.2)),
        # weights 3:1 of s = (1,-1) and (-0.5,0.5): r = 0.75 + 0.125; mean s = 0.625
        ([[1.0, 0.0], [0.25, 0.75]], {"context_weights": [3, 1]}, (0.875, 0.625, 0.25)),
        (FIVE, {}, (0.25, 0.25, 0.0)),
        (FIVE, {"criterion": "raw"}, (1.0, 1.0, 0.0)),
        (FIVE, {"criterion": "raw:1"}, (1.5, 1.5, 0.0)),
        ([[[0.9, 0.1]]], {}, (0.8, 0.8, 0.0)),
        # p* = (1/4, 3/4), p = (1/2, 1/2): s = (1, -1/3), scale 3
        (
            [[0.5, 0.5]],
            {"reference": [0.25, 0.75], "criterion": "ratio"},
            (1 / 3, 1 / 3, 0.0),
        ),
        # r = 0.2 and 0.8, both steady; weights 3:1 give 0.35
        ([M1, [[0.1, 0.9]] * 3], {"group_weights": [3, 1]}, (0.35, 0.35, 0.0)),
        # what has no weight does not count: a context, a group, all cells of a group
        ([*M1, [0.0, 1.0]], {"context_weights": [1, 1, 1, 0]}, (0.2, 0.2, 0.0)),
        ([M1, [[0.0, 1.0]] * 3], {"group_weights": [1, 0]}, (0.2, 0.2, 0.0)),
        ([M1, M2], {"context_weights": [[1, 1, 1], [0, 0, 0]]}, (0.2, 0.2, 0.0)),
    ],
)
def test_by_hand(
    p: ArrayLike, settings: dict[str, Any], expected: tuple[float, float, float]
) -> None:
    found = triple(decompose(p, **settings))
    assert found == pytest.approx(expected, abs=1e-15)
    assert [value == 0 for value in found] == [
        value == 0 for value in expected
    ]  # exactly


def test_system_bias_and_deviation_leave_out_what_is_missing(
    rng: np.random.Generator,
) -> None:
    """Two categories and an even reference: r and r^b / 2, by `decompose`."""
    p = rng.dirichlet([1, 1], size=(3, 9))
    mask = rng.random((3, 9)) < 0.7
    mask[2] = False
    given: dict[str, Any] = {"context_weights": np.arange(1, 10), "mask": mask}
    report = decompose(p, **given)
    grid = read_preferences(p, **given)
    assert deviation(grid)[:, 1] == pytest.approx(report.r, nan_ok=True)
    halves = np.abs(system_bias(grid)[:, 1])
    assert 2 * halves == pytest.approx(report.r_bias, nan_ok=True)
    assert np.isnan(halves).tolist() == [False, False, True]


REFERENCES = ["uniform", "all", "group", "cell"]


def reference_of(
    kind: str, rng: np.random.Generator, shape: tuple[int, int, int]
) -> FloatArray | None:
    X, C, K = shape
    size = {"all": None, "group": X, "cell": (X, C)}.get(kind)
    if kind == "uniform":
        return None
    drawn = rng.dirichlet(np.full(K, 3.0), size=size) + 0.02
    return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(
    "criterion",
    ["ratio", "ratio:1", "ratio:1.5", "ratio:3", "raw", "raw:2", "share", "points"],
)
@pytest.mark.parametrize("weights", [None, "shared", "group"])
@pytest.mark.parametrize("kind", [*REFERENCES, "group-mean"])
def test_agrees_with_plain_loops(
    kind: str,
    weights: str | None,
    criterion: str,
    masked: bool,
    rng: np.random.Generator,
) -> None:
    shape = (4, 9, 5)
    p = rng.dirichlet(np.full(5, 0.7), size=shape[:2])
    settings: dict[str, Any] = {
        "reference": reference_of(kind, rng, shape),
        "context_weights": {
            None: None,
            "shared": rng.zipf(1.8, 9).astype(float),
            "group": rng.gamma(0.3, size=(4, 9)),
        }[weights],
        "group_weights": rng.random(4),
        "mask": None,
        "criterion": criterion,
    }
    if masked:
        settings["mask"] = rng.random((4, 9)) < 0.6
        settings["mask"][2] = False
        p[~settings["mask"]] = np.nan
        if kind == "cell":
            settings["reference"][~settings["mask"]] = np.nan
    given = settings
    if kind == "group-mean":
        seen = np.ma.masked_invalid(p)
        mean = np.ma.average(
            seen, axis=0, weights=np.tile(settings["group_weights"], (5, 9, 1)).T
        )
        given, settings["reference"] = (
            {**settings, "reference": kind},
            np.broadcast_to(mean, shape),
        )
    expected = plain_loops.decompose(p, **settings)
    report = decompose(p, categories=list("12345"), **given)
    for name in ("r", "r_bias", "r_volatility", "mean_stereotype"):
        np.testing.assert_allclose(
            getattr(report, name), getattr(expected, name), rtol=1e-12, atol=1e-12
        )
    assert triple(report) == pytest.approx(
        (expected.R, expected.R_bias, expected.R_volatility), rel=1e-12, abs=1e-12
    )
    assert report.missing_groups == (("2",) if masked else ())
    assert np.isnan(report.n_eff_by_group).tolist() == [False, False, masked, False]


@pytest.mark.parametrize("kind", REFERENCES)
def test_blocks_do_not_change_the_result(
    kind: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = (6, 50, 3)
    p = rng.dirichlet(np.ones(3), size=shape[:2])
    settings: dict[str, Any] = {
        "reference": reference_of(kind, rng, shape),
        "context_weights": rng.random(50),
        "mask": rng.random((6, 50)) < 0.8,
    }
    whole = decompose(p, **settings)
    for size in (3, 40, 200):
        monkeypatch.setattr(arrays_module, "BLOCK", size)
        parts = decompose(p, **settings)
        np.testing.assert_allclose(parts.r, whole.r, rtol=1e-13)
        np.testing.assert_allclose(parts.r_bias, whole.r_bias, rtol=1e-12)
        np.testing.assert_allclose(
            parts.n_eff_by_group, whole.n_eff_by_group, rtol=1e-13
        )


def test_an_error_in_a_later_block_names_the_right_cell(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays_module, "BLOCK", 16)
    p = rng.dirichlet(np.ones(2), size=(5, 30))
    p[3, 21] = [0.9, 0.3]
    with pytest.raises(SettingsError, match=r"found 1\.2 in group '3', context 21"):
        decompose(p)
    reference = np.full((5, 30, 2), 0.5)
    reference[4, 17] = [1.0, 0.0]
    with pytest.raises(SettingsError, match="in group 4, context 17"):
        decompose(
            np.full((5, 30, 2), 0.5), reference=reference, mask=np.ones((5, 30), bool)
        )


def test_single_precision_and_strided_input(rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(3), size=(3, 8))
    np.testing.assert_allclose(
        decompose(p.astype(np.float32)).r, decompose(p).r, atol=1e-6
    )
    other = np.asfortranarray(p)
    np.testing.assert_allclose(decompose(other).r, decompose(p).r, rtol=1e-14)
    assert decompose(p.astype(np.float32)).r.dtype == np.float64


def test_what_has_no_weight_keeps_its_own_risk_or_is_missing() -> None:
    assert decompose([M1, [[0.0, 1.0]] * 3], group_weights=[1, 0]).r[1] == 1.0
    report = decompose([M1, M2], context_weights=[[1, 1, 1], [0, 0, 0]])
    assert (report.missing_groups, report.missing_cells) == (("1",), 0)


def test_effective_numbers_by_hand() -> None:
    shared = decompose([M1, M2], context_weights=[2, 1, 1])
    assert shared.n_eff == pytest.approx(8 / 3, rel=1e-15)
    none = decompose([*M1, [0.0, 1.0]], context_weights=[1, 1, 1, 0])
    assert none.n_eff == pytest.approx(3, rel=1e-15)
    own = decompose(
        [M1, M2], context_weights=[[1, 1, 1], [1, 0, 0]], group_weights=[3, 1]
    )
    np.testing.assert_allclose(own.n_eff_by_group, [3, 1], rtol=1e-15)
    assert own.n_eff == pytest.approx(2.5, rel=1e-15)
    assert own.n_contexts == 3
    seen = decompose([M1, M2], mask=[[True, False, False], [True, True, False]])
    assert (seen.n_eff, seen.n_contexts, seen.missing_cells) == (1.5, 2, 3)


def test_rounding_of_the_input_is_not_an_error() -> None:
    p = np.array([[0.6 + 9e-7, 0.4], [1 + 5e-10, -5e-10]])
    assert decompose(p).R.value == pytest.approx(0.6, abs=1e-6)


def cells(value: float | list[float]) -> FloatArray:
    p = np.full((2, 3, 2), 0.5)
    p[1, 2] = value
    return p


@pytest.mark.parametrize(
    ("p", "settings", "message"),
    [
        (cells([np.nan, 0.5]), {}, r"NaN in group '1', context 2; .*pass mask"),
        (
            cells(np.nan),
            {"groups": ["doctor", "nurse"]},
            "NaN in group 'nurse', context 2",
        ),
        (cells(np.nan), {"context_weights": [1, 1, 0]}, "pass mask"),
        (cells([np.inf, 0.5]), {}, "infinity in group '1', context 2"),
        (cells([np.inf, -np.inf]), {}, "infinity in group '1', context 2"),
        (cells([1.1, -0.1]), {}, "at least 0, found -0.1 in group '1', context 2"),
        (
            cells([0.5, 0.6]),
            {},
            "sum to one over the categories, found 1.1 in group '1'",
        ),
        (cells([0.0, 0.0]), {}, "found 0.0 in group '1', context 2"),
        (cells(0.5), {"context_weights": [0, 0, 0]}, "context_weights: .*only zeros"),
        (
            cells(0.5),
            {"context_weights": np.zeros((2, 3))},
            "context_weights: .*only zeros",
        ),
        (
            cells(0.5),
            {"context_weights": [[1, 1, 1], [1, -1, 1]]},
            r"-1.0 at index \(1, 1\)",
        ),
        (cells(0.5), {"context_weights": [1, 1]}, r"expected 3 weights, one each"),
        (
            cells(0.5),
            {"context_weights": np.ones((3, 2))},
            r"\(3,\) \(shared\) or \(2, 3\)",
        ),
        (cells(0.5), {"group_weights": [0, 0]}, "group_weights: .*only zeros"),
        (cells(0.5), {"group_weights": [1, np.nan]}, "nan at index 1"),
        (cells(0.5), {"group_weights": [1]}, "group_weights: expected 2"),
        (np.empty((0, 3, 2)), {}, "at least one group, found none"),
        (np.empty((2, 0, 2)), {}, "at least one context, found none"),
        (np.ones((2, 3, 1)), {}, "at least two categories on the last axis, found 1"),
        ([0.5, 0.5], {}, "found 1 dimensions"),
        (np.full((1, 1, 1, 2), 0.5), {}, "found 4 dimensions"),
        ([["a", "b"]], {}, "p: expected an array of real numbers"),
        (np.ma.masked_invalid(cells(np.nan)), {}, "masked array"),
        (cells(0.5), {"groups": ["a"]}, "groups: expected 2 labels, one each, found 1"),
        (cells(0.5), {"groups": ["a", "a"]}, "groups: .*'a' more than once"),
        (cells(0.5), {"groups": "ab"}, "groups: expected a sequence"),
        (cells(0.5), {"categories": ["m", "f", "x"]}, "categories: expected 2 labels"),
        (cells(0.5), {"criterion": "ratio:0.5"}, "expected a norm of at least 1"),
        (cells(0.5), {"reference": [1.0, 0.0]}, "reference: expected positive"),
        (
            cells(0.5),
            {"mask": np.ones((2, 2), bool)},
            r"mask: .*\(2, 3\), found shape \(2, 2\)",
        ),
        (cells(0.5), {"mask": np.ones((2, 3))}, "mask: expected booleans"),
        (cells(0.5), {"mask": np.zeros((2, 3), bool)}, "nothing to average"),
        (
            cells(0.5),
            {"mask": np.array([[True] * 3, [False] * 3]), "group_weights": [0, 1]},
            "nothing to average",
        ),
    ],
)
def test_wrong_input_is_named_in_one_line(
    p: ArrayLike, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message) as caught:
        decompose(p, **settings)
    assert "\n" not in str(caught.value)


def test_input_is_not_changed(rng: np.random.Generator) -> None:
    p = rng.dirichlet(np.ones(3), size=(2, 4))
    w, copy = rng.random(4), p.copy()
    kept = w.copy()
    decompose(p, context_weights=w, mask=np.array([[True] * 4, [False] * 4]))
    np.testing.assert_array_equal(p, copy)
    np.testing.assert_array_equal(w, kept)
    assert p.flags.writeable
    assert w.flags.writeable


@pytest.mark.parametrize("kind", ["plain", "mask", "cell"])
def test_memory_beyond_the_input_is_bounded(
    kind: str, rng: np.random.Generator
) -> None:
    p = rng.dirichlet(np.ones(2), size=(30, 8_000))
    settings: dict[str, Any] = {
        "plain": {},
        "mask": {"mask": rng.random((30, 8_000)) < 0.9},
        "cell": {"reference": np.full(p.shape, 0.5)},
    }[kind]
    decompose(p[:1, :10])
    tracemalloc.start()
    decompose(p, **settings)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 2 * p.nbytes


# --- what must hold for any preferences, weights, reference and norm ------------------------------


NORMS = st.one_of(st.just(np.inf), st.floats(1, 40), st.sampled_from([1, 2, 3]))
TOLERANCE = 1e-12
#: Preferences and the settings of `decompose`.
Problem = tuple[FloatArray, dict[str, Any]]


def simplex(draw: st.DrawFn, size: tuple[int, ...], least: float = 0.0) -> FloatArray:
    raw = draw(arrays(np.float64, size, elements=st.floats(0, 1)))
    raw = raw + least
    total = raw.sum(axis=-1, keepdims=True)
    return np.where(
        total > 1e-3, raw / np.where(total > 1e-3, total, 1.0), 1.0 / size[-1]
    )


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Preferences with every kind of weights and reference; s stays below about 100."""
    X, C, K = draw(st.integers(1, 3)), draw(st.integers(1, 6)), draw(st.integers(2, 5))
    settings: dict[str, Any] = {
        "criterion": Criterion(norm=draw(NORMS), normalize=draw(st.booleans())),
    }
    shape = draw(st.sampled_from([None, (C,), (X, C)]))
    if shape:
        settings["context_weights"] = draw(
            arrays(np.float64, shape, elements=st.floats(0.01, 9))
        )
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
def test_no_part_is_negative_or_above_1_and_they_add_up(problem: Problem) -> None:
    p, settings = problem
    report = decompose(p, **settings)
    assert not settings["criterion"].normalize or (report.r <= 1 + TOLERANCE).all()
    assert (report.r_bias >= 0).all()
    assert (report.r_volatility >= -TOLERANCE).all()
    np.testing.assert_allclose(
        report.r_bias + report.r_volatility, report.r, atol=1e-10
    )
    total = report.R_bias.value + report.R_volatility.value
    assert total == pytest.approx(report.R.value, abs=1e-10)


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
    same(
        decompose(p, **settings),
        decompose(np.concatenate([p, p[:, [c]]], axis=1), **split),
    )


@given(problems())
def test_contexts_that_agree_give_only_bias(problem: Problem) -> None:
    p, settings = problem
    if np.ndim(settings.get("reference", 0)) == 3:
        settings["reference"] = np.repeat(
            settings["reference"][:, :1], p.shape[1], axis=1
        )
    report = decompose(np.repeat(p[:, :1], p.shape[1], axis=1), **settings)
    np.testing.assert_array_equal(report.r_volatility, 0.0)
    np.testing.assert_allclose(report.r, report.r_bias, rtol=1e-12, atol=1e-11)


# --- the report ----------------------------------------------------------------------------------


def report(**settings: Any) -> RiskReport:
    p = [[[0.6, 0.4], [0.8, 0.2]], [[0.5, 0.5], [0.5, 0.5]], [[0.1, 0.9], [0.2, 0.8]]]
    return decompose(
        p,
        groups=["doctor", "person", "nurse"],
        categories=["male", "female"],
        **settings,
    )


MISSING = np.array([[False, False], [True, True], [True, True]])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ("male", None, "female")),
        ({"reference": [0.9, 0.1]}, ("female", "female", "female")),  # 0.7 is below 0.9
        ({"mask": MISSING}, (None, None, "female")),
    ],
)
def test_leaning_is_the_favoured_category(
    settings: dict[str, Any], expected: tuple[str | None, ...]
) -> None:
    assert report(**settings).leaning == expected


def test_a_table_of_groups_by_hand_and_with_intervals() -> None:
    plain = report(group_weights=[2, 1, 1])
    row = plain.groups_table()[0]
    assert list(row) == [
        "group", "weight", "r", "r_low", "r_high", "r_bias", "r_bias_low", "r_bias_high",
        "r_volatility", "r_volatility_low", "r_volatility_high", "leaning",
    ]  # fmt: skip
    assert (row["group"], row["weight"], row["leaning"]) == ("doctor", 0.5, "male")
    assert row["r"] == pytest.approx(0.4, abs=1e-15)
    assert (row["r_low"], row["r_volatility_high"]) == (None, None)
    bounds = np.array([[0.1, 0.5], [0.0, 0.1], [np.nan, np.nan]])
    made = GroupIntervals(bounds, bounds / 2, bounds / 4, level=0.9)
    rows = dataclasses.replace(plain, intervals=made).groups_table()
    assert (rows[0]["r_low"], rows[0]["r_high"]) == (0.1, 0.5)
    assert (rows[0]["r_bias_high"], rows[0]["r_volatility_high"]) == (0.25, 0.125)
    assert rows[2]["r_low"] is None


@pytest.mark.parametrize("norm", [np.inf, 2])
def test_to_dict_is_strict_json(norm: float) -> None:
    found = report(mask=MISSING, criterion=f"ratio:{norm}").to_dict()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["summary"]["R"].keys() == {"value", "low", "high", "level", "method"}
    assert found["groups"][0]["r"] is None
    assert found["missing_groups"] == ["doctor"]
    assert found["norm"] == ("inf" if norm == np.inf else 2.0)
    assert found["mean_stereotype"][0] == [None, None]


@pytest.mark.parametrize(
    "name",
    [
        "r",
        "r_bias",
        "r_volatility",
        "mean_stereotype",
        "group_weights",
        "n_eff_by_group",
    ],
)
def test_arrays_are_read_only(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(report(), name)[0] = 0.0
