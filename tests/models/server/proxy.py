"""A proxy between client and server that fails on purpose, in the ways servers do."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx

FAULTS = ("429", "500", "half", "nothing", "wrong")


class Proxy(ThreadingHTTPServer):
    """Forwards to `upstream`; each of FAULTS happens to a share `each` of all requests."""

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is its own affair, and nothing for a command's stderr."""

    daemon_threads = True

    def __init__(self, upstream: str, *, each: float, seed: int = 0) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream, self.each = upstream, each
        self.faults: Counter[str] = Counter()
        self.seen: list[tuple[str, bytes]] = []
        self.refuse_with: tuple[int, dict[str, Any]] | None = None
        self.random, self.turn = random.Random(seed), threading.Lock()  # noqa: S311
        self.client = httpx.Client(timeout=None)  # noqa: S113  (as long as it takes)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        self.client.close()

    def draw(self) -> str | None:
        with self.turn:
            place = int(self.random.random() / self.each) if self.each else len(FAULTS)
            fault = FAULTS[place] if place < len(FAULTS) else None
            if fault:
                self.faults[fault] += 1
            return fault


class Handler(BaseHTTPRequestHandler):
    server: Proxy
    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = 65536, True  # else every reply waits 40 ms

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.forward(b"")

    def do_POST(self) -> None:
        self.forward(self.rfile.read(int(self.headers["content-length"])))

    def forward(self, body: bytes) -> None:
        self.server.seen.append((self.path, body))
        if self.server.refuse_with:
            status, refusal = self.server.refuse_with
            return self.send(status, json.dumps(refusal).encode())
        fault = self.server.draw()
        if fault == "429":
            return self.send(429, b'{"error": "slow down"}', {"Retry-After": "0.02"})
        if fault == "500":
            return self.send(500, b"<html>Internal Server Error</html>")
        if fault == "nothing":
            self.close_connection = True
            return None
        if fault == "wrong":
            return self.send(200, b'{"unexpected": true}')
        reply = self.server.client.request(
            self.command, self.server.upstream + self.path, content=body
        )
        if fault == "half":
            self.send_response(200)
            self.send_header("Content-Length", str(len(reply.content)))
            self.end_headers()
            self.wfile.write(reply.content[: len(reply.content) // 2])
            self.close_connection = True
            return None
        return self.send(reply.status_code, reply.content)

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
