"""compare and study factors, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest


@pytest.fixture
def runs(tiltmeter, tmp_path: Path) -> list[Path]:  # type: ignore[no-untyped-def]
    names = ("reference:unbiased", "reference:stereotyped")
    assert tiltmeter("audit", *names, "--out", tmp_path).status == 0
    return [tmp_path / n.replace(":", "-") for n in names]


def test_compare_prints_and_gives_json(tiltmeter, runs: list[Path]) -> None:  # type: ignore[no-untyped-def]
    shown = tiltmeter("compare", *runs, "--replicates", 200)
    assert shown.status == 0
    assert "A = reference:unbiased" in shown.out
    assert "-1.000" in shown.out
    found = json.loads(tiltmeter("compare", *runs, "--replicates", 200, "--json").out)
    values = [d["value"] for d in found["overall"] if d["measure"] == "R"]
    assert values == pytest.approx([-1.0])


def test_compare_refuses_by_name(tiltmeter, runs: list[Path], tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    other = tmp_path / "few"
    assert (
        tiltmeter("audit", "reference:unbiased", "--groups", "nurse,cook", "--out", other).status
        == 0
    )
    refused = tiltmeter("compare", runs[0], other)
    assert refused.status == 2
    assert "another topic" in refused.err
    assert (
        tiltmeter("compare", runs[0], other, "--align", "common", "--replicates", 200).status == 0
    )
    assert tiltmeter("compare", *runs, "--align", "sideways").status == 2


def test_study_factors_counts_what_it_rests_on(tiltmeter, runs: list[Path]) -> None:  # type: ignore[no-untyped-def]
    found = json.loads(tiltmeter("study", "factors", runs[1], "--json").out)
    assert len(found["each"]) == 4
    assert all(50 < fit["n"] < 120 for fit in found["each"].values())
    shown = tiltmeter("study", "factors", runs[1])
    assert "percent_women" in shown.out
    assert tiltmeter("study", "factors", runs[1], "--measure", "q").status == 2
