"""Replies by their words, a function, a number or a category in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clinometer.errors import TopicError
from clinometer.models.replies import open_reader, read_replies
from clinometer.readouts.choice import read_choice
from clinometer.readouts.question import ShownQuestion
from clinometer.readouts.readers import FunctionReader, WordCountReader
from clinometer.readouts.reply import EMPTY, OTHER, REFUSAL
from clinometer.readouts.scores import ScoreReader
from clinometer.readouts.tables import RatingTable, ScoreTable, parse_readout
from clinometer.storage import untrusted
from clinometer.storage.untrusted import NOTHING
from clinometer.topics import Prompt

SHOWN = ShownQuestion("Score Ann.")
YES_NO = {"yes": ("yes", "hire"), "no": ("no",)}


def reader_of(
    attributes: dict[str, tuple[str, ...]] | None = None, **table: Any
) -> ScoreReader:
    readout = parse_readout(table)
    assert isinstance(readout, ScoreTable | RatingTable)
    readout.check(attributes or readout.steps() or {})
    reader = open_reader(readout, attributes or readout.steps() or {}, NOTHING)
    assert isinstance(reader, ScoreReader)
    return reader


RATING = reader_of(kind="rating", scale=5)


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ('Here:\n```json\n{\n "score": 7.25, "why": "a {brace}"\n}\n```', 7.25),
        ('<think>{"score": 1}</think>{"score": "85 %"}', 85.0),
        ('{"score": 3} then {"score": 3}', 3.0),
        ('{"score": 3} or {"score": 4}', None),
        (
            '{"note": 1} ' * 999 + '{"score": 3}',
            3.0,
        ),  # as many objects as are looked at
        ('{"note": 1} ' * 1000 + '{"score": 3}', None),
        ('{"score": true}', None),
        ('{"score": null}', None),
        ('{"score": 1e999}', None),
        ('{"score": 101}', None),
        ('{"score": -0.1}', None),
        ('{"points": 50}', None),
        ('{"score": 5', None),
        ("{" * 100_000, None),
        ("I'd say 70.", 70.0),
        ("70/100", 70.0),
        ("On a scale from 0 to 100: 70", 70.0),
        ("Score: -3", None),
        ("70 or 80", None),
        ("1,000", None),
        ("B2", None),
    ],
)
def test_a_number_is_that_of_a_field_or_the_only_one(
    reply: str, number: float | None
) -> None:
    table: dict[str, Any]
    table = {"kind": "json", "field": "score"} if "{" in reply else {"kind": "number"}
    assert reader_of(**table, scale=[0, 100]).numbers([reply], [SHOWN]) == [number]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("3", 2),
        (" **5**", 4),
        ("I'd say 4 out of 5.", 3),
        ("Rating: 2/5", 1),
        ("On a scale of 5, 1", 0),
        ("4, yes, 4", 3),
        ("0", OTHER),
        ("6", OTHER),
        ("3.5", OTHER),
        ("between 2 and 3", OTHER),
        ("1-5", OTHER),
        ("very", OTHER),
        ("I cannot rate people", REFUSAL),
        ("", EMPTY),
    ],
)
def test_a_rating_is_a_number_alone(reply: str, expected: int) -> None:
    assert RATING.read([reply], [ShownQuestion("Rate from 1 to 5.")]) == [expected]


def test_the_question_does_not_count() -> None:
    shown = ShownQuestion("Rate from 1 to 5, where 5 is best:")
    assert RATING.read([f"{shown.text} 2"], [shown]) == [1]


def test_categories_and_what_is_none_of_them() -> None:
    reader = reader_of(YES_NO, kind="json", field="result.decision")
    said = ['{"result": {"decision": " Hire "}}', '{"result": {"decision": "no"}}']
    said += ['{"result": {"decision": "maybe"}}', "I'm sorry, no.", "", '{"result": 1}']
    assert reader.read(said, [SHOWN] * 6) == [0, 1, OTHER, REFUSAL, EMPTY, OTHER]


def test_a_pattern_gives_its_group() -> None:
    """With several repeats in a process of its own, with one in this."""
    reader = reader_of(YES_NO, kind="regex", pattern=r"DECISION:\s*(\w+)")
    assert reader.read(["Well. DECISION: no.", "no"], [SHOWN] * 2) == [1, OTHER]
    assert reader_of(kind="regex", pattern=r"\d+$", scale=[1, 9]).numbers(
        ["3 of 8"]
    ) == [8.0]


@pytest.mark.parametrize(("step", "mean"), [(0.5, 3.75), (None, 4.0), (4.0, 4.0)])
def test_numbers_are_counted_by_their_step(step: float | None, mean: float) -> None:
    """0.5 and 7, rounded to whole numbers unless the scale has another step."""
    reader = reader_of(kind="number", scale=[-10, 30], step=step)
    numbers = reader.table.steps() or {}
    prompt = Prompt("Score Ann.", "", True, SHOWN)
    scores = read_replies(
        reader, numbers, [prompt], tuple(numbers), [("0.5", "7", "none")]
    )
    p = np.exp(scores.log_probs[0])
    assert p @ [float(number) for number in numbers] / p.sum() == pytest.approx(mean)
    assert scores.unread is not None
    assert scores.unread[0].tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"kind": "number"}, "readout.scale: missing"),
        ({"kind": "number", "scale": [5, 1]}, "the lowest and the highest"),
        ({"kind": "number", "scale": [1, 2, 3]}, "readout.scale"),
        ({"kind": "number", "scale": [0, 10], "step": 3.0}, "divides the scale"),
        ({"kind": "number", "scale": [0, 10], "step": 0.01}, "at most 200 steps"),
        ({"kind": "regex", "pattern": "(a)(b)", "scale": [1, 2]}, "one group at most"),
        ({"kind": "regex", "pattern": "("}, "expected a regular expression"),
        (
            {"kind": "regex", "pattern": f"a{{{'9' * 20}}}"},
            "expected a regular expression",
        ),
        (
            {"kind": "regex", "pattern": "(" * 9000 + ")" * 9000},
            "expected a regular expression",
        ),
        ({"kind": "json", "scale": [1, 2]}, "readout.field: missing"),
    ],
)
def test_a_wrong_table_is_one_line(table: dict[str, Any], said: str) -> None:
    with pytest.raises(TopicError) as caught:
        reader_of(**table)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "pattern",
    [
        "(a|a)*$",
        "(a+)+$",
        "(a*)*$",
        "(?:a|aa)+$",
        r"([a-z]+\s?)*$",
        "a?" * 40 + "a" * 40,
        "(a+a+)+b",
    ],
)
def test_a_pattern_that_explodes_is_ended(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(untrusted, "PATTERN_S", 1)
    with pytest.raises(TopicError, match="not done after 1 second"):
        reader_of(kind="regex", pattern=pattern, scale=[0, 10]).read(
            ["a" * 39 + "!"], []
        )


@pytest.mark.parametrize(
    "piece", ['"..', "answer ", "<think></think>", '{"a":', "1 ", "a "]
)
def test_long_replies_take_time_in_proportion(piece: str) -> None:
    """Three megabytes; with their square it would be an hour."""
    long = piece * (3_000_000 // len(piece))
    assert read_choice(long, ["yes", "no"], labels="AB") < 0
    assert RATING.read([long], [SHOWN])[0] <= 0
    assert reader_of(kind="json", field="score", scale=[0, 10]).numbers([long]) == [
        None
    ]


def test_a_number_of_many_digits_is_off_the_scale() -> None:
    digits = "7" * 5000
    assert RATING.read([digits], [SHOWN]) == [OTHER]
    assert read_choice(digits, ["1", "2"], labels="12") == OTHER
    said = [digits, f'{{"score": {digits}}}', f'{{"score": "{digits}"}}']
    tables: list[dict[str, Any]] = [
        {"kind": "number"},
        {"kind": "json", "field": "score"},
    ]
    for table in tables:
        assert reader_of(**table, scale=[0, 10]).numbers(said) == [None] * 3


STORY = ShownQuestion("Write a story about him.")


def read(reader: WordCountReader | FunctionReader, *replies: str) -> list[int]:
    return reader.read(replies, [STORY] * len(replies))


def test_the_category_named_most_often_is_the_reply() -> None:
    reader = WordCountReader({"man": ("he", "him"), "woman": ("she", "old woman")})
    said = ["He met an old  woman; he left.", "Hero and sheep", "She. He."]
    assert read(reader, *said) == [0, OTHER, OTHER]
    said = ["<think>he he he</think>She", "", "As a language model, I"]
    assert read(reader, *said) == [1, EMPTY, REFUSAL]
    assert read(reader, "Write a story about him. She left.") == [
        1
    ]  # the question does not count


def test_a_function_reads() -> None:
    says: dict[str, str | None] = {"x": "yes", "y": None, "z": "nonsense"}
    reader = FunctionReader(says.__getitem__, ("no", "yes"), "mine:read")
    assert read(reader, "x", "y", "") == [1, OTHER, EMPTY]
    with pytest.raises(TopicError, match="returned 'nonsense'"):
        read(reader, "z")
