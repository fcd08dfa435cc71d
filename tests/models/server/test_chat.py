"""A hosted model killed and continued, within its budget, and with its key where it belongs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.models.server.providers import KINDS, ProviderServer
from tests.processes import PATIENCE_S

from clinometer.errors import SettingsError
from clinometer.models.server.client import BudgetReached
from clinometer.runs import Run, audit
from clinometer.topics import load_topic

KEY = "sk-secret-a81f"


@pytest.fixture
def anthropic(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    server = ProviderServer(KINDS["Anthropic"], KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.base)
    monkeypatch.setenv("CLINOMETER_API_KEY", KEY)
    yield server
    server.stop()


def test_a_kill_costs_at_most_the_requests_on_their_way(
    anthropic: ProviderServer, tmp_path: Path
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
        *(sys.executable, "-m", "clinometer", "audit", anthropic.model, "--topic", "hiring"),
        *("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "8", "--out", "run"),
    ]
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL)
    assert reached.wait(PATIENCE_S)
    listed = Path(f"/proc/{process.pid}/cmdline")
    if listed.exists():
        assert KEY.encode() not in listed.read_bytes()
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE_S)
    kept = len((tmp_path / "run" / "replies.jsonl").read_text("utf-8").splitlines())
    go.set()
    asked_before = len(anthropic.answered)
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, timeout=PATIENCE_S, check=True
    )
    run = Run.load(tmp_path / "run")
    wanted = run.record.replies["replies"]
    again = len(anthropic.answered) - asked_before
    # what was answered and kept is not asked again; those held are answered too late, and counted
    assert again == wanted - kept + len(held)
    assert asked_before - kept + len(held) <= 64  # on their way when the kill came
    assert run.record.usage["requests"] >= wanted  # those before the kill are counted, too
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]
    assert KEY.encode() not in done.stdout + done.stderr


def test_the_budget_chooses_contexts_and_stops_in_time(
    anthropic: ProviderServer, tmp_path: Path
) -> None:
    topic = load_topic("hiring").select(["Jessica Schmidt", "Ashley Olson"])
    how: dict[str, Any] = {"topic": topic, "price": "1/5", "replicates": 0}
    run = audit(anthropic.model, budget=0.02, out=tmp_path / "run", **how)
    cost = run.record.cost
    assert cost is not None
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


def test_what_costs_is_confirmed(anthropic: ProviderServer, tmp_path: Path) -> None:
    """On a terminal the answer decides, elsewhere --yes; nothing is asked before."""
    pty = pytest.importorskip("pty")
    command = [
        *(sys.executable, "-m", "clinometer", "audit", anthropic.model, "--topic", "hiring"),
        *("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "2", "--price", "1/5"),
    ]
    refused = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    assert refused.returncode == 2
    assert b"--yes: expected before up to 0.01 is paid" in refused.stderr
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, cwd=tmp_path, stdin=theirs, stdout=subprocess.DEVNULL, stderr=theirs
    )
    said = b""
    while b"Pay up to" not in said:
        said += os.read(ours, 1024)
    assert b"at most 40 replies (4 cells)" in said
    os.write(ours, b"n\n")
    assert process.wait(PATIENCE_S) == 1
    assert not anthropic.answered
    subprocess.run([*command, "--yes"], cwd=tmp_path, check=True, capture_output=True)
    assert len(anthropic.answered) == 40
    for end in (ours, theirs):
        os.close(end)
