"""run.json: what is wrong is named by file and field, and what is unknown is kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from clinometer.errors import RunError
from clinometer.report import open_run
from clinometer.runs import Run, RunFolder

Changed = Callable[[str], Path]


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("topic", "groups"), "sixty", "topic.groups: expected a whole number, found 'sixty'"),
        (("settings", "level"), "0.95", "settings.level: expected a number, found '0.95'"),
        (("settings", "level"), 95, "settings: level: expected a number above 0 and below 1"),
        (("summary", "R", "value"), None, "summary.R.value: expected a number, found None"),
        (("usage",), {"tokens": -1}, "usage.tokens: expected"),
        (("usage",), {"tokens": 10**27}, "usage.tokens: expected"),
        (("model",), "gpt2", "model: expected a table, found 'gpt2'"),
    ],
)
def test_a_wrong_type_is_one_line_with_file_and_field(
    changed: Changed, place: tuple[str, ...], value: object, message: str
) -> None:
    folder = changed("wrong")
    content = json.loads((folder / "run.json").read_text("utf-8"))
    inner = content
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(RunError) as caught:
        Run.load(folder)
    assert str(caught.value).startswith(f"{folder / 'run.json'}: damaged: {message}")
    assert "\n" not in str(caught.value)
    assert open_run(folder).state == "unreadable"


def test_a_record_survives_a_round_trip_with_unknown_keys(changed: Changed) -> None:
    folder = changed("later")
    content = json.loads((folder / "run.json").read_text("utf-8"))
    content["invented"] = {"later": 1}
    content["model"]["invented"] = "too"
    (folder / "run.json").write_text(json.dumps(content), encoding="utf-8")
    Run.load(folder).write(RunFolder(folder))
    again = json.loads((folder / "run.json").read_text("utf-8"))
    assert {**again, "updated": content["updated"]} == content
