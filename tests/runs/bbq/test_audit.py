"""A model asked BBQ's questions: options against transformers itself, and resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.topics.bbq.made_items import made_lines, write_lines

from clinometer.errors import SettingsError
from clinometer.models import LoadOptions, open_model
from clinometer.models.local.causal import CausalScorer
from clinometer.runs import AuditSettings
from clinometer.runs.bbq import bbq_audit
from clinometer.topics.bbq import FORMATS, read_bbq

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
