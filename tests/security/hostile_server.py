"""A server that answers as the stand-in does until it is told to attack."""

from __future__ import annotations

import contextlib
import gzip
import threading
from collections.abc import Callable
from typing import Any

from tests.models.server.standin import Handler, Standin

from clinometer.models.client import MOST_REPLY


class HostileServer(Standin):
    """`attacks`: by the end of the address, what is sent there."""

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
