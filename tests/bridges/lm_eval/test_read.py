"""Samples of lm-evaluation-harness as runs: stored ones, which run_harness.py made with it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.command import Clinometer
from tests.processes import ROOT

from clinometer.bridges.lm_eval import import_lm_eval, read_samples
from clinometer.errors import SettingsError
from clinometer.runs import Run

(SAMPLES,) = (ROOT / "tests" / "data" / "lm_eval").glob("samples_*.jsonl")


def test_preferences_are_the_shares_of_the_likelihoods() -> None:
    """The pair that stands there twice weighs twice."""
    run = import_lm_eval(SAMPLES, replicates=0)
    p = run.preferences
    assert (set(p.groups), p.categories) == ({"age", "gender", "nationality"}, ("more", "less"))
    assert len(p.contexts) == 9
    assert sorted(p.context_weights.tolist())[-2:] == pytest.approx([0.1, 0.2])
    for sample in read_samples(SAMPLES):
        more, less = sample.log_probs
        x = p.groups.index(sample.fields["bias_type"])
        c = p.templates.index(f"{sample.fields['sent_more']} / {sample.fields['sent_less']}")
        assert p.values[x, c, 0] == pytest.approx(1 / (1 + np.exp(less - more)), abs=1e-12)
    assert p.counts()["cells_missing"] == 18
    assert run.risks.R_between is None  # no context has two groups


def test_metrics_of_the_harness_come_out_again() -> None:
    found = import_lm_eval(SAMPLES, replicates=0).record.imported
    assert found is not None
    assert (found.version, found.task, found.samples) == ("0.4.13", "crows_pairs_english", 10)
    assert set(found.metrics) == {"pct_stereotype", "likelihood_diff"}
    for metric in found.metrics.values():
        assert metric.recomputed == pytest.approx(metric.reported, abs=1e-12)


def test_the_command_writes_a_run_that_report_and_compare_take(
    tmp_path: Path, clinometer: Clinometer
) -> None:
    for name in ("a", "b"):
        done = clinometer(
            *("import", "lm-eval", SAMPLES, "--out", tmp_path / name, "--model", name)
        )
        assert done.status == 0, done.err
    assert "pct_stereotype 0.3, recomputed (lm-eval: 0.3)" in done.out
    assert Run.load(tmp_path / "a").model == "a"
    compared = clinometer("compare", tmp_path / "a", tmp_path / "b", "--json")
    assert compared.status == 0, compared.err
    assert (
        clinometer("report", tmp_path / "a", "--format", "md", "--out", tmp_path / "r.md").status
        == 0
    )


def test_another_mapping_is_refused_where_it_does_not_fit(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    text = 'name="own"\ngroup="{bias_type}"\ncontext="{sent_more}"\n[categories]\na=[0]\nb=[1]\n'
    own.write_text(text + '[metrics]\nacc="nonsense"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match="expected one of first likelier"):
        import_lm_eval(SAMPLES, mapping=str(own))
