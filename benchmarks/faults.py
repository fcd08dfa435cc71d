"""Seeded faults while an audit or an annotation writes: one JSON object that counts what they did.

    python benchmarks/faults.py                  # 200 faults
    python benchmarks/faults.py --faults 20      # as in CI

Each fault strikes a fresh `clinometer audit` of a small model behind a server (real command, real
run folder, cache and locks) at the k-th moment at which a file goes to the disk, k by the seed:

    kill-before, kill-after   SIGKILL before or after that moment
    interrupt                 SIGINT (Ctrl+C)
    eio, enospc, erofs        the disk fails, is full, has become read-only
    file-size                 the kernel refuses to let any file grow (RLIMIT_FSIZE)
    truncate                  SIGKILL, then a file of the folder is cut short
    clock                     SIGKILL, then every file comes from next year, and the clock is behind
    two-writers               two commands at once
    annotation                SIGKILL between answers to an annotation task in SQLite

Then the same command runs again without a fault. It must end with the tables and results of an
audit that nothing disturbed; where a file is damaged it may refuse in one line, and --fresh must
mend it. Acknowledged answers of an annotator must all be there. A traceback, another number, a
temporary file left behind or a lost answer is counted as broken.

Attempts are forks of one process that has imported everything, so that 200 faults take minutes.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import errno
import importlib
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.models.server.standin import Standin

from clinometer.cli import main as command_line
from clinometer.runs import Run, audit
from clinometer.runs.scores import scoring
from clinometer.web.annotation.store import Store
from clinometer.web.annotation.task import Item, Task

KINDS = (
    "kill-before", "kill-after", "interrupt", "eio", "enospc", "erofs", "file-size", "truncate",
    "clock", "two-writers", "annotation",
)  # fmt: skip
FAILURES = {"eio": errno.EIO, "enospc": errno.ENOSPC, "erofs": errno.EROFS}
TOPIC = """
name = "few"
title = "Few"
language = "en"
groups = ["nurse", "pilot"]
[attributes]
first = ["a"]
second = ["b"]
"""
CONTEXTS = "template,count\n" + "".join(
    f"The [X] {verb} that [Y],{n}\n" for n, verb in enumerate(("said", "knew", "felt"), 1)
)
ANSWERS = 12


class Broken(Exception):
    """What a fault did that it must not do."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--faults", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder))
        try:
            found = bench.run(given.faults, given.seed)
        finally:
            os.kill(bench.server, signal.SIGKILL)
            os.waitpid(bench.server, 0)
    print(json.dumps(found, indent=1))
    sys.exit(1 if found["broken"] else 0)


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "topic.toml").write_text(TOPIC)
        (folder / "contexts.csv").write_text(CONTEXTS)
        self.url, self.server = serve()
        module: Any = sys.modules[audit.__module__]
        module._chunk_size = lambda device: 2  # several parts
        scoring.FLUSH_S = 0.0  # type: ignore[attr-defined]  # each written at once
        self.whole = folder / "whole"
        moments = folder / "moments"
        status, said = wait(self.attempt(self.whole, lambda: count_moments(moments)))
        assert status == 0, said
        self.moments = len(moments.read_bytes())
        self.expected = outcome(self.whole)
        for name in (folder / "modules").read_text().split():  # once, for all attempts to come
            with contextlib.suppress(ImportError):
                importlib.import_module(name)

    def run(self, faults: int, seed: int) -> dict[str, Any]:
        counts: collections.Counter[str] = collections.Counter()
        broken: list[str] = []
        begun = time.monotonic()
        for number in range(faults):
            kind = KINDS[number % len(KINDS)]
            rng = random.Random(f"{seed}/{number}")  # noqa: S311
            try:
                counts[f"{kind}: {self.strike(kind, number, rng)}"] += 1
            except Broken as problem:
                broken.append(f"{number} {kind}: {problem}")
        return {
            "faults": faults,
            "seed": seed,
            "moments": self.moments,
            "seconds": round(time.monotonic() - begun, 1),
            "results": dict(sorted(counts.items())),
            "broken": broken,
        }

    def strike(self, kind: str, number: int, rng: random.Random) -> str:
        """One fault and the attempts after it; how it ended."""
        if kind == "annotation":
            return annotate(self.folder / f"{number}.sqlite", rng.randrange(1, ANSWERS))
        out = self.folder / f"run-{number}"
        if kind == "two-writers":
            pair = [self.attempt(out), self.attempt(out)]
            ended = [wait(one) for one in pair]
            check_lines(ended)
            if not any(status == 0 for status, _ in ended):
                raise Broken(f"neither writer finished: {ended}")
        else:
            moment = rng.randrange(1, self.moments + 1)
            ended = [wait(self.attempt(out, lambda: fault(kind, moment, rng)))]
            check_lines(ended)
            if kind == "truncate":
                truncate(out, rng)
            if kind == "clock":
                later = time.time() + 365 * 86400
                for file in out.rglob("*"):
                    os.utime(file, (later, later))
        how = "resumed"
        status, said = wait(self.attempt(out, clock_behind if kind == "clock" else None))
        check_lines([(status, said)])
        if status:
            if kind != "truncate" or "damaged" not in said:
                raise Broken(f"does not resume: status {status}: {said}")
            how = "refused, then --fresh"
            status, said = wait(self.attempt(out, None, "--fresh"))
        if status or outcome(out) != self.expected:
            raise Broken(f"other results (status {status}): {said}")
        left = [file.name for file in out.rglob("*") if file.suffix in (".tmp", ".lock")]
        if left:
            raise Broken(f"left behind: {left}")
        return how

    def attempt(
        self, out: Path, prepare: Callable[[], None] | None = None, *more: str
    ) -> tuple[int, Path]:
        """The command in a fork; its process id, and the file that has what it says."""
        said = Path(tempfile.mkstemp(dir=self.folder)[1])

        def work() -> None:
            os.environ["CLINOMETER_CACHE"] = str(out) + "-cache"
            if prepare is not None:
                prepare()
            before = set(sys.modules)
            try:
                command_line(command)
            finally:
                if out == self.whole:
                    names = sorted(set(sys.modules) - before)
                    (self.folder / "modules").write_text("\n".join(names))

        command = [
            "audit", f"openai:{self.url}#toy", "--topic", str(self.folder / "topic.toml"),
            "--contexts", str(self.folder / "contexts.csv"), "--out", str(out),
            "--replicates", "100", *more,
        ]  # fmt: skip
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


def serve() -> tuple[str, int]:
    """The model behind a server, in a process that the faults do not reach."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        server = Standin("logprobs", "token-ids", "names-ids")
        os.write(write, server.url.encode())
        while True:
            time.sleep(3600)
    return os.read(read, 100).decode(), child


def check_lines(ended: list[tuple[int, str]]) -> None:
    for status, said in ended:
        if status not in (0, 2, 3, 130, -signal.SIGKILL):
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

    def act(number: int, name: str, go_on: Callable[[], Any]) -> Any:
        if number != moment:
            return go_on()
        if kind in FAILURES:
            raise OSError(FAILURES[kind], os.strerror(FAILURES[kind]))
        if kind == "kill-after":
            go_on()
        how = signal.SIGINT if kind == "interrupt" else signal.SIGKILL
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


def outcome(out: Path) -> Any:
    """Every number of a run."""
    run = Run.load(out)
    frame = run.to_pandas()
    return (
        frame.to_csv(index=False),
        run.groups.to_csv(),
        run.risks.to_dict(),
        run.record.model.to_dict(),
    )


def annotate(database: Path, answers: int) -> str:
    """Answers until a SIGKILL; those that were acknowledged must be there afterwards."""
    task = Task("t", "rating", tuple(Item(f"i{n}", f"text {n}", ()) for n in range(ANSWERS)))
    said = database.with_suffix(".said")
    said.touch()

    def work() -> None:
        store = Store(str(database), task)
        person = store.annotators(1)[0]
        store.begin(person)
        for place in range(ANSWERS):
            store.judge(person, place, str(1 + place % 5))
            os.write(1, b".")
            if place + 1 == answers:
                os.kill(os.getpid(), signal.SIGKILL)

    status, acknowledged = wait((forked(work, said), said))
    if status != -signal.SIGKILL or "Traceback" in acknowledged:
        raise Broken(f"status {status}: {acknowledged[-300:]}")
    store = Store(str(database), task)
    try:
        person = store.annotators(1)[0]
        kept = store.standing(person).done
    finally:
        store.close()
    if kept != len(acknowledged):
        raise Broken(f"{len(acknowledged)} answers acknowledged, {kept} kept")
    return "all answers kept"


if __name__ == "__main__":
    main()
