"""A hosted model killed and continued, within its budget, and with its key where it belongs."""

from __future__ import annotations

import contextlib
import io
import json
import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.command import Clinometer
from tests.models.server.providers import KINDS, ProviderServer
from tests.present import present
from tests.processes import PATIENCE_S

from clinometer.errors import SettingsError
from clinometer.models.client import BudgetReached
from clinometer.runs import Run, audit
from clinometer.topics import load_topic, parse_topic

KEY = "sk-secret-a81f"


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    server = ProviderServer(KINDS["Anthropic"], KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base)
    monkeypatch.setenv("CLINOMETER_API_KEY", KEY)
    yield server
    server.stop()


def without_key(*folders: Path) -> int:
    """How many files there are; the key is in none."""
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    return len(files)


def test_a_kill_costs_at_most_the_requests_on_their_way(
    anthropic: ProviderServer, clinometer: Clinometer, tmp_path: Path
) -> None:
    """The stand-in holds every reply after the 60th; then the audit is killed and continued."""
    reached, go = threading.Event(), threading.Event()
    held: list[dict[str, Any]] = []

    def hold(body: dict[str, Any]) -> None:
        if len(anthropic.answered) >= 60 and not go.is_set():
            held.append(body)
            reached.set()
            go.wait(PATIENCE_S)

    anthropic.before = hold
    command = [
        *("audit", anthropic.model, "--topic", "hiring", "--out", "run"),
        *("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "8"),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "clinometer", *command], cwd=tmp_path, stderr=subprocess.DEVNULL
    )
    assert reached.wait(PATIENCE_S)
    for listed in Path("/proc").glob("[0-9]*/cmdline"):  # what ps shows
        with contextlib.suppress(OSError):
            assert KEY.encode() not in listed.read_bytes()
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE_S)
    lines = (tmp_path / "run" / "replies.jsonl").read_text("utf-8").splitlines()
    kept = sum(bool(json.loads(line)[0]) for line in lines)  # others note a request
    assert without_key(tmp_path) > 1
    go.set()
    asked_before = len(anthropic.answered)
    assert clinometer(*command).status == 0
    run = Run.load(tmp_path / "run")
    wanted = run.record.replies["replies"]
    again = len(anthropic.answered) - asked_before
    # what was answered and kept is not asked again; those held are answered too late, and counted
    assert again == wanted - kept + len(held)
    assert asked_before - kept + len(held) <= 64  # on their way when the kill came
    assert run.record.usage["requests"] >= wanted  # those before the kill are counted, too


def test_the_key_is_in_no_file_cache_log_or_error(
    anthropic: ProviderServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    clinometer: Clinometer,
) -> None:
    """Also where the server repeats it, in a refusal or a reply."""
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "1GB")
    caplog.set_level(logging.DEBUG)
    few = ("--groups", "Ashley Olson,white man", "--max-contexts", "2")
    command = ("audit", anthropic.model, "--topic", "hiring", *few, "--no-cache", "--fresh")
    refusal = {"error": {"message": f"Not with {KEY}", "type": KEY.replace("-", "_"), "code": KEY}}
    said = []
    for status in (400, 401, 403, 404, 429, 500):
        anthropic.before = lambda body, status=status: (status, refusal)  # type: ignore[misc]
        said.append(clinometer(*command, "--out", "refused"))
        assert said[-1].status != 0
    answer = {"content": [{"type": "text", "text": f"Yes, {KEY}"}], "model": f"for {KEY}"}
    anthropic.before = lambda body: (200, answer)
    said.append(clinometer(*command[:-2], "--out", "run"))
    assert said[-1].status == 0
    assert Run.load(tmp_path / "run").record.model.request["answered_by"] == ["for [key]"]
    assert min(without_key(tmp_path / "refused"), without_key(tmp_path / "run")) > 0
    without_key(tmp_path)  # hosted models are not cached; if they ever are, without it
    assert "HTTP Request" in caplog.text  # the libraries were heard
    assert KEY not in caplog.text + "".join(one.out + one.err for one in said)


def test_an_own_prompt_is_sent_to_the_target_and_nowhere_else(
    anthropic: ProviderServer, connected: list[str], tmp_path: Path
) -> None:
    topic = parse_topic(
        'name = "own"\ngroups = ["Ann", "Bob"]\nreference = "group-mean"\n'
        '[readout]\nkind = "choice"\nlabels = "none"\n'
        '[[cases]]\nfile = "one"\n[[cases]]\nfile = "two"\n'
        '[[messages]]\ncontent = "File {file}: should [X] be hired?"\n'
        '[attributes]\nyes = ["Yes"]\nno = ["No"]\n'
    )
    run = audit(anthropic.model, topic=topic, replies=3, out=tmp_path / "run")
    run.write_report(tmp_path / "report.html")
    assert len(anthropic.answered) == 2 * 2 * 3
    assert {f"http://{to}" for to in connected} == {anthropic.url}


def test_the_budget_chooses_contexts_and_stops_in_time(
    anthropic: ProviderServer, tmp_path: Path
) -> None:
    topic = load_topic("hiring").select(["Jessica Schmidt", "Ashley Olson"])
    how: dict[str, Any] = {"topic": topic, "price": "1/5"}
    run = audit(anthropic.model, budget=0.02, out=tmp_path / "run", **how)
    cost = present(run.record.cost)
    assert cost.planned is not None
    assert cost.paid is not None
    assert cost.paid <= 0.02
    assert cost.planned <= 0.02
    assert run.record.contexts.n < 80  # not all of them can be paid
    # a model that writes far more than its replies: the meter stops it
    anthropic.kind = replace(anthropic.kind, hidden=400)
    with pytest.raises(BudgetReached, match="of the budget of"):
        audit(anthropic.model, budget=0.02, seed=1, out=tmp_path / "dear", **how)
    record = json.loads((tmp_path / "dear" / "run.json").read_text("utf-8"))
    assert 0.01 < record["cost"]["paid"] <= 0.02


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"budget": 0.001, "price": "1/5"}, "--budget: expected at least"),
        ({"budget": 5.0}, "--budget: the price of this model is not known"),
        ({"price": "cheap"}, "--price: expected the price"),
    ],
)
def test_a_budget_that_cannot_be_kept_is_one_line(
    options: dict[str, Any], match: str, anthropic: ProviderServer
) -> None:
    with pytest.raises(SettingsError, match=match):
        audit(anthropic.model, topic="hiring", **options)
    assert not anthropic.answered


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_costs_is_confirmed(
    anthropic: ProviderServer, clinometer: Clinometer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the answer decides, elsewhere --yes; nothing is asked before."""
    few = ("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "2")
    command = ("audit", anthropic.model, "--topic", "hiring", *few, "--price", "1/5")
    refused = clinometer(*command)
    assert refused.status == 2
    assert "--yes: expected before up to 0.01 is paid" in refused.err
    with monkeypatch.context() as terminal:
        terminal.setattr(sys, "stdin", Terminal("n\n"))
        terminal.setattr(sys, "stderr", said := Terminal())
        assert clinometer(*command).status == 1
    assert "at most 40 replies (4 cells)" in said.getvalue()
    assert "Pay up to 0.01?" in said.getvalue()
    assert not anthropic.answered
    assert clinometer(*command, "--yes").status == 0
    assert len(anthropic.answered) == 40
