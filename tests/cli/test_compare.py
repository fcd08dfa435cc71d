"""compare and study factors, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import Clinometer, refused
from tests.preferences import write_shares
from tests.report.made import made_run

from clinometer.studies.factors import FACTORS


@pytest.fixture
def runs(clinometer: Clinometer, tmp_path: Path) -> list[Path]:
    names = ("reference:unbiased", "reference:stereotyped")
    assert clinometer("audit", *names, "--out", tmp_path).status == 0
    return [tmp_path / n.replace(":", "-") for n in names]


def test_compare_prints_a_table_or_json(
    clinometer: Clinometer, runs: list[Path]
) -> None:
    shown = clinometer("compare", *runs)
    assert shown.status == 0
    assert "A = reference:unbiased" in shown.out
    assert "−1.000" in shown.out
    found = json.loads(clinometer("compare", *runs, "--json").out)
    values = [d["value"] for d in found["overall"] if d["measure"] == "R"]
    assert values == pytest.approx([-1.0])


def test_compare_names_what_it_refuses(
    clinometer: Clinometer, runs: list[Path], tmp_path: Path
) -> None:
    other = tmp_path / "few"
    few = ("--groups", "nurse,cook", "--out", other)
    assert clinometer("audit", "reference:unbiased", *few).status == 0
    refused(clinometer("compare", runs[0], other), "another topic")
    assert clinometer("compare", runs[0], other, "--align", "common").status == 0
    assert clinometer("compare", *runs, "--align", "sideways").status == 2


def test_one_model_in_two_context_sets_is_compared_by_group(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    """Two folders of one name, as `audit` makes them; only the contexts differ."""
    runs = [tmp_path / source / "run" for source in ("web", "conversation")]
    for folder, contexts in zip(runs, (30, 12), strict=True):
        folder.parent.mkdir()
        made_run(folder, groups=4, contexts=contexts, model="m", seed=contexts)
    found = json.loads(clinometer("compare", *runs, "--json").out)
    assert found["align"] == "groups"
    assert [one["contexts"] for one in found["own_contexts"]] == [30, 12]
    assert "groups are paired, contexts are not" in found["notes"][0]
    shown = clinometer("compare", *runs)
    assert "30 contexts" in shown.out
    assert clinometer("compare", *runs, "--align", "same").status == 2


def test_study_factors_reports_its_sample_size(
    clinometer: Clinometer, runs: list[Path]
) -> None:
    out = runs[1].parent / "factors"
    asked = ("study", "factors", runs[1], "--out", out)
    found = json.loads(clinometer(*asked, "--json").out)
    assert len(found["tables"]["factors"]) == 4
    assert all(50 < row["n"] < 120 for row in found["tables"]["factors"])
    shown = clinometer(*asked)
    assert "share of women, %" in shown.out
    assert "our count in 13,000 articles of the English Wikipedia" in shown.out
    charts = sorted((out / "charts").glob("*.svg"))
    assert [chart.stem for chart in charts] == [
        f"factor-{name.replace('_', '-')}" for name in sorted(FACTORS)
    ]
    wages = charts[2].read_text(encoding="utf-8")
    assert "OEWS" in wages
    assert "Table 1.7" in wages
    assert clinometer(*asked, "--measure", "q").status == 2


@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ([0.6], "1 context; no interval"),
        ([0.5] * 9, "as the reference in every context: no lean, no swing"),
        ([0.5 + 0.04 * i for i in range(9)], "9 contexts"),
    ],
)
def test_degenerate_tables_get_a_sentence(
    clinometer: Clinometer, tmp_path: Path, shares: list[float], said: str
) -> None:
    table = write_shares(tmp_path / "table.csv", shares)
    assert said in clinometer("import", "table", table).out
    found = clinometer("import", "table", table, "--json").out
    assert said in " ".join(one["text"] for one in json.loads(found)["findings"])
    assert "NaN" not in found
    nothing = tmp_path / "nothing.csv"
    nothing.write_text("group,context,attribute,p\nx,c,a,\nx,c,b,\n", encoding="utf-8")
    assert clinometer("import", "table", nothing).status == 2


def test_groups_from_uneven_weights_come_with_a_caution(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    runs = [tmp_path / name for name in ("a", "b")]
    for seed, folder in enumerate(runs):
        made_run(folder, groups=4, contexts=60, model=folder.name, seed=seed)
    said = clinometer("compare", *runs)
    assert "name groups too often" in " ".join(said.out.split())
    notes = json.loads(clinometer("compare", *runs, "--json").out)["notes"]
    assert any("name groups too often" in note for note in notes)
