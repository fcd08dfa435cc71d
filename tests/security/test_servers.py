"""Servers that lie, flood, stall and shout: one line each, in bounded time and memory."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.command import Clinometer, refused
from tests.models.server.standin import Handler, Standin

from clinometer.errors import ModelError
from clinometer.models import LoadOptions, ServerOptions, WordOptions, open_model
from clinometer.models.client.failures import BudgetReached
from clinometer.models.client.response import MOST_REPLY
from clinometer.topics import Prompt

PROMPT = [Prompt("A NURSE SAID", "", space=True)]
WORDS = ("HE", "SHE", "Q", "Z")


class HostileServer(Standin):
    """It answers as the stand-in does until it is told to attack; `attacks`: by the end of the
    address, what is sent there."""

    def __init__(self) -> None:
        super().__init__("logprobs", "token-ids", "names-ids")
        self.RequestHandlerClass = HostileHandler
        self.attacks: dict[str, Attack] = {}
        self.change: Callable[[dict[str, Any]], dict[str, Any]] = lambda reply: reply
        self.stopped = threading.Event()

    def complete(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        status, reply = super().complete(body)
        return status, self.change(reply)

    def stop(self) -> None:
        self.stopped.set()
        super().stop()


class HostileHandler(Handler):
    server: HostileServer

    def handle_one_request(self) -> None:
        self.do_GET = self.do_POST = self.attack_or_answer  # type: ignore[method-assign]
        super().handle_one_request()

    def finish(self) -> None:
        """A client that hung up leaves bytes that cannot be sent; the sockets are closed all the
        same."""
        with contextlib.suppress(OSError):
            self.wfile.close()
        self.rfile.close()

    def attack_or_answer(self) -> None:
        attacks = self.server.attacks.items()
        attack = next((a for end, a in attacks if self.path.endswith(end)), None)
        if attack is None:
            (Handler.do_GET if self.command == "GET" else Handler.do_POST)(self)
            return
        self.rfile.read(int(self.headers.get("content-length") or 0))
        self.close_connection = True
        attack(self)


#: What is done with one request, instead of an honest answer.
Attack = Callable[[HostileHandler], None]


def body(reply: Any, status: int = 200, **headers: str) -> Attack:
    """Bytes as they are, anything else as JSON."""
    return lambda handler: handler.send(status, reply, **headers)


def bomb(size: int) -> Attack:
    return body(gzip.compress(b"[" + b" " * size + b"]"), Content_Encoding="gzip")


def endless(handler: HostileHandler) -> None:
    """A body of unknown length, as fast as it is read: far longer than anyone should read, and not
    longer, so that a reader without a limit fails a test and not the machine."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    piece = b" " * (1 << 20)
    for _ in range(4 * MOST_REPLY // len(piece)):
        handler.wfile.write(piece)
        handler.wfile.flush()


def drip(handler: HostileHandler) -> None:
    """A byte now and then, for as long as somebody reads."""
    handler.send_response(200)
    handler.send_header("Connection", "close")
    handler.end_headers()
    while not handler.server.stopped.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()


@pytest.fixture
def server() -> Iterator[HostileServer]:
    with HostileServer() as made:
        yield made


@contextlib.contextmanager
def opened(server: HostileServer, **options: Any) -> Iterator[Any]:
    """Its patience is also what it waits at most between two attempts."""
    load = LoadOptions(
        server=ServerOptions(**{"timeout": 60.0, "patience": 0.001, **options})
    )
    scorer = open_model(
        f"openai:{server.url}#toy", load=load, words=WordOptions(tolerance=0)
    )
    with contextlib.closing(scorer):
        yield scorer


def score(server: HostileServer, **options: Any) -> Any:
    with opened(server, **options) as scorer:
        return scorer.score(PROMPT, WORDS)


# --- impossible probabilities ---------------------------------------------------------------------


Lie = Callable[[str, float], float]


def lying(change: Lie) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """A reply in which each listed token's number is what `change` makes of it."""

    def changed(reply: dict[str, Any]) -> dict[str, Any]:
        for choice in reply.get("choices", ()):
            listed = choice["logprobs"]
            listed["top_logprobs"] = [
                {token: change(token, number) for token, number in place.items()}
                for place in listed["top_logprobs"]
            ]
        return reply

    return changed


@pytest.mark.parametrize("number", [0.0, -0.1, -12.5, 0.5, 3.0])
def test_numbers_that_are_no_distribution_are_refused(
    server: HostileServer, number: float
) -> None:
    server.change = lying(lambda _, __: number)
    with pytest.raises(ModelError, match=r"log-probabilities|usable"):
        score(server)


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (lambda _, __: 0.0, "are not log-probabilities"),
        (lambda _, __: -0.1, "are not log-probabilities"),
        (lambda _, __: -12.5, "are not log-probabilities"),
        (lambda _, number: number / 100, "at most 1 together"),
        # of the space before every word: taken for 1, no sum would exceed 1
        (
            lambda token, number: 0.5 if token == "token_id:0" else number,
            "no usable answer",
        ),
    ],
)
def test_a_server_that_lies_only_after_the_probe_is_refused(
    server: HostileServer, lie: Lie, said: str
) -> None:
    with opened(server) as scorer:
        server.change = lying(lie)
        with pytest.raises(ModelError, match=said):
            scorer.score(
                [Prompt("ANOTHER", "", space=True), *PROMPT], WORDS[2:]
            )  # one length


# --- floods, stalls and nonsense ------------------------------------------------------------------

DEEP = b"[" * 100_000 + b"]" * 100_000
NONSENSE: dict[str, Attack] = {
    "deep": body(DEEP),
    "deep object": body(b'{"choices":' * 5000 + b"1" + b"}" * 5000),
    "infinity": body(
        b'{"choices": [Infinity], "data": [Infinity], "tokens": [Infinity]}'
    ),
    "overflow": body(b'{"choices": [1e999], "tokens": [1e999]}'),
    "long number": body(b'{"tokens": [' + b"9" * 5000 + b"]}"),
    "surrogate": body(b'{"choices": [{"text": "\\ud800"}], "tokens": ["\\ud800"]}'),
    "not UTF-8": body(b"\xff\xfe{}"),
    "null": body(b"null"),
    "number": body(b"7"),
    "list": body([]),
    "wrong types": body({"choices": "x", "data": 5, "tokens": {"a": 1}, "usage": [1]}),
    "text for lists": body(
        {"choices": [{"text": 1, "logprobs": "x"}], "tokens": "abc"}
    ),
    "huge ids": body({"tokens": [2**80]}),
    "negative ids": body({"tokens": [-1]}),
    "bomb, compressed_reply": bomb(40_000_000),
    "garbage, compressed_reply": body(b"\x1f\x8b garbage", Content_Encoding="br"),
    "pause": body({}, 429, Retry_After="9" * 400),
    "pause of text": body({}, 503, Retry_After="Fri, 31 Dec 99999 23:59:59 GMT"),
    "pause not a number": body({}, 503, Retry_After="nan"),
    "teapot": body({"error": {"message": "x" * 10_000, "code": ["a"]}}, 418),
    "redirect": body({}, 302, Location="http://127.0.0.1:1/"),
}


@pytest.mark.parametrize("where", ["/models", "/tokenize", "/completions"])
@pytest.mark.parametrize("attack", NONSENSE)
def test_nonsense_is_one_line(server: HostileServer, attack: str, where: str) -> None:
    server.attacks[where] = NONSENSE[attack]
    with pytest.raises(ModelError) as refused:
        score(server)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 500
    assert attack.partition(", ")[2] in str(refused.value)


def test_a_flood_does_not_fill_the_memory(server: HostileServer) -> None:
    server.attacks["/models"] = endless
    tracemalloc.start()
    with pytest.raises(ModelError, match="reply_too_large"):
        score(server)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * MOST_REPLY  # pieces, their sum and a copy, and some attempts


def test_a_reply_that_never_ends_is_given_up(server: HostileServer) -> None:
    server.attacks["/models"] = drip
    with pytest.raises(ModelError, match="timeout"):
        score(server, timeout=0.5)


def test_a_pause_beyond_our_patience_is_not_waited_for(server: HostileServer) -> None:
    server.attacks["/models"] = body({}, 429, Retry_After="9")
    with pytest.raises(ModelError, match="in 1 attempts"):
        score(server, patience=8.0)


@pytest.mark.parametrize(
    "entry",
    [
        {},
        {"meta": "x"},
        {"meta": {"n_ctx": "many", "n_params": [1]}},
        {"max_model_len": -5},
        {"max_model_len": "100"},
        {"owned_by": {"a": 1}},
    ],
)
def test_a_model_list_with_wrong_types_is_usable(
    server: HostileServer, entry: Any
) -> None:
    server.attacks["/models"] = body({"data": [{"id": "toy", **entry}]})
    assert score(server).log_probs.shape == (1, 4)


def test_a_negative_count_does_not_defeat_the_budget(server: HostileServer) -> None:
    sent = itertools.cycle((30, -1000))
    server.change = lambda reply: {**reply, "usage": {"total_tokens": next(sent)}}
    with pytest.raises(BudgetReached):
        score(server, max_tokens=50)


@pytest.mark.parametrize(
    "message", ["A NURSE SAID", "a  nurse\\nsaid", "QSBOVVJTRSBTQUlE"]
)
def test_no_sentence_of_a_server_is_shown(server: HostileServer, message: str) -> None:
    error = {"message": f"cannot continue {message}", "type": message, "code": message}
    server.attacks["/completions"] = body({"error": error}, 400)
    with pytest.raises(ModelError) as refused:
        score(server)
    assert message not in str(refused.value)


def test_escape_sequences_of_a_server_do_not_reach_the_terminal(
    server: HostileServer, clinometer: Clinometer, tmp_path: Path
) -> None:
    names = [{"id": "\x1b]0;owned\x07[bold]x[/close]\u202e"}, {"id": "other"}]
    server.attacks["/models"] = body({"data": names})
    result = clinometer("audit", f"openai:{server.url}", "--out", tmp_path / "run")
    refused(result, "other")
    assert not {"\x1b", "\x07", "\u202e"} & set(result.err)


def test_another_model_half_way_is_refused(server: HostileServer) -> None:
    names = iter(["a", "a", "a\x1b[31m", *["a"] * 1000])
    server.change = lambda reply: {**reply, "model": next(names)}
    with pytest.raises(ModelError, match="one model"):
        score(server)
