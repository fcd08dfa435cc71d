"""Importing has no effects: no module uses the network or starts a program.

One program is let through, for a library of others: PyTorch's builds for GPUs import
cuda.pathfinder, which asks ldconfig where libdl is. It reads the list of the system's libraries and
changes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.processes import python

SOURCE = Path(__file__).resolve().parents[2] / "src" / "clinometer"

#: Imports every module with the network cut; an audit hook sees what C code does, too.
CODE = """
import importlib, json, sys

FORBIDDEN = {
    "socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto",
    "subprocess.Popen", "os.system", "os.posix_spawn", "urllib.Request", "http.client.connect",
}
LIST_OF_LIBRARIES = "/sbin/ldconfig"
events = []

def watch(event, arguments):
    if event in FORBIDDEN and arguments[:1] != (LIST_OF_LIBRARIES,):
        events.append((now, event, repr(arguments)[:200]))
        raise PermissionError(f"{event} while importing {now}")

now = ""
sys.addaudithook(watch)
failed = {}
for now in MODULES:
    try:
        importlib.import_module(now)
    except Exception as error:
        failed[now] = f"{type(error).__name__}: {error}"
import socket
now = "the watch itself"
try:
    socket.create_connection(("127.0.0.1", 9), timeout=1)
except PermissionError:
    pass
print(json.dumps({"events": events, "failed": failed}))
"""


def test_no_module_reaches_for_the_network() -> None:
    files = sorted(SOURCE.rglob("*.py"))
    modules = [
        ".".join(file.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(
            ".__init__"
        )
        for file in files
        if file.name != "__main__.py" and file != SOURCE / "bridges" / "inspect_task.py"
    ]  # only Inspect imports its task
    assert "clinometer.cli.app" in modules
    done = python(f"MODULES = {modules!r}\n{CODE}")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failed"] == {}
    assert {(who, event) for who, event, _ in found["events"]} == {
        ("the watch itself", "socket.getaddrinfo")
    }
