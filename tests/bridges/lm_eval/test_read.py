"""Files of lm_eval --log_samples, right and wrong, and as runs: stored ones, by run_harness.py."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import Clinometer
from tests.present import present
from tests.processes import ROOT

from clinometer.bridges.lm_eval import import_lm_eval, read_results, read_samples
from clinometer.errors import TableError
from clinometer.runs import Run

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


def test_only_the_first_filter_is_read_also_beside_numbers_that_json_does_not_have(
    tmp_path: Path,
) -> None:
    lines = SAMPLE, {**SAMPLE, "filter": "other"}, {**SAMPLE, "score": float("nan")}
    file = written(tmp_path / "s.jsonl", *lines)
    assert "NaN" in file.read_text(encoding="utf-8")
    assert len(list(read_samples(file))) == 2


TWO_WAYS = {**SAMPLE, "arguments": [["p", " b"], ["p", " c"]]}


def scores(*numbers: Any, **more: Any) -> dict[str, Any]:
    return {
        **SAMPLE,
        **more,
        "filtered_resps": [[number, "False"] for number in numbers],
    }


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (["{"], "line 1: not valid JSON"),
        (["[]"], "line 1: expected a JSON object"),
        ([{"a": 1}], "line 1: expected a sample of lm_eval"),
        (
            [{**SAMPLE, "filtered_resps": ["some text", "another"]}],
            "has the model write instead",
        ),
        ([{**SAMPLE, "arguments": [["only"], ["one"]]}], "has the model write instead"),
        ([scores("-1")], "a response to each of 2 requests"),
        ([scores("nan", "nan")], "expected a log-likelihood"),
        ([scores("0.5", "0.5")], "expected a log-likelihood"),
        ([scores("0", "0", **TWO_WAYS)], "together"),
        ([scores("-3", "-3", doc_id=n) for n in range(10)], "differ"),
        ([SAMPLE, scores("-1", "-1")], "doc_id 4"),
    ],
)
def test_samples_that_cannot_be_are_named_by_their_line(
    tmp_path: Path, samples: list[Any], message: str
) -> None:
    with pytest.raises(TableError, match=message):
        list(read_samples(written(tmp_path / "s.jsonl", *samples)))


def test_the_results_beside_the_samples_say_which_model_it_was(tmp_path: Path) -> None:
    date = "2026-11-01T10-00-00.123456"
    results = {
        "model_name": "org/model",
        "lm_eval_version": "0.4.13",
        "config": {
            "model_num_parameters": 12,
            "model_dtype": "torch.float32",
            "model_sha": "N/A",
        },
    }
    (tmp_path / f"results_{date}.json").write_text(
        json.dumps(results), encoding="utf-8"
    )
    file = tmp_path / f"samples_crows_pairs_english_{date}.jsonl"
    told = read_results(file)
    assert (told.task, told.version) == ("crows_pairs_english", "0.4.13")
    assert (told.model.name, told.model.parameters) == ("org/model", 12)
    assert (told.model.dtype, told.model.revision) == ("float32", "")
    # Without results the folder names the model.
    alone = tmp_path / "org__model" / "samples_bbq.jsonl"
    assert read_results(alone).model.name == "org/model"
    assert read_results(alone, model="mine").model.name == "mine"


(SAMPLES,) = (ROOT / "tests" / "data" / "lm_eval").glob("samples_*.jsonl")


def test_preferences_are_the_shares_of_the_likelihoods() -> None:
    """The pair that stands there twice weighs twice."""
    run = import_lm_eval(SAMPLES)
    p = run.preferences
    assert (set(p.groups), p.categories) == (
        {"age", "gender", "nationality"},
        ("more", "less"),
    )
    assert len(p.contexts) == 9
    assert sorted(p.context_weights.tolist())[-2:] == pytest.approx([0.1, 0.2])
    for sample in read_samples(SAMPLES):
        more, less = sample.log_probs
        x = p.groups.index(sample.fields["bias_type"])
        c = p.templates.index(
            f"{sample.fields['sent_more']} / {sample.fields['sent_less']}"
        )
        assert p.values[x, c, 0] == pytest.approx(
            1 / (1 + np.exp(less - more)), abs=1e-12
        )
    assert p.counts()["cells_missing"] == 18
    assert run.risks.R_between is None  # no context has two groups


def test_metrics_of_the_harness_follow_from_what_was_read() -> None:
    imported = present(import_lm_eval(SAMPLES).record.imported)
    told_by = (imported.version, imported.task, imported.samples)
    assert told_by == ("0.4.13", "crows_pairs_english", 10)
    (file,) = SAMPLES.parent.glob("results_*.json")
    told = json.loads(file.read_text(encoding="utf-8"))["results"][
        "crows_pairs_english"
    ]
    more, less = np.array([sample.log_probs for sample in read_samples(SAMPLES)]).T
    assert told["pct_stereotype,none"] == pytest.approx((more > less).mean(), abs=1e-12)
    assert told["likelihood_diff,none"] == pytest.approx(
        abs(more - less).mean(), abs=1e-12
    )


def test_the_command_writes_a_run_that_report_and_compare_take(
    tmp_path: Path, clinometer: Clinometer
) -> None:
    for name in ("a", "b"):
        done = clinometer(
            *("import", "lm-eval", SAMPLES, "--out", tmp_path / name, "--model", name)
        )
        assert done.status == 0, done.err
    assert Run.load(tmp_path / "a").model == "a"
    compared = clinometer("compare", tmp_path / "a", tmp_path / "b", "--json")
    assert compared.status == 0, compared.err
    assert clinometer("report", tmp_path / "a", "--out", tmp_path / "r.md").status == 0
