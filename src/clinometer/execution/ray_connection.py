"""Connect to a Ray cluster, or start Ray on this machine for its user alone.

Ray runs any code that reaches its ports. Left to itself, `ray.init` listens on every interface, and
its token is in a file that other users may read. Ray that we start listens on loopback and wants a
random token, which only the environment of its processes has. Where this Ray cannot do both, we do
not start it without permission (`allow_open`). A cluster that is already running is used as it is.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clinometer.errors import ClusterError
from clinometer.extras import require

#: Seconds within which a running cluster accepts a connection.
_ANSWER_S = 3.0


def connect(*, allow_open: bool = False) -> tuple[Any, bool]:
    """Ray, and whether we connected (or started) it."""
    require("--executor ray", "ray")
    import ray
    import ray.exceptions

    if ray.is_initialized():
        return ray, False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    address = _address()
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with contextlib.ExitStack() as stack:
        if address == "local":
            options["include_dashboard"] = False
            if not allow_open:
                stack.enter_context(_private())
        try:
            ray.init(address=address, **options)
        except (OSError, RuntimeError, ValueError) as error:
            where = "here" if address == "local" else f"at {address}"
            raise ClusterError(f"ray: no cluster {where}: {first_line(error)}") from error
    return ray, True


@contextlib.contextmanager
def _private() -> Iterator[None]:
    """Ray started inside listens on loopback and wants a token of this process."""
    if open_because := _cannot_close():
        raise ClusterError(
            f"ray: expected Ray to listen on loopback and want a token, found {open_because}; "
            "pip install --upgrade ray, set RAY_ADDRESS to a cluster, or let others run code in it "
            "with --allow-open-ray"
        )
    import ray._private.ray_constants as constants

    logging.getLogger("ray").setLevel(logging.ERROR)  # it would warn of our token
    if "RAY_AUTH_TOKEN_PATH" not in os.environ:  # Ray reads a token once per process: it stays
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
    name, before = constants.ENABLE_RAY_CLUSTERS_ENV_VAR, constants.ENABLE_RAY_CLUSTER
    inherited = os.environ.get(name)
    os.environ[name], constants.ENABLE_RAY_CLUSTER = "0", False  # Ray's own switch for loopback
    try:
        yield
    finally:
        constants.ENABLE_RAY_CLUSTER = before
        os.environ.pop(name)
        if inherited is not None:
            os.environ[name] = inherited


def _cannot_close() -> str | None:
    """Why others could reach a Ray started here; None if they cannot."""
    import ray
    import ray._private.ray_constants as constants

    try:
        from ray._private.authentication import authentication_token_setup as setup
    except ImportError:
        return f"Ray {ray.__version__}, which has no tokens"
    if not hasattr(setup, "enable_token_auth_by_default"):
        return f"Ray {ray.__version__}, which starts without a token"
    if not hasattr(constants, "ENABLE_RAY_CLUSTER"):
        return f"Ray {ray.__version__}, which cannot be bound to loopback"
    mode = os.environ.get("RAY_AUTH_MODE", "token")
    return None if mode.lower() == "token" else f"RAY_AUTH_MODE={mode} in the environment"


def _address() -> str:
    """The cluster to use: the one named, one running here, or "local" for a new one.

    Ray itself would wait long, and noisily, for a cluster that is gone.
    """
    named = os.environ.get("RAY_ADDRESS", "")
    if named and named != "auto":
        if not _answers(named):
            raise ClusterError(
                f"ray: nothing answers at {named} ($RAY_ADDRESS); 'ray start --head' on that "
                "machine begins a cluster"
            )
        return named
    begun = Path(os.environ.get("RAY_TMPDIR") or "/tmp", "ray", "ray_current_cluster")  # noqa: S108
    here = begun.read_text(encoding="utf-8").strip() if begun.is_file() else ""
    return here if here and _answers(here) else "local"


def _answers(address: str) -> bool:
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return True  # "local", or a form that only Ray understands
    try:
        socket.create_connection((host, int(port)), timeout=_ANSWER_S).close()
    except OSError:
        return False
    return True


def first_line(error: BaseException) -> str:
    """The first line of an error, with that of the function in the worker that raised it."""
    cause = getattr(error, "cause", None)
    if isinstance(cause, BaseException):
        return f"{type(cause).__name__}: {first_line(cause)}"
    return next((line.strip() for line in str(error).splitlines() if line.strip()), "no reason")
