"""How close a hosted model's rate limit is used, and what is refused or lost.

A stand-in in a second process answers after 300 ms and allows 3,000 requests a minute: a bucket
that fills by 50 a second, holds five seconds' worth at most and one at the start. What comes too
early is refused with status 429. `--case halved` allows half of it from the middle of the run on.

    python benchmarks/throughput.py --case plain
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from clinometer.runs import audit

CASES = ("plain", "halved")
REPLIES = 3


class Bucket:
    """Requests that may begin: filled at `rate` a second, up to `size`."""

    def __init__(self, rate: float, size: float) -> None:
        self.rate, self.size, self.left, self.at = rate, size, rate, time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self.left, self.at = (
            min(self.size, self.left + (now - self.at) * self.rate),
            now,
        )
        allowed = self.left >= 1
        self.left -= allowed
        return allowed


def serve(
    pipe: Connection, case: str, latency: float, per_minute: float, halve_at: int
) -> None:
    bucket = Bucket(per_minute / 60, per_minute / 12)
    answered: list[float] = []
    refused: list[float] = []
    allowed: list[tuple[float, float]] = [(time.monotonic(), bucket.rate)]

    async def answer(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        try:
            while start := await reader.readuntil(b"\r\n\r\n"):
                length = next(
                    (int(line.split(b":")[1]) for line in start.lower().split(b"\r\n")
                     if line.startswith(b"content-length")), 0
                )  # fmt: skip
                await reader.readexactly(length)
                if not start.startswith(b"POST /v1/chat/completions"):
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                    continue
                now = time.monotonic()
                if case == "halved" and len(allowed) == 1 and len(answered) >= halve_at:
                    bucket.rate /= 2
                    bucket.left = min(bucket.left, bucket.rate)
                    allowed.append((now, bucket.rate))
                ok = bucket.take()
                (answered if ok else refused).append(now)
                if ok:
                    await asyncio.sleep(latency)
                choice = {"message": {"content": "Yes"}, "finish_reason": "stop"}
                usage = {
                    "prompt_tokens": 50,
                    "completion_tokens": 1,
                    "total_tokens": 51,
                }
                body = json.dumps({"choices": [choice], "usage": usage}).encode()
                status = "200 OK" if ok else "429 Too Many Requests"
                writer.write(
                    f"HTTP/1.1 {status}\r\ncontent-length: {len(body)}\r\n\r\n".encode()
                    + body
                )
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def main() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        while not pipe.poll():
            await asyncio.sleep(0.05)
        pipe.send((answered, refused, allowed))

    asyncio.run(main())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", choices=CASES, default="plain")
    parser.add_argument("--contexts", type=int, default=60)
    parser.add_argument("--latency", type=float, default=0.3)
    parser.add_argument("--per-minute", type=float, default=3000.0)
    options = parser.parse_args()
    here, there = multiprocessing.Pipe()
    wanted = 24 * options.contexts * REPLIES
    server = multiprocessing.Process(
        target=serve,
        args=(there, options.case, options.latency, options.per_minute, wanted // 2),
        daemon=True,
    )
    server.start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{here.recv()}/v1"
    os.environ["OPENAI_API_KEY"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        run = audit(
            "openai/stand-in",
            topic="hiring",
            max_contexts=options.contexts,
            chat=True,
            replies=REPLIES,
            out=Path(folder) / "run",
        )
        kept = run.record.replies.get("replies", 0)
        usage = Counter(run.record.usage)
    here.send("stop")
    answered, refused, allowed = here.recv()
    start, end = answered[0], answered[-1]
    spans = zip(allowed, [*(at for at, _ in allowed[1:]), end], strict=True)
    could = sum(rate * (stop - max(at, start)) for (at, rate), stop in spans)
    print(
        json.dumps(
            {
                "case": options.case,
                "answered": len(answered),
                "kept": kept,
                "seconds": round(end - start, 1),
                "share_of_allowed": round(len(answered) / could, 3),
                "refused": len(refused),
                "refused_share": round(
                    len(refused) / (len(answered) + len(refused)), 4
                ),
                "requests": usage["requests"],
            }
        )
    )


if __name__ == "__main__":
    main()
