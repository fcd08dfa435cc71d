"""The COBIAS paper's appendix D: number of versions, temperature."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import Clinometer

from clinometer.errors import SettingsError
from clinometer.reliability import Statement
from clinometer.statistics.arrays import FloatArray
from clinometer.studies.cobias import (
    cronbach_alpha,
    temperature_study,
    version_count_study,
)


def unit(rows: int, seed: int) -> FloatArray:
    v = np.random.default_rng(seed).normal(size=(rows, 6))
    return np.asarray(v / np.linalg.norm(v, axis=1, keepdims=True))


def test_repeated_variants_lower_the_curve() -> None:
    """Ten different versions, then copies of one: the curve falls."""
    versions: dict[str, tuple[str, ...]] = {"few": ("x", "y")}
    for id in ("a", "b", "c", "d"):
        versions[id] = tuple(f"{id} {min(n, 9)}" for n in range(30))
    statements = [Statement(id=id, text="x") for id in ("a", "b", "c", "d", "few")]
    distinct_texts = [f"{id} {n}" for id in ("a", "b", "c", "d") for n in range(10)]
    embeddings = dict(zip(distinct_texts, unit(40, 0), strict=True))

    def embed(texts: Sequence[str]) -> FloatArray:
        return np.stack([embeddings[text] for text in texts])

    findings = version_count_study(statements, versions, embed, most=30)
    curve = findings.tables[0].frame
    assert curve["n"].tolist() == list(range(2, 31))
    assert curve["dissimilarity"].iloc[8:].is_monotonic_decreasing
    (figure,) = findings.figures
    assert figure.svg().startswith("<svg")
    assert figure.caption.startswith("Mean over 4 of 5 statements.")
    with pytest.raises(SettingsError, match="at most 30"):
        version_count_study(statements, versions, embed, most=31)


def test_published_variants_show_no_convergence(
    clinometer: Clinometer, shared_data: Path, tmp_path: Path
) -> None:
    cobias = shared_data / "cobias"
    command = ("study", "versions", cobias / "statements.csv", "--limit", 4, "-n", 20)
    given = ("--variants", cobias / "variants_cobias.jsonl.gz", "--out", tmp_path)
    done = clinometer(*command, *given, "--json")
    assert done.status == 0
    curve = json.loads(done.out)["tables"]["versions-number"]
    assert [row["n"] for row in curve] == list(range(2, 21))
    assert all(0 < row["dissimilarity"] < 0.5 for row in curve)


def test_temperatures_are_generated_scored_and_saved(tmp_path: Path) -> None:
    from clinometer.reliability.variants import VariantSettings

    statements = [
        Statement(id=str(i), text=text, points=f"The ___{text[3:-1]} ___.")
        for i, text in enumerate(
            ["The nurse is tired.", "The man is a thief.", "The king died."]
        )
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
    kept = {p.name for p in (tmp_path / "t").glob("*.jsonl")}
    assert kept == {"versions-0.9.jsonl", "versions-1.3.jsonl"}
    assert (
        temperature_study(statements, **how).to_dict() == found.to_dict()
    )  # what was kept
    with pytest.raises(SettingsError, match="different"):
        temperature_study(statements, temperatures=(1.0, 1.0))


def test_cronbach_alpha_by_hand() -> None:
    # x = 0, 1, 2 and y = 0, 2, 1: variances 1 and 1; sums 0, 3, 3: variance 3; 2 (1 - 2/3) = 2/3.
    assert cronbach_alpha([[0, 0], [1, 2], [2, 1]]).value == pytest.approx(2 / 3)


def test_a_shift_changes_nothing_and_copies_give_one() -> None:
    x = np.random.default_rng(1).normal(size=(20, 1))
    assert cronbach_alpha(np.hstack([x, x + 3, x - 1])).value == pytest.approx(1)


@pytest.mark.parametrize(
    "x", [[[1, 2]], [[1], [2]], [[1, 2], [2, 1]], [[1, np.nan], [2, 3]]]
)
def test_cronbach_alpha_of_degenerate_input_is_refused(x: list[list[float]]) -> None:
    with pytest.raises(SettingsError):
        cronbach_alpha(x)
