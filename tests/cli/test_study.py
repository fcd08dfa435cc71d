"""clinometer study NAME, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import Clinometer

TOPIC = """
name = "few"
groups = ["nurse", "engineer", "teacher"]
[attributes]
male = ["he", "man"]
female = ["she", "woman"]
"""
CONTEXTS = "template,count\n" + "".join(
    f"The [X] {verb} that [Y],{n}\n"
    for n, verb in enumerate(("said", "felt", "wrote", "knew", "hoped", "added"), 2)
)


@pytest.fixture
def few(tmp_path: Path) -> list[object]:
    """Options that make any study small."""
    topic, contexts = tmp_path / "few.toml", tmp_path / "few.csv"
    topic.write_text(TOPIC, encoding="utf-8")
    contexts.write_text(CONTEXTS, encoding="utf-8")
    return ["--topic", topic, "--contexts", contexts, "--no-page"]


def test_size_shows_its_plan_runs_and_reuses_results(
    clinometer: Clinometer, tmp_path: Path, few: list[object]
) -> None:
    out = tmp_path / "size"
    asked = ("study", "size", "pocket:gpt2-s", "pocket:gpt2-m", *few, "--out", out)
    plan = clinometer(*asked, "--plan")
    assert plan.status == 0
    assert "36 prompts to score" in plan.out
    assert not out.exists()
    shown = clinometer(*asked)
    assert shown.status == 0
    assert "per tenfold parameters" in shown.out
    assert "Tables and charts: " in shown.out  # and no page, with --no-page
    again = json.loads(clinometer(*asked, "--json").out)
    assert len(again["tables"]["size-slopes"]) == 3
    assert json.loads(clinometer(*asked, "--plan", "--json").out)["prompts"] == 0


def test_alignment_names_the_model_that_failed(
    clinometer: Clinometer, tmp_path: Path, few: list[object]
) -> None:
    found = clinometer(
        *("study", "alignment", "pocket:gpt2-s", "pocket:gpt2-m", "./no-such-model", *few),
        *("--out", tmp_path / "alignment"),
    )
    assert found.status == 2
    assert "no-such-model" in found.err
    assert "pocket:gpt2-m − pocket:gpt2-s" in found.out.replace("\n", " ")
    assert clinometer("study", "alignment", "pocket:gpt2-s", *few).status == 2


def test_views_of_a_run(clinometer: Clinometer, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert clinometer("audit", "reference:stereotyped", "--out", run).status == 0
    for name in ("leaning", "distribution", "heatmap"):
        out = tmp_path / name
        found = clinometer("study", name, run, "--out", out, "--no-page", "--json")
        assert found.status == 0, found.err
        assert json.loads(found.out)["study"] == name
        assert (out / "study.json").is_file()
        assert list((out / "charts").glob("*.svg"))


def test_wrong_options_are_one_line(
    clinometer: Clinometer, tmp_path: Path, few: list[object]
) -> None:
    for wrong, said in (
        (("size", "pocket:gpt2-s", "--family", "x"), "--family"),
        (("sources", "pocket:gpt2-s", "pocket:gpt2-m", "--source", "x"), "--source"),
        (("knowledge", "pocket:gpt2-s", "--facts", tmp_path / "none"), "cannot be read"),
        (("toxicity", "pocket:gpt2-s", tmp_path / "none.csv"), "no such file"),
        (("vision", tmp_path / "none", "--model", "m", "--label", "a=b"), "no such folder"),
    ):
        found = clinometer("study", *wrong, "--out", tmp_path / "out")
        assert found.status == 2
        assert said in found.err
        assert found.err.count("\n") == 1
