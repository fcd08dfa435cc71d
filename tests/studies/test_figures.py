"""Figures 5, 10 and 16 of the paper: which way is up, and what their lines pass through."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline
from tests.preferences import labelled, pair

from clinometer.report.charts.marks import OURS
from clinometer.report.svg import to_svg
from clinometer.runs import Run
from clinometer.studies.figures import (
    BINS,
    Named,
    counted_in_bins,
    fitted_normal,
    interpolated,
    leaning_boxes,
    leaning_figure,
    leaning_findings,
    spread_figures,
)


def test_the_interpolated_line_passes_through_every_count_as_a_cubic_spline() -> None:
    values = np.random.default_rng(0).gamma(0.6, 0.05, size=120)
    curve = interpolated(values)
    at, line = curve.at, curve.groups
    step = np.ptp(values) / BINS
    middles = values.min() + step * (np.arange(BINS) + 0.5)
    counts = [
        sum(1 for v in values if int(min((v - values.min()) / step, BINS - 1)) == b)
        for b in range(BINS)
    ]
    independent = CubicSpline(middles, counts, bc_type="not-a-knot")
    assert line == pytest.approx(independent(at), abs=1e-8)
    assert at[[0, -1]] == pytest.approx(middles[[0, -1]])
    assert counted_in_bins(values).groups.tolist() == counts


def test_the_fitted_normal_has_the_mean_the_spread_and_the_number_of_the_groups() -> (
    None
):
    values = np.random.default_rng(1).normal(0.4, 0.1, size=120)
    curve = fitted_normal(values)
    at, line = curve.at, curve.groups
    density = line / np.trapezoid(line, at)
    mean = np.trapezoid(at * density, at)
    assert mean == pytest.approx(values.mean(), abs=1e-3)
    assert np.trapezoid((at - mean) ** 2 * density, at) == pytest.approx(
        values.var(), rel=0.05
    )
    groups_in_bins = np.trapezoid(line, at) / (np.ptp(values) / BINS)
    assert groups_in_bins == pytest.approx(120, rel=0.01)


def heights(svg: str) -> dict[str, float]:
    """Where the points of a drawing stand, by the group that they are about."""
    places = {}
    for element in ElementTree.fromstring(svg).iter():  # noqa: S314  (our own drawing)
        about = element.get("aria-label", "").removeprefix(OURS)
        place = element.get("transform", "")
        if about.startswith("g") and place.startswith("translate("):
            places[about.split(":")[0]] = float(place[10:].rstrip(")").split(",")[1])
    return places


def test_a_male_group_stands_above_a_female_one_as_in_figure_5(run: Run) -> None:
    figure = leaning_figure([Named("m", run.risks, run.preferences.grid)])
    assert run.risks.categories == ("male", "female")
    assert "Above zero: towards male" in figure.caption
    s = run.risks.mean_stereotype[:, 0]
    assert f"median {np.median(s):+.3f} towards male" in figure.alt
    table = pd.DataFrame(
        {
            "model": "m",
            "category": "male",
            "group": ["g1", "g2", "g3"],
            "s": [0.5, 0.1, -0.4],
        }
    )
    drawn = heights(to_svg(leaning_boxes(table, width=600)))
    assert drawn["g1"] < drawn["g2"] < drawn["g3"]  # pixels count downwards


def test_two_models_of_equal_deviation_differ_in_system_bias() -> None:
    """The example of A.2, by hand: 0.6, 0.6, 0.6 and 0.5, 0.35, 0.65, against 0.5."""
    values = pair(np.array([[0.6, 0.6, 0.6], [0.5, 0.35, 0.65]]))
    p = labelled(values, groups=("M1", "M2"), categories=("male", "female"))
    findings = leaning_findings([("two", p)])
    table = findings.tables[0].frame.set_index("group")
    assert table["system bias: two"].tolist() == pytest.approx([0.1, 0.0])
    assert table["deviation: two"].tolist() == pytest.approx([0.2, 0.2])
    assert table["two"].isna().tolist() == [
        False,
        True,
    ]  # M2 leans to nothing on average
    assert findings.tables[1].frame["groups"].tolist() == [1, 0]
    assert findings.figures[0].svg().startswith("<svg")


def test_a_tie_leans_to_nothing_as_in_the_risks() -> None:
    values = np.array([[[0.4, 0.4, 0.2]], [[0.2, 0.3, 0.5]]])
    findings = leaning_findings([("m", labelled(values, categories=("a", "b", "c")))])
    assert findings.tables[0].frame["m"].fillna("").tolist() == ["", "c"]


def test_too_few_or_equal_groups_have_no_line(run: Run) -> None:
    assert spread_figures([("m", run)]) == []  # four groups
    groups = tuple(f"g{n}" for n in range(9))
    equal = replace(
        run.risks, groups=groups, r_bias=np.full(9, 0.5), r_volatility=np.zeros(9)
    )
    assert spread_figures([("m", replace(run, risks=equal))]) == []
    spread = replace(equal, r_bias=np.linspace(0.1, 0.9, 9))
    (figure,) = spread_figures([("m", replace(run, risks=spread))])
    assert figure.svg().startswith("<svg")
