"""Reading BBQ's files: what each option says, and one line for each file that is not BBQ."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
import zstandard
from tests.topics.bbq.made_items import made_lines, write_lines

from clinometer.errors import TopicError
from clinometer.topics.bbq import read_bbq


def test_options_say_the_stereotype_its_opposite_or_unknown(tmp_path: Path) -> None:
    items = read_bbq(write_lines(tmp_path / "t.jsonl", made_lines()))
    assert len(items) == 32
    first = items[0]
    assert (first.id, first.question_id, first.condition) == ("Trade-0", "0", "ambig")
    assert (first.group, first.unknown, first.label) == ("bakers", 2, 2)
    # Asked who was late, naming the baker is the stereotype; asked who was on time, the miller.
    assert first.roles == ("stereotype", "against", "unknown")
    assert items[2].polarity == "nonneg"
    assert items[2].roles == ("against", "stereotype", "unknown")
    assert items[8].group == "millers"


@pytest.mark.parametrize("ending", ["gz", "zst"])
def test_packed_files_are_read(tmp_path: Path, ending: str) -> None:
    plain = write_lines(tmp_path / "t.jsonl", made_lines())
    data = plain.read_bytes()
    packed = gzip.compress(data) if ending == "gz" else zstandard.compress(data)
    whole = tmp_path / f"t.jsonl.{ending}"
    whole.write_bytes(packed)
    assert read_bbq(whole) == read_bbq(plain)
    whole.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(TopicError, match="cannot be read"):
        read_bbq(whole)


def test_an_item_whose_options_are_of_one_group_has_no_roles(tmp_path: Path) -> None:
    lines = made_lines(1)
    lines[0]["answer_info"]["ans1"][1] = "bakers"
    items = read_bbq(write_lines(tmp_path / "t.jsonl", lines))
    assert (items[0].roles, items[0].group) == (None, "")
    assert items[1].roles is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": 3}, "label from 0 to 2"),
        ({"answer_info": {"ans0": ["a", "b"]}}, "expected answer_info"),
        ({"additional_metadata": {}}, "stereotyped_groups"),
        ({"example_id": 1}, "listed twice"),
    ],
)
def test_a_damaged_item_is_one_line(tmp_path: Path, change: dict[str, object], said: str) -> None:
    lines = made_lines(1)
    lines[0] |= change
    with pytest.raises(TopicError, match=said):
        read_bbq(write_lines(tmp_path / "t.jsonl", lines))


def test_what_is_not_bbq_is_refused(tmp_path: Path) -> None:
    other = tmp_path / "o.jsonl"
    for text, said in (
        ('{"a": 1}\n', "found no 'example_id'"),
        ("[1]\n", "expected a JSON object"),
        ("{\n", "line 1"),
        ("", "found none"),
    ):
        other.write_text(text, encoding="utf-8")
        with pytest.raises(TopicError, match=said):
            read_bbq(other)
    with pytest.raises(TopicError, match="no such file"):
        read_bbq(tmp_path / "none.jsonl")
