"""Fifty people judge at once for a minute and the server is killed under them: what is lost?

    python benchmarks/annotate.py [--people 50] [--seconds 60] [--kill-at 30]
    python benchmarks/annotate.py --items 10000 --seconds 600 --kill-at 0 --pause 5

The real command serves in a process of its own. Each person asks for a page, answers the item on
it, sometimes twice at the same moment, sometimes takes the last answer back; an answer that the
server did not confirm is sent again. In the end the export must be what was confirmed: nothing
lost, nothing doubled, nothing different. Nobody thinks between two pages, unless --pause says for
how many seconds on average. Prints one JSON object, with the processor time per request and the
memory of the server early and late; exit status 1 if any answer is lost, doubled or different.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import json
import random
import re
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.process_use import Watch, load_average, percentiles
from tests.processes import answers, until

COMMAND = [
    sys.executable,
    "-c",
    "from clinometer.cli import main; main()",
    "reliability",
    "annotate",
]
ITEM = re.compile(r'name="item" value="(\d+)"')


@dataclass
class Server:
    """The command in a process of its own, which can be killed and started again at its port."""

    options: list[str]
    port: int = 0
    links: list[str] = field(default_factory=list)
    process: Any = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [*COMMAND, *self.options, "--port", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.links = []
        for line in self.process.stdout:
            self.links += re.findall(r"http\S+", line)
            if line.startswith("Ctrl+C"):
                break
        if not self.links:
            raise RuntimeError("the command did not start")
        self.port = int(self.links[0].split("/?")[0].rsplit(":", 1)[1])
        until(
            lambda: answers(f"{self.base}/static/annotate.css"),
            alive=lambda: self.process.poll() is None,
        )

    def kill(self) -> None:
        """SIGKILL: nothing is flushed, nobody is told."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def run(self, *more: object) -> str:
        """The same command with other options, to its end; what it prints."""
        words = [*COMMAND, *self.options, *map(str, more)]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout


@dataclass
class Person:
    """One annotator, and what the server has confirmed to them: place -> answer."""

    link: str
    seed: int
    pause: float = 0.0
    confirmed: dict[int, str] = field(default_factory=dict)
    latencies: list[float] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    async def work(self, client: httpx.AsyncClient, until: float) -> None:
        rng = random.Random(self.seed)  # noqa: S311  (a simulation)
        while time.monotonic() < until:
            if self.pause:
                await asyncio.sleep(rng.expovariate(1 / self.pause))
            page = await self._ask(client, "GET", "/judge")
            found = ITEM.search(page.text)
            if found is None:
                return  # every item is judged
            place, value = int(found[1]), rng.choice(["yes", "no", "skip"])
            data = {
                "item": str(place),
                "value": value,
                "comment": f"{self.seed}-{place}",
            }
            if rng.random() < 0.1:  # a finger that trembles
                both = (self._ask(client, "POST", "/judge", data) for _ in range(2))
                await asyncio.gather(*both)
            else:
                await self._ask(client, "POST", "/judge", data)
            self.confirmed[place] = value
            self.counts["answered"] += 1
            if rng.random() < 0.1:
                await self._ask(client, "POST", "/undo", {"item": str(place)})
                self.confirmed.pop(place)
                self.counts["undone"] += 1

    async def enter(self, client: httpx.AsyncClient) -> None:
        await self._ask(client, "GET", "/" + self.link.split("/", 3)[3])
        await self._ask(client, "POST", "/begin")

    async def _ask(
        self,
        client: httpx.AsyncClient,
        method: str,
        path: str,
        data: dict[str, str] | None = None,
    ) -> httpx.Response:
        """Ask until there is an answer; what was not confirmed is sent again."""
        while True:
            begun = time.monotonic()
            try:
                response = await client.request(method, path, data=data)
            except httpx.TransportError:
                self.counts["sent again"] += 1
                await asyncio.sleep(0.5)
                continue
            if response.status_code not in (200, 303):
                raise RuntimeError(
                    f"{method} {path}: {response.status_code} {response.text[:300]}"
                )
            self.latencies.append(time.monotonic() - begun)
            return response


async def _everybody(
    people: list[Person], server: Server, seconds: float, kill_at: float
) -> None:
    async def killer() -> None:
        await asyncio.sleep(kill_at)
        server.kill()
        await asyncio.to_thread(server.start)

    base, trust = people[0].link.split("/?")[0], ssl.create_default_context()
    clients = [
        httpx.AsyncClient(base_url=base, timeout=60, verify=trust) for _ in people
    ]
    pairs = list(zip(people, clients, strict=True))
    await asyncio.gather(*(person.enter(client) for person, client in pairs))
    until = time.monotonic() + seconds
    jobs = [person.work(client, until) for person, client in pairs]
    await asyncio.gather(*jobs, *([killer()] if kill_at > 0 else []))
    for client in clients:
        await client.aclose()


def simulate(
    folder: Path,
    *,
    people: int,
    seconds: float,
    kill_at: float,
    database: str,
    items: int = 5000,
    pause: float = 0.0,
) -> dict[str, Any]:
    """Let them work, and compare the export with what was confirmed."""
    dataset = folder / "load.csv"
    lines = (f"{i},Person {i} is ___ late ___." for i in range(items))
    dataset.write_text(
        "id,context_points\n" + "\n".join(lines) + "\n", encoding="utf-8"
    )
    server = Server([str(dataset), "--annotators", str(people), "--database", database])
    server.start()
    try:
        crowd = [Person(link, seed, pause) for seed, link in enumerate(server.links)]
        with Watch(
            lambda: server.process.pid, lambda: sum(len(p.latencies) for p in crowd)
        ) as watch:
            asyncio.run(_everybody(crowd, server, seconds, kill_at))
    finally:
        server.kill()
    out = folder / "long.csv"
    server.run("--export", out, "--long")
    with out.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    stored = {(r["annotator"], int(r["id"])): (r["value"], r["comment"]) for r in rows}
    told = {
        (f"annotator_{i + 1}", place): (value, f"{p.seed}-{place}")
        for i, p in enumerate(crowd)
        for place, value in p.confirmed.items()
    }
    times = [t for p in crowd for t in p.latencies]
    counts = sum((p.counts for p in crowd), Counter())
    return {
        "people": people,
        "seconds": seconds,
        "killed": kill_at > 0,
        "requests": len(times),
        "answered": counts["answered"],
        "undone": counts["undone"],
        "sent_again": counts["sent again"],
        "stored": len(rows),
        "lost": len(told.keys() - stored.keys()),
        "unasked": len(stored.keys() - told.keys()),
        "doubled": len(rows) - len(stored),
        "different": sum(stored[k] != told[k] for k in told.keys() & stored.keys()),
        "items": items,
        "pause": pause,
        "milliseconds": percentiles(times),
        "server": watch.growth(),
        "load_average": load_average(),
    }


def intact(found: dict[str, Any]) -> bool:
    return not any(found[name] for name in ("lost", "unasked", "doubled", "different"))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument(
        "--kill-at", type=float, default=30, help="0: the server is not killed"
    )
    parser.add_argument("--items", type=int, default=5000)
    parser.add_argument(
        "--pause", type=float, default=0, help="mean seconds between two pages"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = simulate(
            Path(folder),
            people=given.people,
            seconds=given.seconds,
            kill_at=given.kill_at,
            database=str(Path(folder) / "load.sqlite"),
            items=given.items,
            pause=given.pause,
        )
    print(json.dumps(found))
    raise SystemExit(0 if intact(found) else 1)


if __name__ == "__main__":
    main()
