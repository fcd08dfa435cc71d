"""Files of lm_eval --log_samples, right and wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from clinometer.bridges.lm_eval import read_results, read_samples
from clinometer.errors import TableError

SAMPLE: dict[str, Any] = {
    "doc_id": 4,
    "doc": {"text": "a"},
    "target": "0",
    "arguments": {"gen_args_0": {"arg_0": "", "arg_1": " b"}, "gen_args_1": ["", " c"]},
    "resps": [[["-3.5", "False"]], [["-2.25", "True"]]],
    "filtered_resps": [["-3.5", "False"], ["-2.25", "True"]],
    "filter": "none",
}


def written(path: Path, *samples: Any) -> Path:
    lines = (s if isinstance(s, str) else json.dumps(s) for s in samples)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_sample_has_its_answers_and_their_log_likelihoods(tmp_path: Path) -> None:
    (sample,) = read_samples(written(tmp_path / "s.jsonl", SAMPLE))
    assert sample.answers == (" b", " c")
    assert sample.log_probs == (-3.5, -2.25)
    assert sample.fields == {"doc_id": 4, "text": "a"}
    assert sample.target == "0"


def test_numbers_that_json_does_not_have_are_no_obstacle(tmp_path: Path) -> None:
    line = json.dumps({**SAMPLE, "score": float("nan")})
    assert "NaN" in line
    assert len(list(read_samples(written(tmp_path / "s.jsonl", line)))) == 1


def test_only_the_first_filter_is_read(tmp_path: Path) -> None:
    file = written(tmp_path / "s.jsonl", SAMPLE, {**SAMPLE, "filter": "other"}, SAMPLE)
    assert len(list(read_samples(file))) == 2


@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ("{", "line 1: not valid JSON"),
        ("[]", "line 1: expected an object"),
        ({"a": 1}, "line 1: expected a sample of lm_eval"),
        ({**SAMPLE, "filtered_resps": ["some text", "another"]}, "has the model write instead"),
        ({**SAMPLE, "filtered_resps": [["-1", "False"]]}, "a response to each of 2 requests"),
        ({**SAMPLE, "arguments": [["only"], ["one"]]}, "has the model write instead"),
        ({**SAMPLE, "filtered_resps": [["nan", "False"]] * 2}, "expected a log-likelihood"),
        ({**SAMPLE, "filtered_resps": [["0.5", "False"]] * 2}, "expected a log-likelihood"),
    ],
)
def test_what_is_no_sample_is_named_by_its_line(tmp_path: Path, sample: Any, message: str) -> None:
    with pytest.raises(TableError, match=message):
        list(read_samples(written(tmp_path / "s.jsonl", sample)))


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="no such file"):
        list(read_samples(tmp_path / "none.jsonl"))


def test_the_results_beside_the_samples_say_which_model_it_was(tmp_path: Path) -> None:
    date = "2026-11-01T10-00-00.123456"
    results = {
        "model_name": "org/model",
        "lm_eval_version": "0.4.13",
        "config": {"model_num_parameters": 12, "model_dtype": "torch.float32", "model_sha": "N/A"},
        "results": {"crows_pairs_english": {"pct_stereotype,none": 0.5, "alias": "x"}},
    }
    (tmp_path / f"results_{date}.json").write_text(json.dumps(results), encoding="utf-8")
    found = read_results(tmp_path / f"samples_crows_pairs_english_{date}.jsonl")
    assert found.task == "crows_pairs_english"
    assert (found.model.name, found.model.parameters) == ("org/model", 12)
    assert (found.model.dtype, found.model.revision) == ("float32", "")
    assert found.metrics == {"pct_stereotype": 0.5}
    assert found.version == "0.4.13"


def test_without_results_the_folder_names_the_model(tmp_path: Path) -> None:
    folder = tmp_path / "org__model"
    folder.mkdir()
    assert read_results(folder / "samples_bbq.jsonl").model.name == "org/model"
    assert read_results(folder / "samples_bbq.jsonl", model="mine").model.name == "mine"
