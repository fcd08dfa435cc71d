"""Replicates over shared contexts, rankings, and another language beside its printed table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau
from tests.models import zoo
from tests.preferences import pair
from tests.present import present
from transformers import BertTokenizerFast

from clinometer.contexts import ContextSet
from clinometer.measure import decompose, estimate_risks, read_preferences
from clinometer.runs import AuditSettings
from clinometer.statistics.arrays import FloatArray
from clinometer.studies.framework import Plan, audit_all, planned_runs
from clinometer.studies.several_models import (
    Joint,
    agreement,
    joint_replicates,
    kendall,
    table_findings,
)
from clinometer.topics import load_topic


def binary(
    rng: np.random.Generator, a: float, b: float, shape: tuple[int, int]
) -> np.ndarray:
    return pair(rng.beta(a, b, shape))


def test_values_are_those_of_the_reports() -> None:
    rng = np.random.default_rng(0)
    w = rng.uniform(1, 5, 40)
    models = [binary(rng, 5, 5, (6, 40)), binary(rng, 8, 3, (6, 40))]
    grids = [read_preferences(p, context_weights=w) for p in models]
    found = joint_replicates(grids, replicates=100)
    for p, values in zip(models, found.values, strict=True):
        report = estimate_risks(p, context_weights=w)
        shown = [report.R.value, report.R_bias.value, report.R_volatility.value]
        assert values == pytest.approx(np.array(shown))
    assert found.n_eff == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_replicates_spread_like_fresh_samples() -> None:
    """The standard deviation of R over new samples, against the bootstrap's of one of them."""
    truth = np.random.default_rng(1)
    fresh = [decompose(binary(truth, 6, 3, (5, 50))).R.value for _ in range(400)]
    one = joint_replicates(
        [read_preferences(binary(truth, 6, 3, (5, 50)))], replicates=800
    )
    assert np.std(one.draws[:, 0, 0]) == pytest.approx(np.std(fresh), rel=0.35)


def test_kendall_matches_scipy_without_ties_and_is_bounded_with_them() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        a, b = rng.normal(size=(2, 7))
        assert kendall(a, b) == pytest.approx(kendalltau(a, b).statistic)
    assert kendall([1, 1, 1], [1, 2, 3]) == 0
    assert kendall([1, 2, 3], [6, 5, 4]) == -1


def test_interval_of_tau_widens_with_noise() -> None:
    rng = np.random.default_rng(4)
    base = np.arange(5.0)
    still = base + 0.01 * rng.normal(size=(300, 5))
    noisy = base + 3.0 * rng.normal(size=(300, 5))

    def ends(draws: FloatArray, other: list[float]) -> tuple[float, float]:
        """Of tau between models with the values 0 to 4 and others."""
        first, second = (
            Joint(np.stack([values] * 3, axis=-1), np.stack([d] * 3, axis=-1), 5.0)
            for values, d in ((base, draws), (np.array(other), draws[::-1]))
        )
        row = agreement({"a": first, "b": second}).iloc[0]
        return row["tau_low"], row["tau_high"]

    assert ends(still, [0, 1, 2, 3, 4]) == (1.0, 1.0)
    low, high = ends(noisy, [2, 0, 1, 4, 3])  # tau 0.4
    assert low < 0.3
    assert high > 0.5


def test_a_chinese_model_is_audited_and_shown_beside_table_5(tmp_path: Path) -> None:
    """A BERT with random weights and the characters that the questions need."""
    topic = load_topic("gender-zh").select(["护士", "工程师", "老师"])
    text = "".join([*topic.words, *topic.group_names, "说认为很累，但"])
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(text))]
    chinese = tmp_path / "bert-zh"
    BertTokenizerFast(vocab={p: i for i, p in enumerate(pieces)}).save_pretrained(
        chinese
    )
    zoo.build("bert", len(pieces)).save_pretrained(chinese)
    contexts = ContextSet("zh", ["[X]说[Y]", "[X]认为[Y]", "[X]很累，但[Y]"], [3, 2, 1])
    settings = AuditSettings()
    plan = Plan(
        "table5", planned_runs([str(chinese)], topic, contexts, settings, role="table5")
    )
    results, failed = audit_all(plan, tmp_path / "study")
    assert not failed
    run = results[0][1]
    assert present(run.record.words).unwritable == []
    assert run.record.counts["cells"] == 9
    assert "words_of_several_tokens" in run.record.counts
    found = table_findings(results, study="table5")
    table = found.tables[0].frame.set_index("name")
    assert table.index.tolist()[3:6] == [
        "BERT-Chinese",
        "GPT2-Chinese",
        "llama2-Chinese",
    ]
    assert table["printed_R"].tolist()[3:6] == [0.3976, 0.3486, 0.6885]
    assert table.loc[chinese.name, "R"] == pytest.approx(run.R.value)
