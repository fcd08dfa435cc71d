"""Another language by its topic file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.present import present

from clinometer.contexts import ContextSet
from clinometer.runs import AuditSettings
from clinometer.studies.framework import Plan, audit_all, planned_runs
from clinometer.studies.risk_tables import table_findings
from clinometer.topics import load_topic


@pytest.fixture
def chinese(tmp_path: Path) -> Path:
    """A BERT with random weights and the characters that the questions need."""
    import torch
    import transformers

    topic = load_topic("gender-zh")
    text = "".join([*topic.words, *topic.group_names, "说认为很累，但"])
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *sorted(set(text))]
    folder = tmp_path / "bert-zh"
    folder.mkdir()
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n", encoding="utf-8")
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    transformers.BertTokenizerFast(vocab=vocabulary).save_pretrained(folder)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
    )
    transformers.BertForMaskedLM(config).save_pretrained(folder)
    return folder


def test_a_chinese_model_is_audited_and_shown_beside_table_5(chinese: Path, tmp_path: Path) -> None:
    topic = load_topic("gender-zh").select(["护士", "工程师", "老师"])
    contexts = ContextSet("zh", ["[X]说[Y]", "[X]认为[Y]", "[X]很累，但[Y]"], [3, 2, 1])
    settings = AuditSettings()
    plan = Plan("table5", planned_runs([str(chinese)], topic, contexts, settings, role="table5"))
    results, failed = audit_all(plan, tmp_path / "study")
    assert not failed
    run = results[0][1]
    assert present(run.record.words).unwritable == []
    assert run.record.counts["cells"] == 9
    assert "words_of_several_tokens" in run.record.counts
    found = table_findings(results, study="table5")
    table = found.tables[0].frame.set_index("name")
    assert table.index.tolist()[3:6] == ["BERT-Chinese", "GPT2-Chinese", "llama2-Chinese"]
    assert table["printed_R"].tolist()[3:6] == [0.3976, 0.3486, 0.6885]
    assert table.loc[chinese.name, "R"] == pytest.approx(run.R.value)
