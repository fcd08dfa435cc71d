"""The text around [Y]."""

from __future__ import annotations

import pytest

from clinometer.errors import ContextError
from clinometer.topics import Group, Prompt, Topic

TOPIC = Topic("t", (Group("nurse"), Group("医生")), {"a": ("x",), "b": ("y",)})


@pytest.mark.parametrize(
    ("template", "group", "expected"),
    [
        ("The [X] said that [Y]", "nurse", Prompt("The nurse said that", "", space=True)),
        ("The [X] said that [Y].", "nurse", Prompt("The nurse said that", ".", space=True)),
        ("The [X] saw [Y] there", "nurse", Prompt("The nurse saw", " there", space=True)),
        ("[Y] met the [X]", "nurse", Prompt("", " met the nurse", space=False)),
        ("  [X]  met \t [Y] ", "nurse", Prompt("Nurse met", "", space=True)),
        ('The [X] said "[Y]"', "nurse", Prompt('The nurse said "', '"', space=False)),
        ("[X]说[Y]很好", "医生", Prompt("医生说", "很好", space=False)),
    ],
)
def test_a_template_is_split_at_its_slot(template: str, group: str, expected: Prompt) -> None:
    assert TOPIC.render(template, group) == expected


def test_fill_gives_the_whole_sentence() -> None:
    assert TOPIC.render("A [X] saw [Y] there", "nurse").fill("her") == "A nurse saw her there"


@pytest.mark.parametrize("template", ["The nurse [Y]", "[X] [X] [Y]", "[X]", "[X] [Y] [Y]", ""])
def test_a_template_without_its_slots_is_refused(template: str) -> None:
    with pytest.raises(ContextError, match=r"expected \[[XY]\] once, found [02] times"):
        TOPIC.render(template, "nurse")
