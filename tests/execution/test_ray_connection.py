"""Ray as it is: what listens where, and who may come in."""

from __future__ import annotations

import json
import os
import socket
import tempfile
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from tests.components import needs
from tests.processes import python

from clinometer.errors import ClusterError
from clinometer.execution import ray as ray_connection
from clinometer.execution.ray import Pool, WorkerResources

pytestmark = needs("ray")

#: A pool without a cluster; what listens meanwhile, and what a process without the token can do.
ALONE = """
import json, os, subprocess, sys, time
import psutil
from clinometer.execution.ray import WorkerResources, Pool

INTRUDER = "import ray, sys; ray.init(sys.argv[1]); print(ray.get(ray.remote(lambda: 49).remote()))"
with Pool(lambda: abs, resources=WorkerResources(cpus=1, workers=1)) as pool:
    results = sorted(pool.map([-1, -2]))
    import ray

    me = psutil.Process()
    listening = {
        connection.laddr.ip
        for process in (me, *me.children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    address = ray.get_runtime_context().gcs_address

    def attempt(env, wait=None):
        begun, code = time.monotonic(), [sys.executable, "-c", INTRUDER, address]
        try:
            ran = subprocess.run(code, env=env, capture_output=True, text=True, timeout=wait).stdout
        except subprocess.TimeoutExpired:
            ran = ""
        return ran.strip(), time.monotonic() - begun

    here = {**os.environ, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # or it looks elsewhere
    friend, took = attempt(here)
    stranger = {k: v for k, v in here.items() if not k.startswith("RAY_AUTH")}
    others, _ = attempt({**stranger, "HOME": os.environ["RAY_TMPDIR"]}, wait=3 * took)
print(json.dumps([results, sorted(listening), address, friend, others]))
"""


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Ray's sockets want a short path, which pytest's are not."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.fixture
def alone(short_path: Path) -> dict[str, str]:
    """The environment of a machine without a cluster, where an earlier one left its address."""
    (short_path / "ray").mkdir()
    (short_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:9", encoding="utf-8")
    ours = {k: v for k, v in os.environ.items() if not k.startswith("RAY_")}
    return {**ours, "RAY_TMPDIR": str(short_path)}


def test_without_a_cluster_ray_is_started_for_its_user_alone(alone: dict[str, str]) -> None:
    done = python(ALONE, env=alone)
    assert done.returncode == 0, done.stderr[-2000:]
    results, listening, address, friend, stranger = json.loads(done.stdout)
    assert results == [[-2, 2], [-1, 1]]
    assert listening
    assert all(_loopback(ip) for ip in listening), listening
    assert _loopback(address.rpartition(":")[0])
    assert [friend, stranger] == ["49", ""]  # code runs with the token, not without
    # Where there is no network, Ray says so in a separate line.
    assert [line for line in done.stderr.splitlines() if "determine local IP" not in line] == []


def _loopback(ip: str) -> bool:
    found: Any = ip_address(ip)
    return bool((getattr(found, "ipv4_mapped", None) or found).is_loopback)


def test_an_open_ray_is_refused_before_it_starts(
    monkeypatch: pytest.MonkeyPatch, short_path: Path
) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_TMPDIR", str(short_path))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    started: list[dict[str, Any]] = []
    import ray

    monkeypatch.setattr(ray, "init", lambda **options: started.append(options))
    with (
        pytest.raises(
            ClusterError, match=r"found RAY_AUTH_MODE=disabled .*; pip install .* --allow"
        ),
        Pool(lambda: print),
    ):
        pass
    assert started == []
    ray_connection.connect(allow_open=WorkerResources(allow_open=True).allow_open)
    assert [options["address"] for options in started] == ["local"]


def test_a_lost_cluster_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        gone = f"127.0.0.1:{server.getsockname()[1]}"
    monkeypatch.setenv("RAY_ADDRESS", gone)
    with pytest.raises(ClusterError, match=f"nothing answers at {gone}"), Pool(lambda: print):
        pass
