"""The COBIAS paper's appendix D: number of versions, temperature."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clinometer.cli.app import main
from clinometer.errors import SettingsError
from clinometer.reliability import Statement
from clinometer.reliability.dissimilarity import average_pairwise
from clinometer.statistics.arrays import FloatArray
from clinometer.studies.cobias import growing_pairwise, temperature_study, version_count_study


def unit(rows: int, seed: int) -> FloatArray:
    v = np.random.default_rng(seed).normal(size=(rows, 6))
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def test_the_curve_is_the_average_of_the_first_n() -> None:
    v = unit(9, 0)
    expected = [average_pairwise(v[:n]) for n in range(2, 10)]
    np.testing.assert_allclose(growing_pairwise(v), expected, atol=1e-12)


def test_repeated_variants_lower_the_curve() -> None:
    """Ten different versions, then copies of one: the second half lies below the first."""
    statements = [Statement(id=str(i), text="x") for i in range(4)] + [
        Statement(id="few", text="x")
    ]
    texts = {s.id: tuple(f"{s.id} {min(n, 9)}" for n in range(30)) for s in statements[:4]}
    distinct = dict.fromkeys(t for some in texts.values() for t in some)
    table = dict(zip(distinct, unit(len(distinct), 0), strict=True))
    found = version_count_study(
        statements,
        {**texts, "few": ("a", "b")},
        lambda asked: np.stack([table[t] for t in asked]),
        most=30,
    )
    curve, late = (table.frame for table in found.tables)
    assert found.figures[0].svg().startswith("<svg")
    assert (late["statements"][0], late["left_out"][0]) == (4, 1)
    assert late["late_change_high"][0] < 0
    assert curve["n"].tolist() == list(range(2, 31))
    with pytest.raises(SettingsError, match="at most 30"):
        version_count_study(statements, texts, lambda asked: unit(len(asked), 0), most=31)


def test_published_variants_show_no_convergence(
    shared_data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cobias = shared_data / "cobias"
    arguments = [
        "study", "versions", str(cobias / "statements.csv"), "--limit", "4", "-n", "20",
        "--variants", str(cobias / "variants_cobias.jsonl.gz"), "--json", "--out", str(tmp_path),
    ]  # fmt: skip
    with pytest.raises(SystemExit) as done:
        main(arguments)
    assert done.value.code == 0
    found = json.loads(capsys.readouterr().out)
    curve = found["tables"]["versions-number"]
    assert [row["n"] for row in curve] == list(range(2, 21))
    assert all(0 < row["dissimilarity"] < 0.5 for row in curve)


def test_temperatures_are_generated_scored_and_saved(tmp_path: Path) -> None:
    from clinometer.reliability.variants import VariantSettings

    statements = [
        Statement(id=str(i), text=text, points=f"The ___{text[3:-1]} ___.")
        for i, text in enumerate(["The nurse is tired.", "The man is a thief.", "The king died."])
    ]
    how: dict[str, Any] = {
        "temperatures": (0.9, 1.3),
        "versions": VariantSettings(n=3),
        "out": tmp_path / "t",
    }
    found = temperature_study(statements, **how)
    alpha = found.tables[1].frame.iloc[0]
    assert alpha["statements"] == 3
    assert alpha["alpha_low"] <= alpha["alpha"] <= alpha["alpha_high"]
    assert {p.name for p in (tmp_path / "t").glob("*.jsonl")} == {
        "versions-0.9.jsonl",
        "versions-1.3.jsonl",
    }
    assert temperature_study(statements, **how).to_dict() == found.to_dict()  # what was kept
    with pytest.raises(SettingsError, match="different"):
        temperature_study(statements, temperatures=(1.0, 1.0))
