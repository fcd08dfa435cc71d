"""People's labels, as a user imports them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import Clinometer, refused
from tests.present import present
from tests.report.made import made_run

from clinometer.runs import Run


def tables(folder: Path) -> tuple[Path, Path]:
    """240 replies: of 120 that people call male the judge gets 108, of the others 90."""
    lines, labels = (
        ["id,reply,judge,group"],
        ["id,reply,annotator_1,annotator_2,annotator_3"],
    )
    for i in range(240):
        people = "male" if i < 120 else "female"
        group = "cook" if i // 4 % 2 else "nurse"
        wrong = (i % 10 == 0) if i < 120 else (i % 4 == 0)
        said = people if not wrong else "female" if people == "male" else "male"
        lines.append(f"{i},text {i},{said},{group}")
        labels.append(
            f"{i},text {i},{people.title()},{people},{'' if i % 3 else 'other'}"
        )
    replies, export = folder / "replies.csv", folder / "labels.csv"
    replies.write_text("\n".join(lines), encoding="utf-8")
    export.write_text("\n".join(labels), encoding="utf-8")
    return replies, export


@pytest.mark.usefixtures("undrawn")
def test_labels_correct_the_run_and_the_report_says_so(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    made_run(folder, groups=4, contexts=60)
    replies, labels = tables(tmp_path)
    shown = clinometer("import", "labels", folder, replies, labels)
    assert shown.status == 0
    assert "108" in shown.out
    assert "240 replies labelled by people" in " ".join(shown.out.split())
    run = Run.load(folder)
    found = present(run.record.calibration)
    assert found.counts == [[108, 12], [30, 90]]
    assert found.agreement == pytest.approx(198 / 240)
    # People's share of male is (q - 0.25) / (0.9 - 0.25), and R the mean of |2p - 1|.
    p = run.preferences
    people = (p.values[..., 0] - 0.25) / 0.65
    risk = float(
        (np.abs(2 * people - 1) @ p.context_weights / p.context_weights.sum()).mean()
    )
    assert found.summary.R.value == pytest.approx(risk, abs=1e-12)
    assert found.summary.R.low is not None
    page = tmp_path / "r.html"
    assert clinometer("report", folder, "--out", page).status == 0
    assert "Corrected for the judge" in page.read_text(encoding="utf-8")
    again = json.loads(
        clinometer("import", "labels", folder, replies, labels, "--json").out
    )
    assert again["calibration"]["summary"]["R"]["value"] == pytest.approx(risk)


def test_what_does_not_fit_is_one_line(clinometer: Clinometer, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    made_run(folder, groups=2, contexts=20)
    replies, labels = tables(tmp_path)
    labels.write_text(
        labels.read_text(encoding="utf-8") + "\n999,x,male,male,\n", encoding="utf-8"
    )
    command = ("import", "labels", folder, replies, labels)
    refused(clinometer(*command), "expected ids of the replies, found '999'")
    refused(clinometer(*command, "--column", "judged"), "'judged'")
