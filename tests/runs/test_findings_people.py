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
    ("told_by", "said"),
    [
        (OLD[:1], "Descriptions move the answer, first names and surnames do not clearly"),
        (OLD[1:], "First names move the answer, surnames and descriptions do not clearly"),
        (OLD, "First names and descriptions move the answer, surnames do not clearly"),
    ],
)
def test_it_is_said_whether_names_or_descriptions_move_the_answer(
    told_by: tuple[str, ...], said: str, folder: Path
) -> None:
    topic = choose_groups(load_topic("hiring"), "people-age")
    code = (
        "    text = asked[-1]['content']\n"
        "    chance = hashlib.sha256(text.encode()).digest()[0] / 256\n"
        f"    return 'No' if any(w in text for w in {told_by}) and chance < 0.6 else 'Yes'\n"
    )
    module = f"people_{len(told_by)}"
    _, found = audited(folder, module, code, topic, replies=3, max_contexts=24)
    assert found["shown"].text.startswith(said)
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
    assert "Ann 3." in found["split"].text
    assert found["split"].sure == "clear"
    assert run.record.components is not None
    ann = run.record.components.groups[0]
    assert ann.low is not None
    assert ann.high is not None
    assert ann.low < -12 / 3 * 3 / 4 < ann.high < 0  # a third of the files, three of four groups
    case = present(strongest_case(run))
    assert case.value is not None
    assert case.text.startswith("Ann gets ")
    assert "each the mean of 8 replies" in case.text
    assert -12 <= case.value < -6  # the planted 12, less a fourth of it, and the spread
    gap = found["gap"]
    assert gap.text.startswith("Ann is ")
    assert "below the mean" in gap.text
    assert "standard deviations" in gap.text
    assert gap.low is not None
    assert gap.high is not None
    assert gap.low < -12 / 3 * 3 / 4 < gap.high < 0  # a third of the files, three of four groups
