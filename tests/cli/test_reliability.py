"""clinometer reliability, as typed; of annotate what needs no server."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path

import pytest
from tests.command import Clinometer, refused
from tests.processes import ROOT

from clinometer.web.annotation.store import Store
from clinometer.web.annotation.task import read_task

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
    source, versions, out = (
        files / "statements.csv",
        files / "versions.jsonl",
        files / "run",
    )
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
    done = clinometer(*score, "--set", "dissimilarity=all-MiniLM-L6-v2", "--json")
    assert done.status == 0
    assert all(
        0 < row["dissimilarity_pairwise"] < 1
        for row in json.loads(done.out)["statements"]
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "no such file"),
        (["{}/statements.csv", "--limit", "0"], "--limit"),
        (["{}/statements.csv", "--until", "scores"], "until: expected"),
        (["{}/statements.csv", "--set", "as_in_paper=true"], "with --writer"),
        (["{}/statements.csv", "--variants", "{}/statements.csv"], "'version'"),
        (
            ["{}/statements.csv", "--set", "reading=x"],
            "equation, figure, paper, released",
        ),
    ],
)
def test_wrong_input_is_one_line(
    files: Path, clinometer: Clinometer, arguments: list[str], message: str
) -> None:
    given = [a.format(files) for a in arguments]
    refused(clinometer("reliability", "audit", *given, "--out", files / "x"), message)


def test_variants_of_other_statements_are_refused(
    files: Path, clinometer: Clinometer
) -> None:
    other = files / "other.jsonl"
    other.write_text('{"id": "9", "variants": ["Hi."]}')
    command = (
        "reliability",
        "audit",
        files / "statements.csv",
        "--out",
        files / "none",
    )
    done = clinometer(*command, "--variants", other)
    assert done.status == 2
    assert "expected at least one statement with a score" in done.err
    assert "statements without versions 3" in done.out


def test_the_steps_of_the_page_run_as_printed(
    folder: Path, clinometer: Clinometer
) -> None:
    page = (ROOT / "docs" / "reliability.md").read_text(encoding="utf-8")
    steps = re.findall(r"```sh\n(.*?)```", page, flags=re.S)[1]
    lines = [shlex.split(line) for line in steps.strip().splitlines()]
    assert [line[-1] for line in lines[:2]] == ["statements", "points"]
    assert [line[2] for line in lines[3:]] == ["audit", "audits/steps"]
    pair = "The women at the office sing.,The men at the office sing.,stereo,gender"
    head = ",sent_more,sent_less,stereo_antistereo,bias_type"
    rows = [head, f"0,{pair}", f"1,{pair.replace('sing', 'lie')}"]
    (folder / "crows_pairs_anonymized.csv").write_text("\n".join(rows) + "\n")
    said = []
    for line in lines:
        done = clinometer(*line[1:])
        assert (done.status, done.err) == (0, ""), line
        said.append(done.out)
    assert "without target: 0" in said[0]
    assert "by rules: 2" in said[1]
    assert re.search("versions by filler: [1-9]", said[2])
    found = json.loads(clinometer(*lines[0][1:], "--json").out)
    assert found["summary"]["pairs"] == 2
    assert found["statements"][0]["merged"] == "The (women | men) at the office sing."


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    path = tmp_path / "few.csv"
    path.write_text("id,context_points\na,One ___.\nb,Two ___.\n", encoding="utf-8")
    return path


def test_status_and_export(
    clinometer: Clinometer, dataset: Path, tmp_path: Path
) -> None:
    store = Store(dataset.with_suffix(".blanks.sqlite"), read_task(dataset))
    first, second = store.annotators(at_least=2)
    store.begin(first)
    store.begin(second)
    store.judge(first, 0, "yes")
    store.judge(first, 1, "skip")
    store.judge(second, 0, "no", "why")
    store.close()
    found = json.loads(
        clinometer("reliability", "annotate", dataset, "--status", "--json").out
    )
    assert found["summary"]["judgements"] == 3
    first_row = {
        "annotator": 1,
        "state": "active",
        "answers": 2,
        "skipped": 1,
        "items": 2,
    }
    assert found["annotators"][0] == first_row
    out = tmp_path / "out.csv"
    done = clinometer("reliability", "annotate", dataset, "--export", out)
    assert "3 judgements written to" in done.out
    assert out.read_text() == (
        "id,context_points,annotator_1,annotator_2\na,One ___.,yes,no\nb,Two ___.,,\n"
    )
    clinometer("reliability", "annotate", dataset, "--export", out, "--long")
    assert out.read_text().splitlines()[-1] == "b,Two ___.,annotator_1,skip,"


def test_the_database_may_have_any_name(
    clinometer: Clinometer, dataset: Path, tmp_path: Path
) -> None:
    place = tmp_path / "a strange? name%20.sqlite"
    done = clinometer(
        "reliability", "annotate", dataset, "--status", "--database", place
    )
    assert done.status == 0
    assert place.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ("--mode", "rating"),
            "expected a column 'sentence', found id, context_points",
        ),
        (("--mode", "stars"), "expected blanks, rating, category"),
        (
            ("--annotators", "0"),
            "--annotators: expected a whole number of at least 1, found 0",
        ),
        (("--public", "example.org"), "--public: expected an address with http"),
        (
            ("--database", "oracle://me:secret@x/y"),
            "expected a SQLite file, found an address\n",
        ),
        (("--guidelines", "nowhere.md"), "nowhere.md: no such file"),
        (("--export", "out.xlsx"), "expected a file name that ends in .csv"),
    ],
)
def test_errors_are_one_line(
    clinometer: Clinometer, dataset: Path, options: tuple[str, ...], said: str
) -> None:
    refused(clinometer("reliability", "annotate", dataset, *options), said)
