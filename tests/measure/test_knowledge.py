from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import ArrayLike

from clinometer.errors import SettingsError
from clinometer.measure import knowledge
from clinometer.statistics.arrays import FloatArray


def test_by_hand() -> None:
    # sqrt: (0.2 + 0.6)/2 = 0.4; mean p = 0.2, sqrt(0.2). Second group steady at 0.25.
    report = knowledge(
        [[0.04, 0.36], [0.25, 0.25]], group_weights=[1, 3], groups=["a", "b"]
    )
    np.testing.assert_allclose(report.knowledge, [0.4, 0.5], atol=1e-15)
    np.testing.assert_allclose(report.deterministic, [math.sqrt(0.2), 0.5], atol=1e-15)
    assert report.confidence_gap[1] == 0.0
    assert report.overall_knowledge.value == pytest.approx(0.475, abs=1e-15)
    gap = (math.sqrt(0.2) - 0.4) / 4
    assert report.overall_confidence_gap.value == pytest.approx(gap, abs=1e-15)
    assert report.groups == ("a", "b")


def test_weights_and_missing_cells() -> None:
    p = np.array([[0.04, np.nan, 0.36], [np.nan] * 3])
    mask = ~np.isnan(p)
    report = knowledge(p, context_weights=[3, 5, 1], mask=mask)
    assert report.knowledge[0] == pytest.approx(0.75 * 0.2 + 0.25 * 0.6, abs=1e-15)
    assert report.missing_groups == ("1",)
    assert report.overall_knowledge.value == report.knowledge[0]


def test_ends_of_the_scale_one_context_and_one_dimension() -> None:
    for value in (0.0, 1.0):
        report = knowledge(np.full((2, 7), value), context_weights=np.arange(1, 8))
        assert report.overall_knowledge.value == value
        assert report.overall_confidence_gap.value == 0.0
    assert knowledge([0.3]).overall_confidence_gap.value == 0.0
    assert knowledge([0.3, 0.3]).groups == ("0",)


@given(
    arrays(np.float64, (2, 5), elements=st.floats(0, 1)),
    arrays(np.float64, 5, elements=st.floats(0.01, 5)),
    st.floats(0.05, 1),
)
def test_gap_is_never_negative_0_if_j_is_linear_and_loops_agree(
    p: FloatArray, w: FloatArray, exponent: float
) -> None:
    report = knowledge(p, context_weights=w, exponent=exponent)
    assert (report.confidence_gap >= 0).all()
    assert (knowledge(p, context_weights=w, exponent=1).confidence_gap == 0).all()
    for x in range(2):
        terms = [wc * pc**exponent for wc, pc in zip(w, p[x], strict=True)]
        mean = math.fsum(wc * pc for wc, pc in zip(w, p[x], strict=True)) / math.fsum(w)
        assert report.knowledge[x] == pytest.approx(
            math.fsum(terms) / math.fsum(w), abs=1e-12
        )
        assert report.deterministic[x] == pytest.approx(mean**exponent, abs=1e-11)


def test_arrays_are_read_only() -> None:
    for name in ("knowledge", "deterministic", "confidence_gap", "group_weights"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(knowledge([0.3]), name)[0] = 1.0


@pytest.mark.parametrize(
    ("p", "settings", "message"),
    [
        ([[0.5, np.nan]], {}, "NaN in group .0., context 1; .*pass mask"),
        ([[0.5, 1.1]], {}, "from 0 to 1, found 1.1"),
        ([[0.5, -0.1]], {}, "found -0.1"),
        ([[0.5, np.inf]], {}, "found inf"),
        ([[0.5]], {"exponent": 0}, "exponent"),
        ([[0.5]], {"exponent": 1.5}, "exponent"),
        ([[0.5]], {"exponent": np.nan}, "exponent"),
        ([[0.5]], {"exponent": True}, "exponent"),
        ([[[0.5]]], {}, "found 3 dimensions"),
        (np.empty((0, 2)), {}, "at least one group"),
        ([[0.5]], {"mask": [[False]]}, "nothing to average"),
    ],
)
def test_wrong_input_is_named(
    p: ArrayLike, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        knowledge(p, **settings)
