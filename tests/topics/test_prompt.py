"""The text around [Y], and the article before a group."""

from __future__ import annotations

import pytest

from clinometer.errors import ContextError
from clinometer.topics import Group, Prompt, Topic
from clinometer.topics.prompt import english_article

TOPIC = Topic("t", (Group("nurse"), Group("医生")), {"a": ("x",), "b": ("y",)})


@pytest.mark.parametrize(
    ("template", "group", "expected"),
    [
        (
            "The [X] said that [Y]",
            "nurse",
            Prompt("The nurse said that", "", space=True),
        ),
        (
            "The [X] said that [Y].",
            "nurse",
            Prompt("The nurse said that", ".", space=True),
        ),
        (
            "The [X] saw [Y] there",
            "nurse",
            Prompt("The nurse saw", " there", space=True),
        ),
        ("[Y] met the [X]", "nurse", Prompt("", " met the nurse", space=False)),
        ("  [X]  met \t [Y] ", "nurse", Prompt("Nurse met", "", space=True)),
        ('The [X] said "[Y]"', "nurse", Prompt('The nurse said "', '"', space=False)),
        ("[X]说[Y]很好", "医生", Prompt("医生说", "很好", space=False)),
    ],
)
def test_a_template_is_split_at_its_slot(
    template: str, group: str, expected: Prompt
) -> None:
    prompt = TOPIC.render(template, group)
    assert prompt == expected
    assert prompt.fill("her") == f"{prompt.before}{' ' * prompt.space}her{prompt.after}"


@pytest.mark.parametrize(
    "template", ["The nurse [Y]", "[X] [X] [Y]", "[X]", "[X] [Y] [Y]", ""]
)
def test_a_template_without_its_slots_is_refused(template: str) -> None:
    with pytest.raises(ContextError, match=r"expected \[[XY]\] once, found [02] times"):
        TOPIC.render(template, "nurse")


TAKES_A = (
    "nurse", "ceo", "university lecturer", "unionist", "European pilot", "Ukrainian nurse",
    "one-armed cook", "housekeeper", "Hispanic teacher", "UN envoy", "NURSE",
    "180-kilo wrestler", "user",
)  # fmt: skip
TAKES_AN = (
    "engineer", "accountant", "intern", "officer", "underwriter", "uninsured driver",
    "unidentified worker", "Uzbek nurse", "heir", "hourly worker", "honest broker", "MP",
    "HR manager", "EU official", "X-ray technician", "18-year-old", "80-year-old",
    "élite athlete", '"expert"',
)  # fmt: skip


@pytest.mark.parametrize("text", [*TAKES_A, *TAKES_AN])
def test_english_article_rule(text: str) -> None:
    assert english_article(text) == ("a" if text in TAKES_A else "an")


@pytest.mark.parametrize(
    ("template", "group", "language", "before"),
    [
        ("a [X] met [Y]", "engineer", "en", "an engineer met"),
        ("A [X] met [Y]", "engineer", "en", "An engineer met"),
        ("The [X] met a [Y]", "engineer", "en", "The engineer met a"),
        ("We saw a [X], an [Y]", "engineer", "en", "We saw an engineer, an"),
        ("Anna [X] met [Y]", "engineer", "en", "Anna engineer met"),
        ("a young [X] met [Y]", "engineer", "en", "a young engineer met"),
        ("[X] met [Y]", "engineer", "en", "Engineer met"),
        ("An [X] met [Y]", "nurse", "en", "A nurse met"),
        ("a [X] and [Y]", "herbalist", "en", "an herbalist and"),  # as the group says
        ("a [X] e [Y]", "infermiera", "it", "a infermiera e"),  # no rule
        ("a [X] [Y]", "infermiera", "en-GB", "an infermiera"),
    ],
)
def test_articles_in_a_template_follow_the_group(
    template: str, group: str, language: str, before: str
) -> None:
    groups = ("engineer", "nurse", "infermiera", Group("herbalist", article="an"))
    topic = Topic("t", groups, {"a": ("x",), "b": ("y",)}, language=language)
    assert topic.render(template, group).before == before
