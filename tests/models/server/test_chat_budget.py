"""What is billed stays within the budget, whatever a server says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
from tests.models.server.http import JsonHandler, Server

from clinometer.errors import ModelError
from clinometer.models import LoadOptions, SampleOptions, ServerOptions, open_model
from clinometer.storage.reply_log import ReplyLog
from clinometer.topics import Prompt

#: Of a token, and what is paid at most: 2,000 tokens.
PRICE, BUDGET = 0.001, 2.0
SAID = "Yes."
COUNTED = {"prompt_tokens": 45, "completion_tokens": 2}
PROMPTS = [
    Prompt(f"Candidate {i}: " + "a long file. " * 5, "", space=True) for i in range(150)
]


class Billing(Server):
    """A chat endpoint that bills a token for four letters, and says of it what `usage` is; `fails`
    is the status of every second answer."""

    def __init__(self, usage: Any = None, fails: int = 0) -> None:
        self.usage, self.fails = usage, fails
        self.billed, self.asked, self.turn = 0.0, 0, threading.Lock()
        super().__init__(Handler)


class Handler(JsonHandler):
    server: Billing

    def get(self) -> None:
        self.send(200, {"data": [{"id": "m"}]})

    def post(self, content: bytes) -> None:
        body, server = json.loads(content), self.server
        with server.turn:
            server.asked += 1
            fails = server.fails and server.asked % 2 == 0
            if server.fails != 429 or not fails:
                letters = sum(len(m["content"]) for m in body["messages"])
                server.billed += (letters + len(SAID)) / 4 * PRICE
        if fails == 0 or server.fails == 200:
            choice = {"message": {"content": SAID}}
            self.send(
                200, {"choices": "?" if fails else [choice], "usage": server.usage}
            )
        else:
            self.send(server.fails, {"error": {"code": "busy"}})


#: A server, and what samples its replies.
Billed = Callable[..., tuple[Billing, Any]]


@pytest.fixture
def billed(until_the_end: Callable[[Billing], Billing]) -> Iterator[Billed]:
    with ExitStack() as opened:

        def start(*how: Any, **options: Any) -> tuple[Billing, Any]:
            server = until_the_end(Billing(*how))
            asked = ServerOptions(price=f"{PRICE * 1e6:g}", **options)
            load = LoadOptions(
                chat=True, sampled=SampleOptions(replies=2), server=asked
            )
            return server, opened.enter_context(
                closing(open_model(f"openai:{server.url}#m", load=load))
            )

        yield start


@pytest.mark.parametrize(
    "usage",
    [
        None,
        {"total_tokens": 0},
        {"prompt_tokens": 1.5, "completion_tokens": 1.0},
        {"prompt_tokens": -50, "completion_tokens": -1},
        {"prompt_tokens": 10**9, "completion_tokens": 10**9},
        {"prompt_tokens": 1, "completion_tokens": 1},
    ],
    ids=str,
)
def test_a_server_that_does_not_count_is_not_paid_more_than_the_budget(
    usage: Any, billed: Billed
) -> None:
    server, scorer = billed(usage, budget=BUDGET)
    with pytest.raises(ModelError, match="stopped at about"):
        scorer.generate(PROMPTS)
    assert 0.5 * BUDGET < server.billed <= BUDGET
    assert scorer.usage()["tokens_estimated"] > 0


@pytest.mark.parametrize("fails", [500, 200])
def test_what_reached_the_server_counts_whatever_came_back(
    fails: int, billed: Billed
) -> None:
    server, scorer = billed(COUNTED, fails, budget=BUDGET)
    with pytest.raises(ModelError, match="stopped at"):
        scorer.generate(PROMPTS)
    assert 0.3 * BUDGET < server.billed <= BUDGET


def test_a_server_that_refuses_every_second_request_is_asked_to_the_end(
    billed: Billed,
) -> None:
    _, scorer = billed(COUNTED, 429)
    assert len(scorer.generate(PROMPTS[:20])) == 20


def test_a_request_is_noted_before_it_is_sent(tmp_path: Path, billed: Billed) -> None:
    """So that a kill loses no more than it knows of."""
    (server, scorer), file = billed(COUNTED), tmp_path / "replies.jsonl"
    scorer.keep(ReplyLog(file, scorer.usage))
    before = server.asked
    scorer.generate(PROMPTS[:3])
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [bool(line[0]) for line in lines].count(False) == server.asked - before
    first = lines[0][-1]
    assert first["requests"] == before + 2  # the list of models too
    assert first["tokens_written"] >= 8  # as many as may come of it
    assert ReplyLog(file).used == lines[-1][-1]
    scorer.close()
    assert ReplyLog(file).used == scorer.usage()
