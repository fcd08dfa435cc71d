"""The task clinometer/audit in Inspect itself, of a made-up model, and its logs as runs."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.bridges.inspect.made_log import GROUPS, N, answered
from tests.command import Clinometer
from tests.present import present

from clinometer.bridges.inspect import import_inspect
from clinometer.runs import Run
from clinometer.topics import load_topic


@pytest.mark.parametrize("groups", ["nurse", "nurse, engineer", ["nurse", "engineer"]])
def test_groups_as_the_command_line_gives_them(groups: str | list[str]) -> None:
    """Inspect makes a list of -T groups=nurse,engineer."""
    from clinometer.bridges.inspect_task import audit

    asked = {sample.metadata["group"] for sample in audit(groups=groups).dataset}
    assert asked == ({"nurse"} if groups == "nurse" else {"nurse", "engineer"})


def test_metrics_are_the_risks_with_their_ends(log: Path) -> None:
    """Those of the imported run, whose scores are stored in 32 bits."""
    from inspect_ai.log import read_eval_log

    (scores,) = present(read_eval_log(log, header_only=True).results).scores
    metrics = {name: one.value for name, one in scores.metrics.items()}
    assert [*metrics][:4] == [
        "R",
        "R_bias",
        "R_volatility",
        "read",
    ]  # the head of Inspect View
    run = import_inspect(log)
    assert (
        metrics.pop("read")
        == run.record.replies["replies_words"] / run.record.replies["replies"]
    )
    expected = {
        f"{name}{end}": getattr(run.risks.summary[name], field)
        for name in ("R", "R_bias", "R_volatility")
        for end, field in (("", "value"), ("_low", "low"), ("_high", "high"))
    }
    assert metrics == pytest.approx(
        {k: v for k, v in expected.items() if v is not None}, abs=1e-4
    )
    assert metrics["R"] > 0


MAPPING = """
name = "by_hand"
group = "{group}"
context = "{context}"
category = "{scores.readout.value}"
left_out = ["none"]
"""


def test_our_own_log_is_the_run_of_an_audit(log: Path, tmp_path: Path) -> None:
    """Cell by cell: the replies, the words counted, the weights; and the folder opens again."""
    run = import_inspect(log, out=tmp_path / "run")
    topic = load_topic("gender").select(GROUPS.split(","))
    assert run.preferences.groups == topic.group_names
    assert run.record.model.kind == "sampled"
    assert run.record.replies["replies"] == 2 * 10 * N
    p = run.preferences
    for x, group in enumerate(p.groups):
        for c, template in enumerate(p.templates):
            text = topic.render(template, group).before
            said = Counter(answered(text, epoch) for epoch in range(1, N + 1))
            male, female = said[" he left"], said["She said"] + said["her hands"]
            if male + female < 2:
                assert not p.observed[x, c]
            else:
                assert p.values[x, c, 0] == pytest.approx(
                    male / (male + female), abs=1e-6
                )
    again = Run.load(tmp_path / "run")
    np.testing.assert_array_equal(again.preferences.values, p.values)
    assert present(again.record.imported).tool == "inspect-ai"


def test_any_log_by_a_mapping(log: Path, tmp_path: Path) -> None:
    """The same cells by the scorer's fields alone; only their weights are unknown."""
    file = tmp_path / "own.toml"
    file.write_text(MAPPING, encoding="utf-8")
    own, mapped = import_inspect(log), import_inspect(log, mapping=str(file))
    male = mapped.preferences.categories.index("male")
    order = [mapped.preferences.templates.index(t) for t in own.preferences.templates]
    rows = [mapped.preferences.groups.index(g) for g in own.preferences.groups]
    np.testing.assert_allclose(
        mapped.preferences.values[np.ix_(rows, order)][..., male],
        own.preferences.values[..., 0],
        atol=1e-6,  # scores are stored in 32 bits
    )
    answers = present(mapped.preferences.answers)[np.ix_(rows, order)]
    np.testing.assert_array_equal(answers, present(own.preferences.answers))


def test_the_command_and_what_follows_it(
    log: Path, tmp_path: Path, clinometer: Clinometer
) -> None:
    done = clinometer("import", "inspect", log, "--out", tmp_path / "run")
    assert done.status == 0, done.err
    source = re.search(r"(\d+) samples \(.*\) of (clinometer/)?audit", done.out)
    assert int(present(source)[1]) == 2 * 10 * N
    assert (
        clinometer("report", tmp_path / "run", "--out", tmp_path / "r.html").status == 0
    )
    other = clinometer(
        "import", "inspect", log, "--out", tmp_path / "run", "--model", "other"
    )
    assert (other.status, "--fresh" in other.err) == (2, True)
