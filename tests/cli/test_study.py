"""clinometer study NAME, as a user types it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import clinometer_pocket
import pytest
from tests.command import Clinometer, refused

from clinometer.models.catalog.suites import suite


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
    assert "ten times the parameters" in shown.out
    assert "Tables and charts: " in shown.out
    again = json.loads(clinometer(*asked, "--json").out)
    assert len(again["tables"]["size-slopes"]) == 3
    assert json.loads(clinometer(*asked, "--plan", "--json").out)["prompts"] == 0


def test_alignment_names_the_model_that_failed(
    clinometer: Clinometer, tmp_path: Path, few: list[object]
) -> None:
    found = clinometer(
        *(
            "study",
            "alignment",
            "pocket:gpt2-s",
            "pocket:gpt2-m",
            "./no-such-model",
            *few,
        ),
        *("--out", tmp_path / "alignment"),
    )
    assert found.status == 2
    assert "no-such-model" in found.err
    assert "pocket:gpt2-m − pocket:gpt2-s" in found.out.replace("\n", " ")
    assert clinometer("study", "alignment", "pocket:gpt2-s", *few).status == 2


@pytest.fixture
def weights(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[dict[str, str]], None]:
    """Puts pocket models into folders that have the names of the papers' models on the hub."""
    monkeypatch.setenv("HF_HUB_CACHE", str(folder / "hub"))

    def put(models: dict[str, str]) -> None:
        for name, pocket in models.items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).symlink_to(clinometer_pocket.folder(pocket))

    return put


Weights = Callable[[dict[str, str]], None]


def test_a_study_without_a_model_takes_those_of_the_paper(
    clinometer: Clinometer, weights: Weights, few: list[object]
) -> None:
    weights(
        {"openai-community/gpt2": "gpt2-s", "openai-community/gpt2-medium": "gpt2-m"}
    )
    found = clinometer("study", "size", *few, "--json")
    assert found.status == 2
    assert found.err.count(": not scored: not available locally (") == 5
    said = json.loads(found.out)
    assert {r["name"] for r in said["tables"]["size-risks"]} == {
        "GPT-2",
        "GPT-2-medium",
    }
    assert said["not_scored"][0]["model"] == "GPT-2-large"
    names = ("7b-hf", "7b-chat-hf", "13b-hf", "13b-chat-hf")
    weights({f"meta-llama/Llama-2-{name}": "gpt2-s" for name in names})
    found = clinometer("study", "alignment", *few, "--json")
    assert found.err.count(": not scored: ") == 2
    pairs = [
        r["pair"] for r in json.loads(found.out)["tables"]["alignment-differences"]
    ]
    assert set(pairs) == {"LLaMA2-chat − LLaMA2", "LLaMA2-13B-chat − LLaMA2-13B"}


@pytest.mark.long
def test_table_1_in_one_command_with_a_model_that_cannot_be_opened(
    clinometer: Clinometer, weights: Weights, tmp_path: Path
) -> None:
    pockets = {
        "causal": "gpt2-s",
        "masked": "bert",
        "seq2seq": "t5",
        "permutation": "xlnet",
    }
    twelve = {entry.id: pockets[entry.kind] for entry in suite("bvf-gender")}
    del twelve["facebook/opt-iml-30b"]
    weights(twelve)
    broken = tmp_path / "facebook" / "opt-iml-30b"
    broken.mkdir()
    (broken / "config.json").write_text(
        '{"model_type": "no-such-kind"}', encoding="utf-8"
    )
    asked = ("study", "table", "1", "bvf-gender", "--max-contexts", "1")
    found = clinometer(*asked, "--load", "dtype=float32", "--allow", "remote-code")
    assert found.status == 3
    assert (
        "OPT-IML: not scored: model 'facebook/opt-iml-30b' cannot be loaded"
        in found.err
    )
    rows = [line.split() for line in found.out.splitlines()]
    names = [entry.name for entry in suite("bvf-gender")]
    measured = {row[0]: row[1:] for row in rows if row and row[0] in names}
    assert list(measured) == names
    assert measured["OPT-IML"] == ["–", "–", "–", "0.5049", "0.4870", "0.0178"]
    assert all(
        "–" not in cells for name, cells in measured.items() if name != "OPT-IML"
    )
    assert "Not scored: OPT-IML" in Path("studies/table1/report.html").read_text(
        encoding="utf-8"
    )


def test_wrong_options_are_one_line(
    clinometer: Clinometer, tmp_path: Path, few: list[object]
) -> None:
    for wrong, said in (
        (("table", "4", "pocket:gpt2-s"), "1, 2, 3, 5"),
        (("sources", "pocket:gpt2-s", "pocket:gpt2-m", "--source", "x"), "--source"),
        (("knowledge", "pocket:gpt2-s", "--facts", tmp_path / "none"), "no such file"),
        (("toxicity", "pocket:gpt2-s", tmp_path / "none.csv"), "no such file"),
    ):
        refused(clinometer("study", *wrong, "--out", tmp_path / "out"), said)
