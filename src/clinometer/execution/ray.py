"""The same function over many blocks, on the actors of a Ray cluster.

    def make():                       # runs once in every worker: open a model, load a parser
        scorer = open_model("gpt2")
        return lambda block: scorer.score(block, words)

    with Pool(make, resources=WorkerResources(cpus=2)) as pool:
        for block, result in pool.map(blocks):     # as they come, in any order
            ...

Every block is answered once or the pool raises: a block whose worker or node dies goes to another
worker, nodes that join are used, and a ClinometerError in a worker is raised here unchanged.
Workers keep no state: only the results that the caller has stored count, and a caller that stops
may be restarted with the remaining blocks.

Ray's own retries (max_restarts, max_task_retries) stay off: they repeat a task on the same actor.
An actor whose node is gone restarts only where there is room, and by default a worker takes a whole
node, so the block would wait, or fail, while other workers are idle. Measured with Ray 2.60 on two
nodes of one worker each: five seconds after a node died its task raised ActorUnavailableError
despite max_restarts=3 and max_task_retries=2, and the live worker never received it.

Pool connects to the cluster at $RAY_ADDRESS, else to one started on this machine by `ray start`,
else it starts Ray here for the lifetime of the pool, closed to others (`ray_connection`). Blocks,
results and `make` are pickled, as everything is in Ray: a cluster is one trusted network.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Generic, TypeVar

from clinometer.errors import ClinometerError, ClusterError
from clinometer.extras import require
from clinometer.settings import COUNT, NOT_NEGATIVE, POSITIVE, check_settings, option

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


B = TypeVar("B")
R = TypeVar("R")

#: Seconds between two checks of which nodes are alive.
_LOOK_S = 2.0
#: How often a block is tried before the pool gives up.
_ATTEMPTS = 3
#: Seconds to wait for a node when none is left.
_PATIENCE_S = 60.0

_cluster = partial(option, panel="Cluster", advanced=True)


@dataclass(frozen=True, kw_only=True)
class WorkerResources:
    """What one worker occupies, and how many workers there may be."""

    cpus: float | None = _cluster(
        None,
        "--worker-cpus",
        help="ray: CPU cores per worker.",
        allowed=POSITIVE,
        unset="1 with a GPU, otherwise all of a node",
    )
    gpus: float | None = _cluster(
        None,
        "--worker-gpus",
        help="ray: GPUs per worker.",
        allowed=NOT_NEGATIVE,
        unset="1 if there are any",
    )
    workers: int | None = _cluster(
        None, help="ray: maximum number of workers.", allowed=COUNT, unset="as many as fit"
    )
    allow_open: bool = _cluster(
        False,
        "--allow-open-ray",
        help="ray: without a cluster, start Ray even if others can reach it and run code in it.",
    )

    def __post_init__(self) -> None:
        check_settings(self)


class Pool(Generic[B, R]):
    """Workers that each have what `make` returned; a context manager."""

    def __init__(
        self, make: Callable[[], Callable[[B], R]], *, resources: WorkerResources | None = None
    ) -> None:
        self.make = make
        self.resources = resources or WorkerResources()
        self.lost = 0  # workers that died
        self._ray: Any = None
        self._ours = False
        self._opening: dict[Any, Any] = {}  # what `open` will answer -> worker
        self._idle: list[Any] = []
        self._busy: dict[Any, tuple[Any, _Task]] = {}

    def __enter__(self) -> Pool[B, R]:
        self._ray, self._ours = connect(allow_open=self.resources.allow_open)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers():
            with contextlib.suppress(Exception):  # a dead one, or a connection that is gone
                self._ray.kill(worker)
        self._opening, self._idle, self._busy = {}, [], {}
        if self._ours:
            self._ray.shutdown()

    def map(self, blocks: Iterable[B]) -> Iterator[tuple[B, R]]:
        """Each block with its result, as they arrive. Blocks are read as workers become free, so
        there may be any number of them."""
        more = (_Task(block) for block in blocks)
        waiting: deque[_Task] = deque()
        missed = time.monotonic()
        while True:
            room = self._room()
            waiting.extend(islice(more, max(0, max(room, 1) - len(waiting))))
            if not waiting and not self._busy:
                return
            self._start_workers(room, len(waiting))
            while waiting and self._idle:
                worker, task = self._idle.pop(), waiting.popleft()
                self._busy[worker.run.remote(task.block)] = (worker, task)
            if self._opening or self._busy:
                missed = time.monotonic()
            elif time.monotonic() - missed > _PATIENCE_S:
                raise ClusterError(
                    f"ray: no node is left for {len(waiting)} blocks; add nodes and rerun the "
                    "same command to resume"
                )
            for ref in self._finished():
                if ref in self._opening:
                    self._opened(ref)
                    continue
                worker, task = self._busy.pop(ref)
                try:
                    answer = _raise_refusal(self._ray.get(ref))
                except self._ray.exceptions.RayError as error:
                    self._failed(error, worker, task)
                    waiting.appendleft(task)
                else:
                    self._idle.append(worker)
                    yield task.block, answer

    def _workers(self) -> list[Any]:
        return [*self._opening.values(), *self._idle, *(w for w, _ in self._busy.values())]

    def _room(self) -> int:
        """The maximum number of workers, after checking which nodes joined or left."""
        cpus, gpus = self._size()
        room = sum(_fit(node, cpus, gpus) for node in self._nodes())
        if room == 0 and not self._workers() and self.lost == 0:
            raise ClusterError(
                f"ray: a worker needs {cpus:g} CPUs and {gpus:g} GPUs, no node of the cluster has "
                "that many; lower --worker-cpus or --worker-gpus"
            )
        return min(room, self.resources.workers or room)

    def _start_workers(self, room: int, blocks: int) -> None:
        """Start as many workers as there is room and work for."""
        cpus, gpus = self._size()
        spare = blocks - len(self._idle) - len(self._opening)
        for _ in range(min(room - len(self._workers()), spare)):
            actor = self._ray.remote(_Actor)
            worker = actor.options(num_cpus=cpus, num_gpus=gpus, max_restarts=0).remote(self.make)
            self._opening[worker.open.remote()] = worker

    def _size(self) -> tuple[float, float]:
        nodes = self._nodes()
        gpus = self.resources.gpus
        if gpus is None:
            gpus = 1.0 if any(node.get("GPU") for node in nodes) else 0.0
        cpus = self.resources.cpus
        if cpus is None:
            there = [node["CPU"] for node in nodes if node.get("CPU")]
            cpus = 1.0 if gpus else min(there, default=1.0)
        return cpus, gpus

    def _nodes(self) -> list[dict[str, float]]:
        return [node["Resources"] for node in self._ray.nodes() if node["Alive"]]

    def _finished(self) -> list[Any]:
        refs = [*self._opening, *self._busy]
        if not refs:
            time.sleep(_LOOK_S)
            return []
        return list(self._ray.wait(refs, num_returns=1, timeout=_LOOK_S)[0])

    def _opened(self, ref: Any) -> None:
        worker = self._opening.pop(ref)
        try:
            _raise_refusal(self._ray.get(ref))
        except self._ray.exceptions.RayError as error:
            self._lose(worker)
            if self.lost >= _ATTEMPTS and not self._idle and not self._busy:
                raise ClusterError(
                    f"ray: {self.lost} workers died before they could begin: {first_line(error)}"
                ) from error
        else:
            self._idle.append(worker)

    def _failed(self, error: Exception, worker: Any, task: _Task) -> None:
        """Raise if the block has failed too often; otherwise another worker has to take it."""
        # An error inside the function leaves the worker alive; anything else took it along.
        if isinstance(error, self._ray.exceptions.RayTaskError):
            self._idle.insert(0, worker)
        else:
            self._lose(worker)
        task.tries += 1
        if task.tries >= _ATTEMPTS:
            raise ClusterError(
                f"ray: a block failed {task.tries} times: {first_line(error)}"
            ) from error

    def _lose(self, worker: Any) -> None:
        self.lost += 1
        with contextlib.suppress(Exception):
            self._ray.kill(worker)


@dataclass(eq=False)
class _Task:
    block: Any
    tries: int = 0


@dataclass(frozen=True)
class _Refusal:
    """A ClinometerError returned by a worker; some of them cannot be pickled."""

    name: str
    text: str


class _Actor:
    """What runs on a node."""

    def __init__(self, make: Callable[[], Callable[[Any], Any]]) -> None:
        self.make = make
        self.work: Callable[[Any], Any] | None = None

    def open(self) -> _Refusal | None:
        try:
            self.work = self.make()
        except ClinometerError as error:
            return _Refusal(type(error).__name__, str(error))
        return None

    def run(self, block: Any) -> Any:
        if self.work is None:
            raise RuntimeError("asked before it was opened")
        try:
            return self.work(block)
        except ClinometerError as error:
            return _Refusal(type(error).__name__, str(error))


def _raise_refusal(answer: Any) -> Any:
    if not isinstance(answer, _Refusal):
        return answer
    kind = next((k for k in _kinds(ClinometerError) if k.__name__ == answer.name), ClusterError)
    raise kind.__new__(kind, answer.text)


def _kinds(of: type[ClinometerError]) -> Iterator[type[ClinometerError]]:
    yield of
    for kind in of.__subclasses__():
        yield from _kinds(kind)


def _fit(node: dict[str, float], cpus: float, gpus: float) -> int:
    """How many workers a node has room for."""
    rooms = [
        int(node.get(kind, 0.0) // each) for kind, each in (("CPU", cpus), ("GPU", gpus)) if each
    ]
    return min(rooms, default=0)
