"""clinometer audit: where a run is kept, what is said of it, and one shape of JSON; questions:
decisions of a real model, and servers that give no answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command import Clinometer, refused
from tests.models.server.http import JsonHandler, Server
from tests.report.made import made_run

from clinometer.runs import Run
from clinometer.runs.notes import notes
from clinometer.storage.rows import read_rows

FEW = ("--groups", "nurse,cook,engineer")


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("models", [("random",), ("random", "unbiased")], ids=len)
def test_runs_are_kept_side_by_side_and_json_has_one_shape(
    clinometer: Clinometer, folder: Path, models: tuple[str, ...]
) -> None:
    names = [f"reference:{m}" for m in models]
    kept = [f"runs/reference-{m}-gender-paper-gender" for m in models]
    result = clinometer("audit", *names, *FEW)
    assert result.status == 0
    assert result.out.splitlines()[-1] == (
        f"Kept in {kept[0] if len(kept) == 1 else 'runs'}. Next: clinometer report "
        f"{' '.join(kept)} --out report.html, or clinometer view runs"
    )
    assert all((folder / run / "run.json").is_file() for run in kept)
    assert clinometer("report", *kept, "--out", "report.html").status == 0
    result = clinometer("audit", *names, *FEW, "--json")
    found = json.loads(result.out)
    assert set(found) == {"runs", "failed", "unmeasurable"}
    assert [(run["model"], run["path"]) for run in found["runs"]] == [
        *zip(names, kept, strict=True)
    ]
    assert found["failed"] == []
    assert result.err.startswith("Kept in runs")
    assert result.err.count("\n") == 1


def test_the_same_command_resumes_and_another_gets_its_own_folder(
    clinometer: Clinometer, folder: Path
) -> None:
    for _ in range(2):
        assert clinometer("audit", "pocket:bert", *FEW).status == 0
    first = "pocket-bert-gender-paper-gender"
    assert [p.name for p in (folder / "runs").iterdir()] == [first]
    other = clinometer("audit", "pocket:bert", "--groups", "nurse")
    assert f"Kept in runs/{first}-2." in other.out
    again = clinometer("audit", "pocket:bert", *FEW)
    assert f"Kept in runs/{first}." in again.out


def test_an_unwritable_folder_is_one_line(clinometer: Clinometer, folder: Path) -> None:
    (folder / "runs").write_text(
        "a file stands where the folder would be", encoding="utf-8"
    )
    result = clinometer("audit", "reference:random", *FEW)
    place = "clinometer: runs/reference-random-gender-paper-gender: cannot be"
    refused(result, place, "choose another place with --out")
    assert result.out == ""


def test_what_cannot_begin_leaves_no_folder_behind(
    clinometer: Clinometer, folder: Path
) -> None:
    refused(clinometer("audit", "reference:fair"))
    refused(clinometer("audit", "reference:random", "--topic", "religion"))
    assert list(folder.iterdir()) == []
    (folder / "broken").mkdir()
    (folder / "broken" / "config.json").write_text("{}", encoding="utf-8")
    result = clinometer("audit", "./broken", *FEW)
    assert result.status in (2, 3)
    assert result.err.count("\n") == 1
    assert list((folder / "runs").iterdir()) == []


PEOPLE = ("--groups", "white man,Black woman", "--max-contexts", "3")


class FixedReplies(Server):
    """A chat server without log-probabilities or templates, which always says the same."""

    def __init__(self, *replies: str | None) -> None:
        super().__init__(_Handler)
        self.replies, self.asked, self.tokens = replies, 0, 0
        self.messages: list[Any] = []

    @property
    def model(self) -> str:
        return f"openai:{self.url}/v1#fixed"


class _Handler(JsonHandler):
    server: FixedReplies

    def get(self) -> None:
        self.send(200, {"data": [{"id": "fixed"}]})

    def post(self, content: bytes) -> None:
        body = json.loads(content)
        if not self.path.endswith("completions"):
            self.send(404, {"error": {"message": "no such place"}})
            return
        chat = self.path.endswith("chat/completions")
        self.server.messages.append(body.get("messages") or body.get("prompt"))
        choices = []
        for _ in range(body.get("n", 1)):
            said = self.server.replies[self.server.asked % len(self.server.replies)]
            self.server.asked += 1
            choices.append(
                {"message": {"content": said}} if chat else {"text": said or ""}
            )
        read = len(str(self.server.messages[-1])) // 4
        usage = {"prompt_tokens": read, "completion_tokens": len(choices)}
        self.server.tokens += sum(usage.values())
        self.send(200, {"choices": choices, "usage": usage})


Saying = Callable[..., FixedReplies]


@pytest.fixture
def saying(
    folder: Path, until_the_end: Callable[[FixedReplies], FixedReplies]
) -> Saying:
    return lambda *replies: until_the_end(FixedReplies(*replies))


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        (
            ("I'm sorry, but I can't help with that.",),
            "of 60 replies only 0 .* (60 refusals)",
        ),
        (("", None), "of 60 replies only 0 .* (60 empty)"),
        (("<think>First I have to",), "--load reply_tokens=N"),
        (("Bananas are yellow.", "The sea, the sea!"), "(60 something else)"),
    ],
    ids=["refusing", "empty", "thinking", "babbling"],
)
def test_a_model_without_answers_has_no_number(
    replies: tuple[str | None, ...],
    said: str,
    saying: Saying,
    clinometer: Clinometer,
) -> None:
    command = (
        "audit",
        saying(*replies).model,
        "--topic",
        "hiring",
        "--replies",
        "10",
        *PEOPLE,
    )
    result = clinometer(*command, "--out", "run")
    assert result.status == 3
    assert "cannot be measured" in result.err
    for part in said.split(" .* "):
        assert part in result.err
    assert "0.000" not in result.out + result.err
    again = clinometer(*command, "--out", "run", "--json")
    assert again.status == 3
    content = json.loads(again.out)
    assert content["runs"] == []
    assert content["failed"] == []
    assert content["unmeasurable"][0]["other"] == 1.0
    record = json.loads(Path("run/run.json").read_text(encoding="utf-8"))
    assert record["status"] == "unmeasurable"
    assert "summary" not in record
    shown = clinometer("report", "run", "--out", "report.html")
    assert shown.status == 0
    assert "cannot be measured" in Path("report.html").read_text(encoding="utf-8")


def test_a_server_that_answers_is_asked_the_question_itself(
    saying: Saying, clinometer: Clinometer
) -> None:
    server = saying("Yes.", "No", "Yes", "no!", "I can't say")
    command = (
        "audit",
        server.model,
        "--topic",
        "hiring",
        "--replies",
        "10",
        "--chat",
        *PEOPLE,
    )
    result = clinometer(*command, "--out", "run", "--json")
    assert result.status == 0
    (chat,) = json.loads(result.out)["runs"]
    assert chat["other"]["share"] == pytest.approx(0.2)
    assert chat["replies"]["replies_refusals"] == 12
    assert [row["rate"] for row in chat["groups"]] == [0.5, 0.5]
    assert chat["other"]["bounds"]["R"][1] > 0
    asked = [m for m in server.messages if isinstance(m, list)]
    assert len(asked) == len(server.messages)
    assert asked[0][0]["content"].endswith("Answer:")
    assert "Continue this text" not in str(asked)
    table = clinometer(*command, "--out", "run")
    assert "20 % of the replies is other (none of the categories)" in table.out
    assert clinometer("gate", "run", "--fail-above", "other=0.1").status == 1
    assert clinometer("gate", "run", "--fail-above", "other=0.3").status == 0


def test_replies_of_a_server_plan_the_next_audit_at_a_price(
    saying: Saying, clinometer: Clinometer
) -> None:
    """A reply costs what all of them did, divided."""
    server = saying("Yes.", "No", "Yes", "no!")
    people = ("--groups", "white man,Black woman", "--max-contexts", "6")
    clinometer(
        "audit",
        server.model,
        "--topic",
        "hiring",
        "--replies",
        "10",
        *people,
        "--out",
        "r",
    )
    tokens = json.loads(Path("r/run.json").read_text(encoding="utf-8"))["usage"][
        "tokens"
    ]
    assert tokens == server.tokens
    planned = ("plan", "r", "--detect", "0.1", "--price", "2000000")
    for plan in json.loads(clinometer(*planned, "--json").out)["plans"]:
        assert plan["cost"] == pytest.approx(
            2 * plan["requests"] * tokens / (2 * 6 * 10)
        )
    assert f"{plan['cost']:,.2f}" in clinometer(*planned).out


@pytest.mark.usefixtures("folder", "undrawn")
def test_decisions_of_a_local_model_with_a_report(
    monkeypatch: pytest.MonkeyPatch, clinometer: Clinometer
) -> None:
    command = (
        "audit",
        "pocket:gpt2-s",
        "--topic",
        "hiring",
        *PEOPLE,
        "--device",
        "cpu",
    )
    monkeypatch.setattr("clinometer.runs.answers.MOST", 1.0)  # it seldom answers at all
    result = clinometer(*command, "--out", "run")
    assert result.status == 0, result.err
    assert "of the probability is other" in result.out
    run = Run.load("run")
    assert run.record.topic.readout is not None
    assert run.record.floor is None
    assert run.preferences.reference == "group-mean"
    (again,) = json.loads(clinometer(*command, "--out", "run", "--json").out)["runs"]
    assert run.risks.R.value == pytest.approx(again["summary"]["R"]["value"], abs=1e-12)
    assert clinometer("report", "run", "--out", "report.html").status == 0
    page = Path("report.html").read_text(encoding="utf-8")
    assert "what all applicants get in the same question" in page
    assert "is other (none of the categories)" in page


def test_a_topic_of_texts_samples_replies_by_itself(
    saying: Saying, clinometer: Clinometer
) -> None:
    model = saying("She was brave, and her friends knew it.").model
    result = clinometer(
        "audit", model, "--topic", "story", "--groups", "nurse", "--out", "run"
    )
    assert result.status == 0, result.err
    assert Run.load("run").record.replies["replies"] == 10 * 40  # in forty contexts


def test_a_sample_of_replies_is_written_for_people(
    saying: Saying, clinometer: Clinometer
) -> None:
    asked = (
        saying("Yes", "No", "Perhaps").model,
        "--topic",
        "hiring",
        "--replies",
        "10",
    )
    assert clinometer("audit", *asked, *PEOPLE, "--out", "run").status == 0
    shown = clinometer("export", "labels", "run", "-n", "12")
    assert shown.status == 0
    annotate = "clinometer reliability annotate replies.csv --mode category --categories yes,no"
    assert annotate in shown.out
    rows = list(read_rows(Path("replies.csv")))
    assert len(rows) == len({row["id"] for row in rows}) == 12
    judged = {"Yes": "yes", "No": "no", "Perhaps": "other"}
    assert all(row["judge"] == judged[str(row["reply"])] for row in rows)
    before = Path("replies.csv").read_text(encoding="utf-8")
    assert "exists already" in clinometer("export", "labels", "run").err
    assert Path("replies.csv").read_text(encoding="utf-8") == before


@pytest.mark.usefixtures("undrawn")
def test_shards_are_together_the_audit_of_several_models(
    clinometer: Clinometer, folder: Path
) -> None:
    names = ("reference:unbiased", "reference:random", "reference:stereotyped")
    done = [
        clinometer("audit", *names, *FEW, "--out", "runs", "--shard", f"{i}/2")
        for i in (0, 1)
    ]
    assert [shard.status for shard in done] == [0, 0]
    assert "reference-random" not in done[0].out
    assert {path.parent.name for path in folder.glob("runs/*/run.json")} == {
        name.replace(":", "-") for name in names
    }
    refused(clinometer("audit", *names, "--shard", "2/2"), "such as 0/8")


@pytest.mark.parametrize(("contexts", "small"), [(12, True), (40, False)])
def test_contexts_that_are_too_few_to_measure_with_are_named(
    tmp_path: Path, contexts: int, small: bool
) -> None:
    run = made_run(tmp_path / "run", groups=4, contexts=contexts, model="m", orders=2)
    assert (run.risks.n_eff < 30) == small
    said = [line for line in notes(run) if "too small to measure with" in line]
    assert len(said) == small
    if small:
        assert "such as --contexts wikipedia" in said[0]
        assert f"worth {run.risks.n_eff:.0f} even ones" in said[0]
