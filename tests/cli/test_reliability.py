"""clinometer reliability, as typed."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from tests.command import Clinometer

STATEMENTS = """id,sentence,target_term,context_points,category,other,direction
1,Women talk a lot.,women,Women ___ talk a lot ___.,gender,Men talk a lot.,stereo
2,Men are tall.,men,Men are ___ tall.,gender,Women are tall.,stereo
3,[bold]Nurses[/bold] sing.,nurses,,job,Doctors sing.,stereo
"""
VERSIONS = {
    "1": ["Women here talk a lot.", "Women talk a lot today.", "Girls talk."],
    "2": ["Men are very tall.", "Men are often tall."],
    "3": ["[bold]Nurses[/bold] sing well.", "Old [bold]Nurses[/bold] sing."],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reliability")
    (folder / "statements.csv").write_text(STATEMENTS, encoding="utf-8")
    lines = [json.dumps({"id": k, "variants": v}) for k, v in VERSIONS.items()]
    (folder / "versions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    return folder


def test_an_audit_of_given_versions(files: Path, clinometer: Clinometer) -> None:
    source, versions, out = files / "statements.csv", files / "versions.jsonl", files / "run"
    score = ["reliability", "audit", source, "--variants", versions, "--out", out]
    done = clinometer(*score)
    assert done.status == 0, done.err
    assert done.out.startswith("Mean COBIAS of 3 statements")
    assert "at equal length" in done.out
    assert "[bold]Nurses[/bold] sing." in done.out  # shown, not obeyed
    assert "versions target changed 1" in done.out
    with (out / "scores.csv").open() as stream:
        assert [row["id"] for row in csv.DictReader(stream)] == ["1", "2", "3"]
    done = clinometer(*score, "--json")
    found = json.loads(done.out)
    assert done.status == 0
    assert found["summary"]["stability"]["value"] == pytest.approx(
        1 - found["summary"]["cobias"]["value"]
    )
    assert len(found["statements"]) == 3
    assert {row["rank_length_adjusted"] for row in found["statements"]} == {1, 2, 3}
    assert [f["kind"] for f in found["findings"][:2]] == ["mean", "length"]
    done = clinometer(*score, "--fail-below", 0.999)
    assert done.status == 1
    assert "is below 0.999" in done.err

    done = clinometer(*score, "--set", "dissimilarity=all-MiniLM-L6-v2", "--json")
    assert done.status == 0
    assert all(0 < row["dissimilarity_pairwise"] < 1 for row in json.loads(done.out)["statements"])


def test_an_audit_stops_after_a_step_and_resumes(
    files: Path, tmp_path: Path, clinometer: Clinometer
) -> None:
    audit = ["reliability", "audit", files / "statements.csv", "--out", tmp_path / "a"]
    done = clinometer(*audit, "--until", "statements", "--json")
    assert done.status == 0
    assert json.loads(done.out)["summary"]["pairs"] == 3
    with (tmp_path / "a" / "statements.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert rows[0]["merged"] == "(Women | Men) talk a lot."
    assert "without target" in clinometer(*audit, "--until", "statements").out
    assert not (tmp_path / "a" / "points.jsonl").exists()
    done = clinometer(*audit, "--until", "points", "--json")
    found = json.loads(done.out)
    assert [row["proposer"] for row in found["statements"]] == ["given", "given", "rules"]
    assert "by rules: 1" in clinometer(*audit, "--until", "points").out
    make = ["--until", "versions", "-n", 2, "--set", "filler=phrases:pocket:gpt2-s"]
    done = clinometer(*audit, *make)
    assert done.status == 0
    assert "versions by filler: 4" in done.out
    assert not (tmp_path / "a" / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "none.csv", "--out", "{}/x"], "no such file"),
        (["audit", "{}/statements.csv", "--out", "{}/x", "--limit", "0"], "--limit"),
        (["audit", "{}/statements.csv", "--out", "{}/x", "--until", "scores"], "until: expected"),
        (
            ["audit", "{}/statements.csv", "--out", "{}/x", "--set", "as_in_paper=true"],
            "with --writer",
        ),
        (
            ["audit", "{}/statements.csv", "--out", "{}/x", "--variants", "{}/statements.csv"],
            "'version'",
        ),
        (
            ["audit", "{}/statements.csv", "--out", "{}/x", "--set", "reading=x"],
            "equation, figure, paper, released",
        ),
    ],
)
def test_wrong_input_is_one_line(
    files: Path, clinometer: Clinometer, arguments: list[str], message: str
) -> None:
    done = clinometer("reliability", *(a.format(files) for a in arguments))
    assert done.status == 2
    assert message in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_variants_of_other_statements_are_refused(files: Path, clinometer: Clinometer) -> None:
    other = files / "other.jsonl"
    other.write_text('{"id": "9", "variants": ["Hi."]}')
    command = ("reliability", "audit", files / "statements.csv", "--out", files / "none")
    done = clinometer(*command, "--variants", other)
    assert done.status == 2
    assert "expected at least one statement with a score" in done.err
    assert "statements without versions 3" in done.out


def test_the_steps_of_the_page_run_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, clinometer: Clinometer
) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
    steps = re.findall(r"```sh\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)[1]
    lines = [shlex.split(line) for line in steps.strip().splitlines()]
    assert [line[-1] for line in lines[:2]] == ["statements", "points"]
    assert [line[2] for line in lines[3:]] == ["audit", "audits/steps"]
    pair = "The women at the office sing.,The men at the office sing.,stereo,gender"
    head = ",sent_more,sent_less,stereo_antistereo,bias_type"
    rows = [head, f"0,{pair}", f"1,{pair.replace('sing', 'lie')}"]
    (tmp_path / "crows_pairs_anonymized.csv").write_text("\n".join(rows) + "\n")
    monkeypatch.chdir(tmp_path)
    for line in lines:
        done = clinometer(*line[1:])
        assert (done.status, done.err) == (0, ""), line
