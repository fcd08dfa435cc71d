"""One model over halves of a corpus and over another source; another language by its topic file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.present import present

from clinometer.contexts import ContextSet, load_contexts
from clinometer.errors import ContextError
from clinometer.runs import AuditSettings
from clinometer.studies.framework import Plan, audit_all, planned_runs
from clinometer.studies.risk_tables import LANGUAGES, table_findings
from clinometer.studies.sources import corpora_findings, corpora_plan, halves
from clinometer.topics import load_topic

VERBS = ["said", "felt", "wrote", "knew", "hoped", "added", "thought", "believed"]


def that(name: str, verbs: list[str], counts: list[int]) -> ContextSet:
    return ContextSet(name, [f"The [X] {verb} that [Y]" for verb in verbs], counts)


def test_halves_hold_every_occurrence_once() -> None:
    whole = load_contexts("wikipedia-gender")
    one, two = halves(whole, seed=3)
    counts = [dict(zip(half.templates, half.counts, strict=True)) for half in (one, two)]
    for template, count in zip(whole.templates, whole.counts, strict=True):
        assert sum(half.get(template, 0.0) for half in counts) == count
    share = sum(one.counts) / sum(whole.counts)
    assert abs(share - 0.5) < 5 * 0.5 / np.sqrt(sum(whole.counts))
    assert one.name == "wikipedia-gender, half 1"
    order = replace_order(whole)
    assert halves(order, seed=3)[0].sha256 == one.sha256
    with pytest.raises(ContextError, match="whole numbers"):
        halves(ContextSet("odd", ["The [X] said that [Y]"], [1.5]), seed=0)


def replace_order(contexts: ContextSet) -> ContextSet:
    rows = list(range(len(contexts)))[::-1]
    templates = [contexts.templates[i] for i in rows]
    return ContextSet(contexts.name, templates, [contexts.counts[i] for i in rows])


def test_a_model_is_compared_with_itself_over_corpora(tmp_path: Path) -> None:
    topic = load_topic("gender").select(["nurse", "engineer", "teacher", "ambassador"])
    sources = [
        ("here", that("here", VERBS[:6], [60, 30, 20, 15, 12, 10])),
        ("there", that("there", VERBS[3:], [9, 8, 7, 6, 5])),
    ]
    settings = AuditSettings(replicates=200)
    plan = corpora_plan(["pocket:gpt2-s"], sources, topic=topic, settings=settings)
    assert [planned.role for planned in plan.audits] == [
        "here",
        "there",
        "here, half 1",
        "here, half 2",
    ]
    results, failed = audit_all(plan, tmp_path)
    assert not failed
    found = corpora_findings(results)
    differences = found.tables[1].frame
    assert list(dict.fromkeys(differences["pair"])) == [
        "here, half 1 − here, half 2",
        "there − here",
    ]
    runs = {planned.role: run for planned, run in results}
    R = differences[(differences["measure"] == "R") & (differences["pair"] == "there − here")]
    gap = runs["there"].risks.R.value - runs["here"].risks.R.value
    assert R["value"].tolist() == pytest.approx([gap])
    assert R["correlation"].iloc[0] > 0.9
    assert "halves of one corpus differ in 0 of 1 model" in found.sentences[0]
    assert (
        "Too small to measure with (below 30 effective contexts): here (4)" in (found.sentences[-1])
    )


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
    settings = AuditSettings(replicates=200)
    plan = Plan(
        "languages", planned_runs([str(chinese)], topic, contexts, settings, role=LANGUAGES)
    )
    results, failed = audit_all(plan, tmp_path / "study")
    assert not failed
    run = results[0][1]
    assert present(run.record.words).unwritable == []
    assert run.record.counts["cells"] == 9
    assert "words_of_several_tokens" in run.record.counts
    found = table_findings("languages", results)
    table = found.tables[0].frame.set_index("name")
    assert table.index.tolist()[3:6] == ["BERT-Chinese", "GPT2-Chinese", "llama2-Chinese"]
    assert table["printed_R"].tolist()[3:6] == [0.3976, 0.3486, 0.6885]
    assert table.loc[chinese.name, "R"] == pytest.approx(run.R.value)
