"""A proxy between client and server that fails on purpose, in the ways servers do."""

from __future__ import annotations

import random
import threading
from collections import Counter

import httpx
from tests.models.server.http import JsonHandler, Server

FAULTS = ("429", "500", "half", "nothing", "wrong")


class Proxy(Server):
    """Forwards to `upstream`; each of FAULTS happens to a share `each` of all requests. `only`: the
    one path that it forwards, as a gateway does."""

    def __init__(
        self, upstream: str, *, each: float = 0.0, seed: int = 0, only: str = ""
    ) -> None:
        super().__init__(Handler)
        self.upstream, self.each, self.only = upstream, each, only
        self.faults: Counter[str] = Counter()
        self.seen: list[tuple[str, bytes]] = []
        #: what the server itself refused: path and reply
        self.refusals: list[tuple[str, str]] = []
        self.random, self.turn = random.Random(seed), threading.Lock()  # noqa: S311
        self.client = httpx.Client(timeout=None)  # noqa: S113  (as long as it takes)

    def stop(self) -> None:
        super().stop()
        self.client.close()

    def draw(self) -> str | None:
        with self.turn:
            place = int(self.random.random() / self.each) if self.each else len(FAULTS)
            fault = FAULTS[place] if place < len(FAULTS) else None
            if fault:
                self.faults[fault] += 1
            return fault


class Handler(JsonHandler):
    server: Proxy

    def get(self) -> None:
        self.post(b"")

    def post(self, content: bytes) -> None:
        self.server.seen.append((self.path, content))
        if self.server.only not in ("", self.path):
            return self.send(404, {"error": {"message": "not here"}})
        fault = self.server.draw()
        if fault == "429":
            return self.send(429, {"error": "slow down"}, Retry_After="0.02")
        if fault == "500":
            return self.send(500, b"<html>Internal Server Error</html>")
        if fault == "nothing":
            self.close_connection = True
            return None
        if fault == "wrong":
            return self.send(200, {"unexpected": True})
        kind = {"Content-Type": self.headers.get("content-type", "")}
        reply = self.server.client.request(
            self.command,
            self.server.upstream + self.path,
            content=content,
            headers=kind,
        )
        if reply.status_code >= 400:
            self.server.refusals.append((self.path, reply.text))
        if fault == "half":
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content[: len(reply.content) // 2])
            self.close_connection = True
            return None
        return self.send(reply.status_code, reply.content)
