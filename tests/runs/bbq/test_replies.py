"""Published answers as replies."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.topics.bbq.made_items import made_lines, write_lines

from clinometer.errors import TableError
from clinometer.runs.bbq import answer_fields, read_replies
from clinometer.topics.bbq import read_bbq


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
