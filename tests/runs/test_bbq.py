"""BBQ: replies, an audit of its questions, and the result."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tests.present import present
from tests.topics.bbq.made_items import made_lines, write_lines

from clinometer.errors import SettingsError, TableError, TopicError
from clinometer.models import LoadOptions, ModelInfo, open_model
from clinometer.models.local.causal import CausalScorer
from clinometer.runs import AuditSettings, Run
from clinometer.runs.bbq import BbqReplies, answer_fields, bbq_audit, bbq_run, read_replies
from clinometer.topics.bbq import FORMATS, BbqAnswer, BbqItem, read_bbq


def test_answers_are_read_and_the_rest_listed(tmp_path: Path) -> None:
    lines = made_lines(1)
    for line in lines:
        line["model_pred_race"] = line["ans1"].upper()
        line["model_pred_arc"] = f"(c) {line['ans2']}" if line["example_id"] else "the cook"
    items = read_bbq(write_lines(tmp_path / "t.jsonl", lines))
    fields = answer_fields(items)
    assert fields == {"race": "model_pred_race", "arc": "model_pred_arc"}
    answers, unread = read_replies(items, fields)
    assert [a.option for a in answers[:8]] == [1] * 8
    assert [a.option for a in answers[8:]] == [-1, *[2] * 7]
    assert [(u.item, u.format, u.reply, u.why) for u in unread] == [
        ("Trade-0", "arc", "the cook", "other")
    ]
    with pytest.raises(TableError, match="found model_pred_race, model_pred_arc"):
        read_replies(items, {"race": "answer"})


MODEL = "pocket:gpt2-s"
SETTINGS = AuditSettings(load=LoadOptions(device="cpu"))


def test_options_have_the_log_probabilities_of_their_texts(tmp_path: Path) -> None:
    items = read_bbq(write_lines(tmp_path / "t.jsonl", made_lines(2)))[:6]
    out = tmp_path / "run"
    run = bbq_audit(MODEL, items, name="Trade", out=out, settings=SETTINGS)
    rows = [json.loads(line) for line in (out / "options.jsonl").read_text().splitlines()]
    found = {row["id"]: row["log_probs"] for row in rows}
    assert len(found) == 18
    opened = open_model(MODEL, load=SETTINGS.load)
    assert isinstance(opened, CausalScorer)
    tokenizer, model = opened.tokenizer, opened.model
    for item in items[:2]:
        for form in FORMATS.values():
            prompt = tokenizer(form.text(item))["input_ids"]
            for y, answer in enumerate(form.answers(item)):
                whole = prompt + tokenizer(f" {answer}", add_special_tokens=False)["input_ids"]
                with torch.no_grad():
                    logs = model(torch.tensor([whole])).logits[0].log_softmax(-1)
                expected = sum(float(logs[i - 1, whole[i]]) for i in range(len(prompt), len(whole)))
                assert found[f"{item.id} {form.name}"][y] == pytest.approx(expected, abs=1e-4)
    (out / "options.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows[:5]), encoding="utf-8"
    )
    again = bbq_audit(MODEL, items, name="Trade", out=out, settings=SETTINGS)
    assert again.risks.R.value == pytest.approx(run.risks.R.value, abs=1e-6)


def test_unknown_formats_are_refused_before_a_model_is_opened() -> None:
    with pytest.raises(SettingsError, match=r"prompt formats of BBQ \(open, listed, letters\)"):
        bbq_audit("no:such", [], name="x", formats=["essay"])


INFO = ModelInfo(name="made", kind="replies", revision="none")


@pytest.fixture
def items(tmp_path: Path) -> tuple[BbqItem, ...]:
    return read_bbq(write_lines(tmp_path / "t.jsonl", made_lines(8)))


def test_risks_follow_from_the_answers_and_are_stored(
    items: tuple[BbqItem, ...], tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    answers = [
        BbqAnswer(item, form, int(rng.choice(3, p=[0.5, 0.2, 0.3])))
        for form in ("one", "two")
        for item in items
    ]
    run = bbq_run(
        INFO, BbqReplies.of(answers, []), AuditSettings(), name="Trade", out=tmp_path / "run"
    )
    # s is 1 for what the stereotype says, -1 for its opposite, 0 for unknown.
    size = {"stereotype": 1.0, "against": -1.0, "unknown": 0.0}
    s = {
        group: [
            size[a.item.roles[a.option]]
            for a in answers
            if a.item.roles and a.item.ambiguous and a.item.group == group
        ]
        for group in ("bakers", "millers")
    }
    assert run.risks.R.value == pytest.approx(np.mean([np.abs(v).mean() for v in s.values()]))
    leans = np.mean([abs(np.mean(v)) for v in s.values()])
    assert present(run.record.plug_in).R_bias == pytest.approx(leans)
    # What is shown is the middle between that and the cross-fitted mean, at least half of it.
    assert leans / 2 <= run.risks.R_bias.value + 1e-9 <= leans
    # The bias score of ambiguous contexts is the mean of s over all items.
    found = present(run.record.benchmark)
    scores = {(x.condition, x.format): x for x in found.scores}
    both = [scores["ambig", form].bias for form in ("one", "two")]
    assert np.mean([v for v in both if v is not None]) == pytest.approx(
        np.mean([v for values in s.values() for v in values])
    )
    assert run.record.settings.clusters == "question"
    assert run.risks.R_between is None
    again = Run.load(tmp_path / "run")
    assert again.preferences.equals(run.preferences)
    assert again.record.benchmark == found
    assert {f.name for f in (run.record.factors or pytest.fail("no factors")).factors} == {
        *("question", "polarity", "format")
    }


def test_unknown_everywhere_is_no_lean_and_no_swing(items: tuple[BbqItem, ...]) -> None:
    answers = [BbqAnswer(item, "one", item.unknown) for item in items]
    run = bbq_run(INFO, BbqReplies.of(answers, []), AuditSettings(), name="Trade")
    assert (run.risks.R.value, run.risks.R_bias.value, run.risks.R_volatility.value) == (0, 0, 0)


def test_a_file_without_ambiguous_items_is_refused(items: tuple[BbqItem, ...]) -> None:
    answers = [BbqAnswer(item, "one", 0) for item in items if not item.ambiguous]
    with pytest.raises(TopicError, match="expected ambiguous items"):
        bbq_run(INFO, BbqReplies.of(answers, []), AuditSettings(), name="Trade")
