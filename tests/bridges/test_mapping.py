"""Mapping files: which fields are read, and what is said of those that are not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from clinometer.bridges.mapping import (
    SampleMapping,
    load_mapping,
    mapping_for,
    ready_mappings,
)
from clinometer.errors import SettingsError, TableError
from clinometer.storage import untrusted

PAIRS = SampleMapping(
    name="pairs",
    group="{kind}",
    context="{a.b} of {n}",
    categories={"more": [0], "less": [1]},
)
FIELDS = {
    "kind": "age",
    "a": {"b": "the text"},
    "n": 3,
    "named": ["x", "y"],
    "empty": None,
}


@pytest.mark.parametrize("name", ready_mappings())
def test_every_ready_mapping_is_found_by_the_name_of_its_task(name: str) -> None:
    mapping = load_mapping(name)
    assert mapping.name == name
    assert mapping.title
    for task in mapping.tasks:
        assert mapping_for(task.replace("*", "english")).name == name


def test_fields_are_filled_in_also_those_inside_objects() -> None:
    place = PAIRS.place(FIELDS, where="here")
    assert (place.group, place.context, place.text) == (
        "age",
        "the text of 3",
        "the text of 3",
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"group": "{kin}"}, "expected the field 'kin'.*did you mean kind"),
        ({"group": "{a}"}, "expected a text or a number in 'a'"),
        ({"group": "{empty}"}, "expected a text or a number in 'empty'"),
        ({"group": "{n.b}"}, "expected the field 'n.b'"),
    ],
)
def test_a_field_that_is_not_there_is_named(
    changed: dict[str, str], message: str
) -> None:
    with pytest.raises(TableError, match=message):
        PAIRS.model_copy(update=changed).place(FIELDS, where="line 7")


def test_answers_count_by_position_by_text_and_by_the_texts_of_a_field() -> None:
    mapping = PAIRS.model_copy(
        update={
            "categories": {"listed": ["{named}"], "first": [0], "yes": ["yes", "Yes"]},
            "left_out": ["Unknown"],
        }
    )

    def category(answer: str, position: int) -> str | None:
        return mapping.category_of(answer, position, FIELDS, where="line 7")

    assert category(" y", 1) == "listed"
    assert category("anything", 0) == "first"
    assert category("Yes", 3) == "yes"
    assert category("Unknown", 0) is None  # left out before anything else
    with pytest.raises(TableError, match=r"line 7: the answer 'no' is in no category"):
        category("no", 1)


def test_replies_are_recognised_and_others_are_not() -> None:
    texts = {"yes": ["Yes", "I would"], "no": ["No"]}
    mapping = PAIRS.model_copy(update={"categories": texts, "left_out": ["Maybe"]})
    said = ["Yes.", "I would, of course", "**No**", "maybe", "It depends", ""]
    found = [
        mapping.reply_category({**FIELDS, "completion": text}, where="")
        for text in said
    ]
    assert found == ["yes", "yes", "no", None, None, None]


def test_a_field_may_be_the_category_itself() -> None:
    mapping = PAIRS.model_copy(update={"category": "{grade}", "left_out": ["N"]})
    assert mapping.reply_category({**FIELDS, "grade": "C"}, where="") == "C"
    assert mapping.reply_category({**FIELDS, "grade": "N"}, where="") is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            'name = "a"\ngroup = "{g}"\ncontext = "{c}"',
            "expected two or more, or category",
        ),
        ('name = "a"\ngrup = "{g}"', "group|unknown key"),
        ("name = ", "not valid TOML"),
        (
            'name = "a"\ngroup = "{g}"\ncontext = "{c}"\ncategory = "y"\n[parts]\ng = "(?P<a>"',
            "expected a regular expression",
        ),
        ('name = "a b"\ngroup="g"\ncontext="c"\ncategory="{y}"', "name"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError, match=message) as error:
        load_mapping(str(file))
    assert "\n" not in str(error.value)


def test_an_unknown_task_is_answered_with_what_there_is() -> None:
    with pytest.raises(SettingsError, match="--mapping"):
        mapping_for("hellaswag")


@pytest.mark.parametrize(
    ("name", "changes", "word"),
    [
        ("crows_pair", {}, "did you mean crows_pairs"),
        ("nowhere.toml", {}, "no such file"),
        ("replies", {"category": "{a}", "score": "{b}"}, "both"),
        ("replies", {"colour": "{red}"}, "colour"),
        ("bbq", {"favourable": "x"}, "favourable"),
    ],
)
def test_what_cannot_be_a_mapping_is_refused(
    name: str, changes: dict[str, str], word: str
) -> None:
    with pytest.raises(SettingsError, match=word):
        load_mapping(name, changes)


def test_a_pattern_that_explodes_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(untrusted, "PATTERN_S", 1)
    mapping = PAIRS.model_copy(update={"parts": {"kind": "(?P<age>(a|aa)+)$"}})
    with pytest.raises(SettingsError, match=r"parts\.kind: .* not done after 1 second"):
        mapping.with_parts({"kind": "a" * 60 + "!"}, where="line 7")
