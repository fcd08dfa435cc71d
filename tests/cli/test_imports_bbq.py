"""clinometer import bbq and audit --topic bbq:FILE, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import Clinometer
from tests.topics.bbq.made_items import made_lines, write_lines


@pytest.fixture
def file(tmp_path: Path) -> Path:
    lines = made_lines(6)
    for line in lines:
        line["m_pred_race"] = line["ans0"]
        line["m_pred_arc"] = line["ans2"] if line["example_id"] else "someone else"
    return write_lines(tmp_path / "trade.jsonl", lines)


def test_published_answers_give_scores_risks_and_what_was_not_read(
    clinometer: Clinometer, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    shown = clinometer("import", "bbq", file, "--model", "m", "--out", out)
    assert shown.status == 0
    assert "BBQ's own scores: m" in shown.out
    assert "Trade-0, arc: 'someone else'" in shown.out
    found = json.loads(clinometer("import", "bbq", file, "--json").out)["runs"][0]
    scores = {(s["condition"], s["format"]): s for s in found["benchmark"]["scores"]}
    assert scores["ambig", "arc"]["accuracy"] == pytest.approx(23 / 24)
    assert scores["ambig", "race"]["bias"] == 0  # the first option is as often against
    page = tmp_path / "page.html"
    assert clinometer("report", out, "--out", page).status == 0
    text = page.read_text(encoding="utf-8")
    assert "accuracy" in text
    refused = clinometer("import", "bbq", file, "--answers", "race")
    assert refused.status == 2
    assert "expected FORMAT=FIELD" in refused.err


def test_an_audit_asks_the_items_of_a_file(
    clinometer: Clinometer, file: Path, tmp_path: Path
) -> None:
    out = tmp_path / "asked"
    topic = f"bbq:{file}"
    shown = clinometer(
        "audit", "pocket:gpt2-s", "--topic", topic, "--contexts", "open,letters", "--out", out,
        "--device", "cpu",
    )  # fmt: skip
    assert shown.status == 0, shown.err
    assert "BBQ's own scores: pocket:gpt2-s" in shown.out
    assert len((out / "options.jsonl").read_text(encoding="utf-8").splitlines()) == 96
    assert clinometer("audit", "pocket:gpt2-s", "--topic", topic, "--groups", "x").status == 2
    wrong = clinometer("audit", "pocket:gpt2-s", "--topic", topic, "--contexts", "wikipedia")
    assert wrong.status == 2
    assert "prompt formats of BBQ" in wrong.err
