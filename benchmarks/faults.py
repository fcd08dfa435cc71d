"""Seeded faults while something is written: one JSON object that counts what they did.

    python benchmarks/faults.py                  # 200 faults
    python benchmarks/faults.py --faults 30      # as in CI: every kind twice
    python benchmarks/faults.py --faults 100 --kinds kill-any     # at random moments

Each fault strikes a fresh command (real command, real folder, cache and locks) at the k-th moment
at which a file goes to the disk, k by the seed. The commands, in turn, are `audit` of a small model
behind a server, `reliability audit` with versions and without, `mine`, `study sources`, `audit
--replies` of a server that replies and of applications, one of them read by a judge, `import
lm-eval` and `report`; the kinds:

    kill-before, kill-after   SIGKILL before or after that moment
    kill-any                  SIGKILL after a random time, of what the whole command takes
    interrupt, terminate      SIGINT (Ctrl+C), SIGTERM
    eio, enospc, erofs        the disk fails, is full, has become read-only
    file-size                 the kernel refuses to let any file grow (RLIMIT_FSIZE)
    memory                    the kernel refuses more memory (RLIMIT_AS, as ulimit -v)
    truncate                  SIGKILL, then a file of the folder is cut short
    clock                     SIGKILL, then every file comes from next year, and the clock is behind
    two-writers               two commands at once
    annotation                SIGKILL of `reliability annotate` while a person answers; of kill-any
                              it is one of the commands

Then the same command runs again without a fault. It must end with the tables and results of a
command that nothing disturbed; where a file is damaged it may refuse in one line, and --fresh must
mend it. Acknowledged answers of an annotator must all be there. A traceback, another number, a
temporary file left behind or a lost answer is counted as broken.

Attempts are forks of one process that has imported everything, so that 200 faults take minutes.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import errno
import functools
import hashlib
import importlib
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.models.server.standin import Standin

from clinometer.cli import main as command_line

from fault_subjects import Subject, subjects  # isort: skip

KINDS = (
    "kill-before", "kill-after", "kill-any", "interrupt", "terminate", "eio", "enospc", "erofs",
    "file-size", "memory", "truncate", "clock", "two-writers", "annotation",
)  # fmt: skip
FAILURES = {"eio": errno.EIO, "enospc": errno.ENOSPC, "erofs": errno.EROFS}
ANSWERS = 12
#: The item that is asked for; the form to undo names another.
ITEM = re.compile(r'action="/judge".*\s<input type="hidden" name="item" value="(\d+)"')
#: Ends of our own making, and SIGKILL.
ENDS = (0, 2, 3, 130, 143, -signal.SIGKILL)
#: Ways in which libraries end when they get no memory.
WITHOUT_MEMORY = (
    -signal.SIGABRT,
    -signal.SIGSEGV,
    -signal.SIGBUS,
    -signal.SIGTRAP,
    127,
)


class Broken(Exception):
    """What a fault did that it must not do."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first fault"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--kinds", default=",".join(KINDS), help="of these kinds, in turn"
    )
    given = parser.parse_args()
    kinds = given.kinds.split(",")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        try:
            found = bench.run(given.first, given.faults, given.seed, kinds)
        finally:
            os.kill(bench.server, signal.SIGKILL)
            os.waitpid(bench.server, 0)
    print(json.dumps(found, indent=1))
    sys.exit(1 if found["broken"] else 0)


@dataclass(frozen=True)
class Undisturbed:
    """A subject, at how many moments it writes, how long it takes, and what it gives."""

    subject: Subject
    moments: int
    seconds: float
    expected: Any


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        urls, self.server = serve()
        self.subjects = subjects(folder, *urls)
        self._whole: dict[str, Undisturbed] = {}

    def whole(self, name: str) -> Undisturbed:
        """A subject that has been carried out once, and all that it imports is there."""
        if name not in self._whole:
            subject = self.subjects[name]
            subject.prepare()
            out, moments = (
                self.folder / f"{name}-whole",
                self.folder / f"{name}-moments",
            )
            modules = self.folder / f"{name}-modules"
            status, said = wait(
                self.attempt(subject, out, lambda: count_moments(moments), modules)
            )
            assert status == 0, said
            for module in modules.read_text().split():  # once, for all attempts to come
                with contextlib.suppress(ImportError):
                    importlib.import_module(module)
            begun = time.monotonic()
            wait(self.attempt(subject, self.folder / f"{name}-again"))
            seconds = time.monotonic() - begun
            self._whole[name] = Undisturbed(
                subject, len(moments.read_bytes()), seconds, subject.outcome(out)
            )
        return self._whole[name]

    def run(
        self, first: int, faults: int, seed: int, kinds: list[str]
    ) -> dict[str, Any]:
        counts: collections.Counter[str] = collections.Counter()
        broken: list[str] = []
        names = list(self.subjects)
        begun = time.monotonic()
        for number in range(first, first + faults):
            turn, place = divmod(number, len(kinds))
            kind = kinds[place]
            struck = [*names, "annotation"] if kind == "kill-any" else names
            name = struck[turn % len(struck)]
            kind = name if name == "annotation" else kind
            rng = random.Random(f"{seed}/{number}")  # noqa: S311
            what = kind if kind == "annotation" else f"{name}, {kind}"
            try:
                counts[f"{what}: {self.strike(kind, name, number, rng)}"] += 1
            except Broken as problem:
                broken.append(f"{number} {what}: {problem}")
                print(broken[-1], file=sys.stderr, flush=True)
        return {
            "faults": faults,
            "first": first,
            "seed": seed,
            "moments": {name: whole.moments for name, whole in self._whole.items()},
            "seconds": round(time.monotonic() - begun, 1),
            "results": dict(sorted(counts.items())),
            "broken": broken,
        }

    def strike(self, kind: str, name: str, number: int, rng: random.Random) -> str:
        """One fault and the attempts after it; how it ended."""
        if kind == "annotation":
            return annotate(str(self.folder / f"{number}.sqlite"), self.folder, rng)
        whole = self.whole(name)
        out = self.folder / f"run-{number}"
        if kind == "two-writers":
            pair = [self.attempt(whole.subject, out), self.attempt(whole.subject, out)]
            ended = [wait(one) for one in pair]
            check_lines(ended)
            # Two studies take audits from each other; both may end without all of them.
            if name != "study" and not any(status == 0 for status, _ in ended):
                raise Broken(f"neither writer finished: {ended}")
        else:
            moment = rng.randrange(1, whole.moments + 1)
            child, said = self.attempt(
                whole.subject, out, lambda: fault(kind, moment, rng)
            )
            if kind == "kill-any":
                time.sleep(rng.uniform(0.0, whole.seconds))
                os.kill(
                    child, signal.SIGKILL
                )  # a child that has ended is there until waited for
            ended = [wait((child, said))]
            check_lines(ended, *(WITHOUT_MEMORY if kind == "memory" else ()))
            if kind == "truncate":
                truncate(out, rng)
            if kind == "clock":
                later = time.time() + 365 * 86400
                for file in out.rglob("*"):
                    os.utime(file, (later, later))
        how = "resumed"
        behind = clock_behind if kind == "clock" else None
        status, text = wait(self.attempt(whole.subject, out, behind))
        check_lines([(status, text)])
        if status:
            if kind != "truncate" or not any(
                word in text for word in ("damaged", "--fresh")
            ):
                raise Broken(f"does not resume: status {status}: {text[-300:]}")
            how = "refused, then --fresh"
            status, text = wait(self.attempt(whole.subject, out, None, None, "--fresh"))
        if status or whole.subject.outcome(out) != whole.expected:
            raise Broken(f"other results (status {status}): {text[-300:]}")
        left = [
            file.name for file in out.rglob("*") if file.suffix in (".tmp", ".lock")
        ]
        if left:
            raise Broken(f"left behind: {left}")
        return how

    def attempt(
        self,
        subject: Subject,
        out: Path,
        prepare: Callable[[], None] | None = None,
        modules: Path | None = None,
        *more: str,
    ) -> tuple[int, Path]:
        """The command in a fork; its process id, and the file that has what it says."""
        said = Path(tempfile.mkstemp(dir=self.folder)[1])

        def work() -> None:
            os.environ["CLINOMETER_CACHE"] = str(out) + "-cache"
            if prepare is not None:
                prepare()
            before = set(sys.modules)
            try:
                command_line([*subject.words(out), *more])
            finally:
                if modules is not None:
                    modules.write_text("\n".join(sorted(set(sys.modules) - before)))

        return forked(work, said), said


# --- processes ------------------------------------------------------------------------------------


def forked(work: Callable[[], None], said: Path) -> int:
    child = os.fork()
    if child:
        return child
    status = 70
    try:
        target = os.open(said, os.O_WRONLY)
        os.dup2(target, 1)
        os.dup2(target, 2)
        work()
        status = 0
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 0
    except BaseException as error:
        os.write(2, f"Traceback: {error!r}\n".encode())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def wait(begun: tuple[int, Path]) -> tuple[int, str]:
    """The status (negative: the signal) and what was said."""
    child, said = begun
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text(errors="replace")


class Replying(Standin):
    """Replies by the prompt and the seed."""

    def complete(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        digest = hashlib.sha256(f"{body['prompt']}{body.get('seed')}".encode()).digest()
        choices = [{"text": "ab"[digest[i] % 2]} for i in range(body.get("n", 1))]
        return 200, {"choices": choices, "usage": {"total_tokens": 3}}


def serve() -> tuple[list[str], int]:
    """Models behind servers, in a process that the faults do not reach."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        servers = [Standin("logprobs", "token-ids", "names-ids") for _ in range(2)]
        servers.append(Replying())
        os.write(write, " ".join(server.url for server in servers).encode())
        while True:
            time.sleep(3600)
    return os.read(read, 200).decode().split(), child


def check_lines(ended: list[tuple[int, str]], *allowed: int) -> None:
    for status, said in ended:
        if status not in (*ENDS, *allowed):
            raise Broken(f"status {status}: {said[-300:]}")
        if "Traceback" in said:
            raise Broken(f"a traceback: {said[-300:]}")


# --- faults ---------------------------------------------------------------------------------------


def at_moments(act: Callable[[int, str, Callable[[], Any]], Any]) -> None:
    """Call act(number, name, go on) at every moment at which a file goes to the disk."""
    numbers: Iterator[int] = iter(range(1, 1 << 30))
    for name in ("fsync", "replace"):
        original = getattr(os, name)

        def shim(*arguments: Any, name: str = name, original: Any = original) -> Any:
            return act(next(numbers), name, lambda: original(*arguments))

        setattr(os, name, shim)


def count_moments(file: Path) -> None:
    out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(number: int, name: str, go_on: Callable[[], Any]) -> Any:
        os.write(out, b".")
        return go_on()

    at_moments(note)


def fault(kind: str, moment: int, rng: random.Random) -> None:
    if kind == "file-size":
        most = rng.randrange(1, 4000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        return
    if kind == "memory":
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + rng.randrange(1 << 16, 32 << 20)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        return

    if kind == "kill-any":
        return  # by the parent

    def act(number: int, name: str, go_on: Callable[[], Any]) -> Any:
        if number != moment:
            return go_on()
        if kind in FAILURES:
            raise OSError(FAILURES[kind], os.strerror(FAILURES[kind]))
        if kind == "kill-after":
            go_on()
        how = {"interrupt": signal.SIGINT, "terminate": signal.SIGTERM}.get(
            kind, signal.SIGKILL
        )
        os.kill(os.getpid(), how)
        return go_on()

    at_moments(act)


def truncate(out: Path, rng: random.Random) -> None:
    files = sorted(file for file in out.rglob("*") if file.is_file())
    if files:
        file = rng.choice(files)
        os.truncate(file, rng.randrange(file.stat().st_size + 1))


def clock_behind() -> None:
    now = time.time
    time.time = lambda: now() - 10 * 365 * 86400


def annotate(database: str, folder: Path, rng: random.Random) -> str:
    """A person answers until a SIGKILL of the server, and goes on when it is back: what was
    confirmed is there, once, and what was not confirmed is there at most once."""
    words, export = annotation(folder, database), folder / f"{rng.random()}.csv"
    sent: dict[int, str] = {}
    told: set[int] = set()
    for delay in (rng.uniform(0.0, whole_annotation(folder)), None):
        with serving(words, folder, delay) as link:
            judge(link, sent, told)
    said = Path(tempfile.mkstemp(dir=folder)[1])
    more = ["--export", str(export), "--long"]
    check_lines([wait((forked(lambda: command_line([*words, *more]), said), said))])
    with export.open(encoding="utf-8", newline="") as stream:
        rows = [(int(row["id"]), row["comment"]) for row in csv.DictReader(stream)]
    if len(rows) != ANSWERS or sorted(rows) != sorted(sent.items()):
        raise Broken(f"{len(told)} answers confirmed: sent {sent}, kept {rows}")
    return "all answers kept"


def annotation(folder: Path, database: str) -> list[str]:
    dataset = folder / "statements.csv"
    dataset.write_text(
        "id,sentence\n" + "".join(f"{n},Text {n}.\n" for n in range(ANSWERS))
    )
    return [
        "reliability",
        "annotate",
        str(dataset),
        "--mode",
        "rating",
        "--database",
        database,
    ]


@functools.cache
def whole_annotation(folder: Path) -> float:
    """Seconds of a task that nobody disturbs, once all that it imports is there."""
    import uvicorn.protocols.http.auto  # noqa: F401

    import clinometer.web.annotation.pages  # noqa: F401

    begun = time.monotonic()
    with serving(
        annotation(folder, str(folder / "whole.sqlite")), folder, None
    ) as link:
        judge(link, {}, set())
    return time.monotonic() - begun


@contextlib.contextmanager
def serving(words: list[str], folder: Path, delay: float | None) -> Iterator[str]:
    """The link of the first annotator ("" if the server was killed before it said one)."""
    said = Path(tempfile.mkstemp(dir=folder)[1])

    def work() -> None:
        if delay is not None:
            threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL)).start()
        command_line([*words, "--annotators", "1", "--port", "0"])

    child = forked(work, said)
    try:
        ended = 0
        while "Ctrl+C" not in said.read_text() and not ended:
            ended = (
                os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)
                is not None
            )
            time.sleep(0.01)
        links = re.findall(r"http\S+", said.read_text())
        yield links[0] if links else ""
    finally:
        os.kill(child, signal.SIGKILL)
        check_lines([wait((child, said))])


def judge(link: str, sent: dict[int, str], told: set[int]) -> None:
    """Answer every item that is shown, until there is none or the server is gone."""
    if not link:
        return
    base, path = link.split("/?")
    with (
        contextlib.suppress(httpx.TransportError),
        httpx.Client(base_url=base) as client,
    ):
        client.get(f"/?{path}")
        client.post("/begin")
        while found := ITEM.search(client.get("/judge").text):
            place = int(found[1])
            if place in told:
                raise Broken(
                    f"the answer to {place} was confirmed, and is asked for again"
                )
            sent[place] = (
                f"{sent[place]}, again" if place in sent else f"answer {place}"
            )
            answer = {
                "item": found[1],
                "value": str(1 + place % 5),
                "comment": sent[place],
            }
            if client.post("/judge", data=answer).status_code == 303:
                told.add(place)


if __name__ == "__main__":
    main()
