"""clinometer reliability check: blanks, versions, score, questions; its JSON fits the schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tests.command import Clinometer
from tests.present import present

import clinometer as cm
from clinometer.reliability.check import questions
from clinometer.reliability.score import cobias
from clinometer.reliability.statement import Blanks

SENTENCE = "The women at the office are arrogant."
CHECK = ("reliability", "check", SENTENCE, "--set", "filler=phrases:pocket:gpt2-s")
SCHEMA = json.loads(
    (Path(__file__).resolve().parents[2] / "docs/check.schema.json").read_text(encoding="utf-8")
)


@pytest.fixture(scope="module")
def checked() -> cm.Check:
    return cm.check(SENTENCE, targets=["women"], n=5)


def valid(found: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(found, SCHEMA, cls=jsonschema.Draft202012Validator)


def test_the_example_sentence_is_checked(checked: cm.Check) -> None:
    assert checked.points == "The ___ women at the ___ office are arrogant ___."
    assert [b.question for b in checked.blanks] == [
        "Which women?",
        "At which office?",
        "Arrogant on what occasion?",
    ]
    assert checked.questions == [b.question for b in checked.blanks]
    assert checked.cv is not None
    score = present(checked.cobias)
    assert score.value == pytest.approx(float(cobias(checked.cv)))
    assert present(score.low) <= score.value <= present(score.high)
    assert len(checked.versions) == 5


def test_its_json_is_valid(checked: cm.Check) -> None:
    found = json.loads(json.dumps(checked.to_dict(), allow_nan=False))
    valid(found)
    with pytest.raises(jsonschema.ValidationError):
        valid({**found, "more": 1})


def test_the_command(clinometer: Clinometer) -> None:
    points = "The women at the ___ office are arrogant."
    command = [*CHECK, "--points", points, "-n", 3]
    done = clinometer(*command, "--json")
    assert done.status == 0
    found = json.loads(done.out)
    valid(found)
    assert (found["proposer"], found["questions"]) == ("given", ["At which office?"])
    done = clinometer(*command, "--fail-below", 1)
    assert done.status == 1
    assert "Ask: At which office?" in done.out
    assert "below 1" in done.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["…"], "expected one with words"),
        ([SENTENCE, "--target", "men"], "target 'men'"),
        ([SENTENCE, "--points", "The ___ men."], "expected the sentence with blanks"),
        ([SENTENCE, "--points", SENTENCE], "expected the sentence with blanks"),
        ([SENTENCE, "--model", "pocket:bert"], "expected one that writes"),
    ],
)
def test_wrong_input_is_one_line(arguments: list[str], says: str, clinometer: Clinometer) -> None:
    done = clinometer("reliability", "check", *arguments)
    assert done.status == 2
    assert says in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize(
    ("points", "asked"),
    [
        ("Women ___ lie ___.", ["Which women?", "On what occasion?"]),
        ("They buy ___ drugs.", ["What kind of drugs?"]),
        ("He saw a ___ doctor ___.", ["What kind of doctor?", "On what occasion?"]),
        ("Women lie ___. Men lie ___.", ["On what occasion?", "Where, and why?"]),
        ("She is from ___ Iraq.", ["Which Iraq is meant?"]),
    ],
)
def test_questions_follow_the_position_of_a_blank(points: str, asked: list[str]) -> None:
    assert questions(Blanks.parse(points)) == asked
