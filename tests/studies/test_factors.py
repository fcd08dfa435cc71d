"""Risk against social factors, on numbers made by hand and on tables that are wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from clinometer.errors import TableError
from clinometer.measure.risk import GroupIntervals
from clinometer.runs import Run, audit
from clinometer.studies import factor_findings, read_factors
from clinometer.studies.factors import FACTORS, LISTED, WEIGHT, builtin_factors


def run_with(r: np.ndarray) -> Run:
    run = audit("reference:unbiased")
    return replace(run, risks=replace(run.risks, r=r))


def test_a_planted_slope_is_found_and_missing_figures_are_counted() -> None:
    women = builtin_factors()["percent_women"].to_numpy()
    rng = np.random.default_rng(0)
    r = np.where(
        np.isnan(women), 0.5, 0.1 + 0.004 * women
    ) + 0.01 * rng.standard_normal(120)
    found = factor_findings(run_with(r))
    rows = found.tables[0].frame.set_index("factor")
    assert len(rows) == len(FACTORS)
    fit = rows.loc["share of women, %"]
    assert fit["slope"] == pytest.approx(0.04, abs=3e-3)  # of ten points
    assert max(fit["p"], fit["p_together"]) < 1e-6
    weights = builtin_factors()["employment_thousands"].to_numpy()
    assert fit["n"] == int((~np.isnan(women) & ~np.isnan(weights)).sum())
    assert not any(
        "without any figure" in line for line in found.measured
    )  # of words, at least


def test_the_table_has_no_invented_figures() -> None:
    frame = builtin_factors()
    assert len(frame) == 120
    assert (
        frame.loc["worker", "employment_thousands":"mean_years_education"].isna().all()
    )
    assert (
        frame["percent_women"].between(0, 100).sum()
        == frame["percent_women"].notna().sum()
    )


def test_a_custom_table_of_factors_is_used(tmp_path: Path) -> None:
    path = tmp_path / "f.csv"
    r = 0.001 * np.arange(120) + 0.001 * np.random.default_rng(1).standard_normal(120)
    run = run_with(r)
    lines = ["group,height"] + [f"{g},{i}" for i, g in enumerate(run.risks.groups)]
    path.write_text("\n".join(lines), encoding="utf-8")
    found = factor_findings(run, table=read_factors(path))
    assert found.measured[0].startswith("Groups weigh the same")
    (fit,) = found.tables[0].frame.to_dict("records")
    assert fit["slope"] == pytest.approx(0.001, rel=0.05)
    assert fit["p_together"] is None


def test_a_list_of_word_frequencies_stands_beside_our_own_count(tmp_path: Path) -> None:
    path = tmp_path / "enwiki.txt"
    path.write_text(
        "the 899980\nnurse 10\nengineer 10\r\nfoo 100000\n", encoding="utf-8"
    )
    table = read_factors(path)
    assert table.loc["nurse", LISTED] == pytest.approx(1.0)  # 10 of a million words
    assert table[LISTED].isna()["doctor"]
    assert table.columns.tolist() == [WEIGHT, *FACTORS, LISTED]
    path.write_text("".join(f"{g} {2 + i}\n" for i, g in enumerate(table.index)))
    table = read_factors(path)
    r = 0.5 + 0.1 * table[LISTED].to_numpy(dtype=float)
    run = run_with(r)
    found = factor_findings(run, table=table, weights="none")
    fit = found.tables[0].frame.set_index("factor")
    assert fit["slope"].iloc[-1] == pytest.approx(0.1)
    assert "IlyaSemenov" in " ".join(found.sentences)
    path.write_text("the many\n", encoding="utf-8")
    with pytest.raises(TableError, match="line 1"):
        read_factors(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,x\na,1\n", "a column group"),
        ("group\na\n", "at least one factor"),
        ("group,x\na,1\na,2\n", "'a' twice"),
        ("group,x\na,1,2\n", "no more cells in a row than columns"),
        ("group,x\na,tall\n", "column x: expected numbers"),
        ("group,x\nnobody,1\n", "no figure for any group"),
    ],
)
def test_wrong_tables_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "f.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=message):
        factor_findings(audit("reference:random"), table=read_factors(path))


def test_wrong_words_and_files_are_refused() -> None:
    with pytest.raises(TableError, match="measure"):
        factor_findings(audit("reference:random"), measure="q")
    with pytest.raises(TableError, match="weights"):
        factor_findings(audit("reference:random"), weights="q")
    with pytest.raises(TableError, match="no such file"):
        read_factors("nowhere.csv")


def test_intervals_of_width_0_are_no_errors_of_0() -> None:
    """One group in which nothing was seen to vary, as r^v of the demo's run has."""
    rng = np.random.default_rng(3)
    run = run_with(rng.random(120))
    ends = np.stack([run.risks.r - 0.1, run.risks.r + 0.1], axis=1)
    sure = replace(run.risks, intervals=GroupIntervals(ends, ends, ends, 0.95))
    known = factor_findings(replace(run, risks=sure)).measured[0]
    assert "se²" in known
    assert "--weights employment" in known
    narrow = ends.copy()
    narrow[5] = run.risks.r[5]
    some = replace(run.risks, intervals=GroupIntervals(narrow, narrow, narrow, 0.95))
    found = factor_findings(replace(run, risks=some))
    assert "as in the paper; the error of each risk is left out" in found.measured[0]
    paper = factor_findings(replace(run, risks=sure), weights="employment")
    assert paper.tables[0].frame.equals(found.tables[0].frame)
