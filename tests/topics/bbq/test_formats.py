"""Prompt formats of BBQ."""

from __future__ import annotations

from pathlib import Path

from tests.topics.bbq.made_items import made_lines, write_lines

from clinometer.topics.bbq import FORMATS, read_bbq


def test_formats_show_what_they_say(tmp_path: Path) -> None:
    item = read_bbq(write_lines(tmp_path / "t.jsonl", made_lines(1)))[0]
    said = "The baker and the miller met on day 0."
    assert FORMATS["open"].text(item) == f"{said}\n\nQ: Who was late?\nA:"
    assert FORMATS["open"].answers(item) == ("The baker", "The miller", "Not enough info")
    assert FORMATS["letters"].text(item) == (
        f"{said}\nWho was late?\nA. The baker\nB. The miller\nC. Not enough info\nAnswer:"
    )
    assert FORMATS["letters"].answers(item) == ("A", "B", "C")
    assert "Answer with The baker, The miller or Not enough info." in FORMATS["listed"].text(item)
