"""Processes that tests start and wait for, without a guess at how fast this machine is.

A wait ends when what is waited for is there, or when the process that should bring it about has
ended: then it fails at once and shows what the process said.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

#: Seconds after which a wait is given up all the same: no machine is so busy, something hangs.
PATIENCE_S = 600.0
ROOT = Path(__file__).resolve().parent.parent


def until(
    ready: Callable[[], object],
    *,
    alive: Callable[[], bool] = lambda: True,
    said: Callable[[], str] = str,
    every: float = 0.05,
) -> None:
    """Wait until `ready()` is true; fail when what makes it so is no longer `alive`."""
    given_up = time.monotonic() + PATIENCE_S
    while True:
        lives = alive()  # asked first: what it did last may have made it ready
        if ready():
            return
        if not lives:
            raise RuntimeError(f"ended before it was ready: {said()[-3000:]}")
        if time.monotonic() > given_up:
            raise TimeoutError(f"not ready after {PATIENCE_S:.0f} s: {said()[-3000:]}")
        time.sleep(every)


def answers(url: str) -> bool:
    """Whether a server is there and well."""
    with contextlib.suppress(httpx.TransportError):
        return httpx.get(url, timeout=PATIENCE_S).status_code == 200
    return False


def free_port(port: int = 0) -> int:
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))
        return int(free.getsockname()[1])


@contextlib.contextmanager
def model_server(
    command: Sequence[object],
    *,
    port: int,
    log: Path,
    env: Mapping[str, str] | None = None,
    health: str = "/health",
) -> Iterator[str]:
    """A server from when its `health` is well; it is killed with all its children."""
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [str(word) for word in command],
            env=env,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        until(
            lambda: answers(f"{url}{health}"),
            alive=lambda: process.poll() is None,
            said=lambda: log.read_text(encoding="utf-8", errors="replace"),
        )
        yield url
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


@contextlib.contextmanager
def serving(command: Sequence[object], **options: Any) -> Iterator[str]:
    """The address that a command of ours prints where it serves pages; Ctrl-C ends it."""
    process = subprocess.Popen(
        list(map(str, command)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )
    # The socket listens before the address is printed.
    addresses = (
        re.search(r"http://127\.0\.0\.1:\d+/?\S*", line)
        for line in process.stdout or ()
    )
    try:
        address = next(filter(None, addresses), None)
        assert address is not None, "it ended"
        yield address[0]
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()
    assert "Traceback" not in errors


def kill(command: Sequence[str], *, when: Callable[[], object]) -> None:
    """Start a command of ours, and kill it when something has happened."""
    process = subprocess.Popen(
        [sys.executable, "-m", "clinometer", *command], stderr=subprocess.PIPE
    )
    until(when, alive=lambda: process.poll() is None, every=0.005)
    process.kill()
    process.communicate()


def python(
    code: str, *arguments: object, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run code in a process of its own, which finds `tests` and `clinometer` as this one does."""
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    path = os.pathsep.join([str(ROOT), *map(os.path.abspath, given)])
    env = {**options.pop("env", os.environ), "PYTHONPATH": path}
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=env,
        **options,
    )
