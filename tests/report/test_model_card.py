"""Runs in model cards and result files of the Hub."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from huggingface_hub import (
    EvalResult,
    ModelCard,
    ModelCardData,
    parse_eval_result_entries,
)
from tests.command import Clinometer, refused
from tests.report.made import made_run

from clinometer.report.model_card import write_hugging_face
from clinometer.runs import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return made_run(tmp_path_factory.mktemp("run") / "run", groups=4, contexts=60)


def test_the_hubs_reader_finds_the_results(
    clinometer: Clinometer, run: Run, tmp_path: Path
) -> None:
    done = clinometer(
        "export", "hugging-face", run.path, "--out", tmp_path, "--dataset", "me/set"
    )
    assert done.status == 0, done.err
    file = tmp_path / ".eval_results" / "clinometer-gender.yaml"
    entries = parse_eval_result_entries(
        yaml.safe_load(file.read_text(encoding="utf-8"))
    )
    assert [one.task_id for one in entries] == [
        "gender_R",
        "gender_R_bias",
        "gender_R_volatility",
    ]
    assert [one.value for one in entries] == [
        e.value for e in list(run.risks.summary.values())[:3]
    ]
    assert entries[0].notes is not None
    assert (
        f"95 % interval {run.risks.R.low:.3f}–{run.risks.R.high:.3f}"
        in entries[0].notes
    )
    card = ModelCard.load(tmp_path / "README.md")
    found = card.data.eval_results
    metrics = ["clinometer.R", "clinometer.R_bias", "clinometer.R_volatility"]
    assert [one.metric_type for one in found] == metrics
    ends = {"low": run.risks.R.low, "high": run.risks.R.high}
    assert found[0].metric_args == {**ends, "level": 0.95}
    assert found[0].dataset_revision == run.record.contexts.sha256


def test_what_a_card_says_already_stays(run: Run, tmp_path: Path) -> None:
    accuracy = EvalResult("text-generation", "other", "Other", "accuracy", 0.5)
    data = ModelCardData(license="mit", model_name="theirs", eval_results=[accuracy])
    text = "# Mine\n\nBefore.\n"
    ModelCard(f"---\n{data}\n---\n{text}").save(tmp_path / "README.md")
    for _ in range(2):
        write_hugging_face(run, tmp_path)
        again = ModelCard.load(tmp_path / "README.md")
        assert len(again.data.eval_results) == 4
        assert again.data.eval_results[0].metric_type == "accuracy"
        assert (again.data.license, again.data.model_name) == ("mit", "theirs")
        assert again.text.count("## Bias and volatility") == 1
        assert again.text.startswith("# Mine\n\nBefore.\n")
    later = made_run(None, groups=4, contexts=60, lean=1.5)
    write_hugging_face(later, tmp_path)
    again = ModelCard.load(tmp_path / "README.md")
    assert again.data.eval_results[1].metric_value == later.risks.R.value
    assert f"| {later.risks.R.value:.3f} |" in again.text


def test_a_card_that_cannot_be_read_is_one_line(
    clinometer: Clinometer, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "README.md").write_text("---\nlicense: [\n---\n", encoding="utf-8")
    done = clinometer("export", "hugging-face", run.path, "--out", tmp_path)
    refused(done, "cannot be read as a model card")


def test_hostile_names_do_not_leave_their_cells(tmp_path: Path) -> None:
    run = made_run(None, groups=12, contexts=12, hostile=True)
    write_hugging_face(run, tmp_path, dataset="me/set")
    text = ModelCard.load(tmp_path / "README.md").text
    assert "<script" not in text.replace("\\<", "")
    assert text.count("clinometer: end") == 1
