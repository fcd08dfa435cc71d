"""A benchmark audited in one command: every file there, resumed, edits carried through."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.command import Clinometer, refused
from tests.present import present

from clinometer.errors import RunError
from clinometer.reliability import ReliabilityRun, Statement, load_statements
from clinometer.reliability.audit import (
    BenchmarkSettings,
    audit_benchmark,
    changed_statements,
)
from clinometer.reliability.settings import ReliabilitySettings
from clinometer.reliability.variants import VariantSettings

CROWS = """,sent_more,sent_less,stereo_antistereo,bias_type
0,The women at the office are loud.,The men at the office are loud.,stereo,gender
1,The old man forgot his keys.,The young man forgot his keys.,stereo,age
2,My poor neighbor lost her job.,My rich neighbor lost her job.,antistereo,socioeconomic
"""
SETTINGS = BenchmarkSettings(
    variants=VariantSettings(n=4, filler="phrases:pocket:gpt2-s"),
    scoring=ReliabilitySettings(versions=None),
)
STEPS = ("statements.csv", "points.jsonl", "versions.jsonl", "run/run.json")


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("benchmark") / "crows_pairs_anonymized.csv"
    file.write_text(CROWS, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def audited(benchmark: Path) -> Path:
    out = benchmark.parent / "audit"
    audit_benchmark(load_statements(benchmark), out, settings=SETTINGS)
    return out


def rows(path: Path) -> dict[str, dict[str, Any]]:
    found = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    return {row["id"]: row for row in found}


def test_every_step_leaves_its_file(audited: Path) -> None:
    assert all((audited / name).is_file() for name in STEPS)
    points = rows(audited / "points.jsonl")
    assert points["cs_0"]["merged"] == "The (women | men) at the office are loud."
    assert [points[i]["source"] for i in points] == ["crows-pairs"] * 3
    assert points["cs_1"]["category"] == "age"
    assert points["cs_2"]["other"] == "My poor neighbor lost her job."
    read = load_statements(audited / "points.jsonl")  # nothing is lost on the way
    assert [(s.source, s.category, s.other) for s in read] == [
        (s.source, s.category, s.other)
        for s in load_statements(audited / "statements.csv")
    ]
    run = ReliabilityRun.load(audited / "run")
    assert run.statements["scored"].tolist() == [4, 4, 4]


def test_an_interrupted_audit_gives_the_same_result(
    benchmark: Path, audited: Path
) -> None:
    out = Path(shutil.copytree(audited, benchmark.parent / "killed"))
    versions = out / "versions.jsonl"
    first = versions.read_text(encoding="utf-8").splitlines()[0]
    versions.write_text(first + '\n{"id": "cs_', encoding="utf-8")
    (out / "run" / "run.json").unlink()
    audit_benchmark(load_statements(benchmark), out, settings=SETTINGS)
    for name in STEPS[:3]:
        assert (out / name).read_bytes() == (audited / name).read_bytes()
    again, before = (
        ReliabilityRun.load(folder / "run").statements for folder in (out, audited)
    )
    assert again.equals(before)


def test_an_edited_step_is_carried_through_and_nothing_else(
    benchmark: Path, audited: Path
) -> None:
    out = Path(shutil.copytree(audited, benchmark.parent / "edited"))
    before = rows(out / "versions.jsonl")
    points = out / "points.jsonl"
    own = "The women at the ___ office are loud."
    changed = [
        json.dumps({**row, "context_points": own} if row["id"] == "cs_0" else row)
        for row in rows(points).values()
    ]
    points.write_text("\n".join(changed) + "\n", encoding="utf-8")
    audit_benchmark(load_statements(benchmark), out, settings=SETTINGS)
    after = rows(out / "versions.jsonl")
    assert after["cs_1"] == before["cs_1"]
    assert after["cs_0"]["variants"] != before["cs_0"]["variants"]
    assert all(v.endswith("office are loud.") for v in after["cs_0"]["variants"])
    texts = ReliabilityRun.load(out / "run").versions["text"].tolist()
    assert set(after["cs_0"]["variants"]) <= set(texts)


def test_given_points_and_versions_are_used(tmp_path: Path) -> None:
    statement = Statement(
        "a", "Men are tall.", ("men",), points="Men are ___ tall ___."
    )
    steps = audit_benchmark([statement], tmp_path / "points", until="points").steps
    assert steps["points"].rows[0]["proposer"] == "given"
    assert not (tmp_path / "points" / "versions.jsonl").exists()
    given = {"a": ("Men are very tall.", "Men are tall here.")}
    found = audit_benchmark(
        [statement], tmp_path / "audit", variants=given, settings=SETTINGS
    )
    assert not [name for name in STEPS[1:3] if (tmp_path / "audit" / name).exists()]
    assert present(found.run).versions["text"].tolist() == list(given["a"])


def test_a_change_is_clear_where_the_intervals_do_not_meet() -> None:
    low, high, near = (0.2, 0.1, 0.3), (0.5, 0.4, 0.6), (0.25, 0.2, 0.4)
    single, none = (0.5, np.nan, np.nan), (np.nan, np.nan, np.nan)
    cases = {
        "clearly higher COBIAS": (low, high),
        "clearly lower COBIAS": (high, low),
        "no clear change": (low, near),
        "cannot tell: no interval": (low, single),
        "cannot tell: not scored": (none, high),
    }
    names = ["id", "text", "cobias", "cobias_low", "cobias_high"]
    before, after = (
        pd.DataFrame(
            [(change, text, *ends[k]) for change, ends in cases.items()], columns=names
        )
        for k, text in enumerate(("Old.", "New."))
    )
    assert changed_statements(before, after)["change"].tolist() == list(cases)
    assert changed_statements(before, before).empty


@pytest.mark.usefixtures("undrawn")
def test_the_command(benchmark: Path, tmp_path: Path, clinometer: Clinometer) -> None:
    other = tmp_path / "own.csv"
    other.write_text("id,sentence,target_term\n1,Nurses sing in the ward.,nurses\n")
    out = tmp_path / "audit"
    command = ["reliability", "audit", benchmark, other, "--out", out, "-n", 3]
    command += ["--set", "filler=phrases:pocket:gpt2-s"]
    done = clinometer(*command)
    assert done.status == 0, done.err
    assert "Lowest COBIAS" in done.out
    assert "Nurses sing" in (out / "report.html").read_text(encoding="utf-8")
    sources = pd.read_csv(out / "scores.csv")["source"].tolist()
    assert sources == ["crows-pairs"] * 3 + ["own"]
    assert json.loads(clinometer(*command, "--json").out)["changes"] == []
    other.write_text(
        "id,sentence,target_term\n1,Night nurses sing in the ward.,nurses\n"
    )
    done = clinometer(*command)
    assert done.status == 0, done.err
    assert "1 statement changed since the last audit" in done.out
    ((before, after),) = pd.read_csv(out / "changes.csv")[
        ["before", "after"]
    ].to_numpy()
    assert (before, after) == (
        "Nurses sing in the ward.",
        "Night nurses sing in the ward.",
    )
    other.write_text("id,sentence\n77,Cats purr.\n")
    wrong = clinometer("reliability", "audit", other, "--out", out)
    refused(wrong, "has an audit of other statements")


def test_statements_edited_in_two_places_are_refused(
    benchmark: Path, audited: Path
) -> None:
    out = Path(shutil.copytree(audited, benchmark.parent / "twice"))
    file = out / "statements.csv"
    file.write_text(file.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    statements = load_statements(benchmark)
    other = [replace(statements[0], text="Women here are loud."), *statements[1:]]
    with pytest.raises(
        RunError, match=r"statements\.csv: was edited, and so were the statements"
    ):
        audit_benchmark(other, out, settings=SETTINGS)
