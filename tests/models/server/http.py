"""What the tests' own servers share: an address, threads, and replies in JSON; and an application
on a free port."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from abc import abstractmethod
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import uvicorn
from tests.processes import until


class Server(ThreadingHTTPServer):
    """Serves on a free port from its first moment on."""

    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is its own affair, and nothing for a command's stderr."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()

    def __exit__(self, *_: object) -> None:
        self.stop()


class JsonHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize, disable_nagle_algorithm = 65536, True  # else every reply waits 40 ms

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self.get()

    def do_POST(self) -> None:
        self.post(self.rfile.read(int(self.headers["content-length"])))

    @abstractmethod
    def get(self) -> None: ...

    @abstractmethod
    def post(self, content: bytes) -> None: ...

    def send(self, status: int, reply: Any, **headers: str) -> None:
        """Bytes as they are, anything else as JSON."""
        body = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def serving(app: Any) -> Iterator[str]:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            until(lambda: server.started, alive=thread.is_alive)
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
