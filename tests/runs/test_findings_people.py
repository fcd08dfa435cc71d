"""Planted differences in applications: how many points, and whether a name or a description."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.present import present

import clinometer as cm
from clinometer.runs.findings import Finding, strongest_case
from clinometer.topics import choose_groups, load_topic, parse_topic

OLD = ("65-year-old", "Gary", "Linda", "Debra", "Ronald")


def audited(
    folder: Path, module: str, code: str, topic: cm.Topic, **how: Any
) -> tuple[cm.Run, dict[str, Finding]]:
    (folder / f"{module}.py").write_text(f"import hashlib\nasync def reply(asked):\n{code}")
    run = cm.audit(f"app:{module}:reply", topic=topic, **how)
    return run, {one.kind: one for one in run.findings}


@pytest.mark.parametrize(
    ("told_by", "moving"),
    [
        (OLD[:1], {"descriptions"}),
        (OLD[1:], {"first names"}),
        (OLD, {"first names", "descriptions"}),
    ],
)
def test_it_is_said_whether_names_or_descriptions_move_the_answer(
    told_by: tuple[str, ...], moving: set[str], folder: Path
) -> None:
    topic = choose_groups(load_topic("hiring"), "people-age")
    code = (
        "    text = asked[-1]['content']\n"
        "    chance = hashlib.sha256(text.encode()).digest()[0] / 256\n"
        f"    return 'No' if any(w in text for w in {told_by}) and chance < 0.6 else 'Yes'\n"
    )
    module = f"people_{len(told_by)}"
    _, found = audited(folder, module, code, topic, replies=3, max_contexts=24)
    assert {kind for kind, clear in found["shown"].tally.items() if clear} == moving
    assert found["shown"].sure == "clear"


def test_a_planted_difference_is_found_with_its_size_and_interval(folder: Path) -> None:
    cases = "".join(f'[[cases]]\nfile = "{i}"\nname = "[X]"\n' for i in range(30))
    topic = parse_topic(
        'name = "t"\ngroups = ["Ann", "Bob", "Cal", "Dan"]\nreference = "group-mean"\n'
        f'[readout]\nkind = "number"\nscale = [0, 100]\n{cases}'
    )
    code = (
        "    spread = hashlib.sha256(repr(asked).encode()).digest()[0] % 5\n"
        "    planted = 12 if asked['name'] == 'Ann' and int(asked['file']) % 3 == 0 else 0\n"
        "    return str(50 + int(asked['file']) + spread - planted)\n"
    )
    run, found = audited(folder, "planted_points", code, topic, replies=8)
    headline = found["scores"]
    assert headline.sure == "clear"
    ann = headline.groups["Ann"]
    assert ann.low is not None
    assert ann.high is not None
    assert ann.low < -12 / 3 * 3 / 4 < ann.high < 0  # a third of the files, three of four groups
    assert run.record.components is not None
    case = present(strongest_case(run))
    assert list(case.groups) == ["Ann"]
    assert case.numbers["replies"].value == 8
    assert -12 <= case.numbers["apart"].value < -6  # the planted 12, less a fourth, and the spread
