"""Topic files: reading, writing, products of lists, and the one line that says what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clinometer.errors import TopicError
from clinometer.readouts.tables import parse_readout
from clinometer.topics import Group, Topic, builtin_topics, load_topic, parse_topic
from clinometer.topics.lists import product_groups
from clinometer.topics.toml_text import topic_text

TOP = 'name = "t"\n'
GROUPS = 'groups = ["nurse", "cook"]\n'
WORDS = '[attributes]\nmale = ["he"]\nfemale = ["she"]\n'


def test_references_weights_and_words_of_another_topic() -> None:
    topic = parse_topic(
        TOP + GROUPS + WORDS + "[reference]\nfemale = 0.3\nmale = 0.7\n"
    )
    assert topic.reference == (0.7, 0.3)  # as the categories, not as the file
    by_factor = parse_topic(
        TOP
        + 'weights = "pay"\ngroups = ["a", {name = "b", factors = {pay = 2}}]\n'
        + WORDS
    )
    assert (by_factor.group_names, by_factor.left_out) == (("b",), ("a",))
    reused = parse_topic(TOP + GROUPS + 'attributes = "gender"\n')
    assert reused.attributes == load_topic("gender").attributes


#: A file with one thing wrong in it -> what that may be, and what is said of it.
REFUSED = {
    TOP + GROUPS + "%s\n" + WORDS: [
        ('titel = "x"', "titel: unknown key; .* title?"),
        ("weights = [1, 2]", "weights: expected a text, found"),
        ('shared = "both"', "shared: expected 'split' or 'drop'"),
    ],
    TOP + "groups = %s\n" + WORDS: [
        ('["a", {name = "b", wieght = 1}]', r"groups\[2\]\.wieght: .* mean weight\?"),
        ("3", "groups: expected a list of groups, "),
        ('"jobs"', r"built-in list \(occupations, people, .*\), found 'j"),
        ("[3]", r"groups\[1\]: expected a table, found 3"),
        ('[{name = "a", weight = nan}]', "expected finite numbers, found nan"),
        (
            '[{name = "a", weight = "1"}]',
            r"groups\[1\]\.weight: expected a number, found '1'",
        ),
        (
            '[{name = "a", weight = 1}]\nweights = "pay"',
            "weights: the groups have weights too",
        ),
    ],
    TOP + "[groups]\n%s\n" + WORDS: [
        ('race = ["black"]', "groups: .* a pattern"),
        (
            'pattern = "{a} {b}"\na = ["x"]\nb = ["y"]\nc = ["z"]',
            r"groups\.pattern: .*\{c\}",
        ),
        ('pattern = "{a} {b}"\na = 1\nb = ["y"]', r"groups\.a: .* list, found 1"),
    ],
    TOP + GROUPS + "[attributes]\n%s\n": [
        ('male = ["he", 3]\nfemale = ["she"]', r"attributes\.male\[2\]: .* found 3"),
        (
            'male = "he"\nfemale = ["she"]',
            r"attributes\.male: expected a list, found 'he'",
        ),
    ],
    TOP + GROUPS + WORDS + "%s\n": [
        ("[reference]\nmale = 1.0", "reference: .*; missing: female"),
        (
            "[reference]\nmale = 0.5\nfemale = 0.4\nother = 0.1",
            "reference: .*; unknown: other",
        ),
    ],
    "%s": [
        (GROUPS + WORDS, "name: missing"),
        (TOP + WORDS, "groups: missing"),
        (TOP + GROUPS, "attributes: missing"),
        (TOP + GROUPS + 'attributes = ["he"]\n', "attributes: expected a table"),
        (TOP + GROUPS + 'attributes = "sex"\n', "built-in topic .*found 'sex'"),
        ("name = \n", r"not valid TOML: .*line 1"),
        (TOP + TOP, "not valid TOML"),
        ("a = 1\n" + GROUPS + WORDS + "[b]\n", r"\(and 2 more\)$"),
    ],
}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (file % wrong, message)
        for file, rows in REFUSED.items()
        for wrong, message in rows
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TopicError, match=message) as caught:
        load_topic(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)


def test_byte_order_marks_windows_line_endings_and_paths_as_text_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\ufeff" + (TOP + GROUPS + WORDS).replace("\n", "\r\n")
    Path("mine.toml").write_text(text, encoding="utf-8")
    topic = parse_topic(TOP + GROUPS + WORDS)
    assert load_topic(tmp_path / "mine.toml") == topic
    assert load_topic("mine.toml") == load_topic("./mine.toml") == topic


def test_what_is_not_a_topic_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TopicError, match=r"gender, .*; did you mean gender"):
        load_topic("gendr")
    with pytest.raises(TopicError, match=r"none\.toml: no such file"):
        load_topic(tmp_path / "none.toml")
    with pytest.raises(TopicError, match=r"expected a \.toml file, found a folder"):
        load_topic(tmp_path)
    (tmp_path / "a.toml").write_bytes(b'name = "t"\ntitle = "\xff"\n')
    with pytest.raises(TopicError, match="line 2: not valid UTF-8"):
        load_topic(tmp_path / "a.toml")


def test_crossed_groups_multiply_weights_and_keep_figures() -> None:
    """In the order of the pattern, not of the lists; the figures are those of its last."""
    nurse = Group("nurse", weight=3, factors={"pay": 5.0}, about={"match": "exact"})
    black = Group("black", weight=2, factors={"pay": 99.0})
    groups = product_groups(
        "{race} {job}", {"job": [nurse, "cook"], "race": [black, "white"]}
    )
    assert [g.name for g in groups] == [
        "black nurse",
        "black cook",
        "white nurse",
        "white cook",
    ]
    assert [g.weight for g in groups] == [6, 2, 3, 1]  # 2·3, 2·1, 1·3, 1·1
    assert groups[0].factors == {"pay": 5.0}
    assert groups[0].about == {"match": "exact"}
    assert groups[0].parts == {"race": "black", "job": "nurse"}
    herbal = Group("herbal", text="Herbal", article="an")
    for pattern, text, article in (
        ("{kind} {job}", "Herbal healer", "an"),
        ("old {kind} {job}", "old Herbal healer", None),
    ):
        (group,) = product_groups(pattern, {"kind": [herbal], "job": ["healer"]})
        assert (group.text, group.article) == (text, article)


@pytest.mark.parametrize(
    ("pattern", "jobs", "message"),
    [
        ("{race}", None, "found 1"),
        ("{race}", ["nurse"], "each once"),
        ("{race} {jobs}", ["nurse"], "each once"),
        ("{race} {job} {job}", ["nurse"], "each once"),
        ("{race} {job} {}", ["nurse"], "braces"),
        ("{race} {job}", [], r"groups\.job: expected at least one"),
    ],
)
def test_lists_that_cannot_be_crossed(
    pattern: str, jobs: list[str] | None, message: str
) -> None:
    lists = {"race": ["black"]} if jobs is None else {"race": ["black"], "job": jobs}
    with pytest.raises(TopicError, match=message):
        product_groups(pattern, lists)


@pytest.mark.parametrize("name", builtin_topics())
def test_built_in_topics_have_title_and_source_and_survive_writing(name: str) -> None:
    topic = load_topic(name)
    again = parse_topic(topic_text(topic))
    assert again.sha256 == topic.sha256
    assert all((topic.title, topic.source))
    assert (again.name, again.title, again.source) == (name, topic.title, topic.source)
    assert again.readout == topic.readout


def test_everything_that_changes_a_prompt_survives() -> None:
    topic = Topic(
        "odd",
        groups=(
            Group('say "hi"', text="back\\slash", weight=0.1),
            Group("Ünal", article=""),
            Group("MP", article="an", weight=2.5),
        ),
        attributes={"a category": ("one", "two\x7f"), "其他": ("三", "one")},
        reference=(0.3, 0.7),
        shared="drop",
        notes="two\nlines",
    )
    again = parse_topic(topic_text(topic))
    assert again.sha256 == topic.sha256
    assert again.notes == topic.notes


READOUTS = [
    {"kind": "choice", "labels": "none", "normalise": "per-token", "favourable": "a"},
    {
        "kind": "text",
        "by": "judge",
        "model": "smollm2",
        "rubric": 'Is "[reply]" a\nor b?',
    },
    {
        "kind": "text",
        "by": "classifier",
        "model": "m",
        "names": {"LABEL 0": "a", "x": "b"},
    },
]


@pytest.mark.parametrize(
    "readout", READOUTS, ids=lambda table: str(table.get("by", "choice"))
)
def test_a_readout_survives(readout: dict[str, Any]) -> None:
    groups = (Group("Ana"), Group("Ben"))
    attributes = {"a": ("yes",), "b": ("no",)}
    topic = Topic(
        "q", groups, attributes, reference="group-mean", readout=parse_readout(readout)
    )
    again = parse_topic(topic_text(topic))
    assert again.sha256 == topic.sha256
    assert again.readout == topic.readout
