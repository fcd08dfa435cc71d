"""Does an audit of an application find what was put into it, and nothing else?

`python benchmarks/application.py --times 100`: an application scores applicants on 0 to 100, with
noise, in 40 files that differ. Planted: one of eight names gets 12 points less in a third of the
files, 4 on average. Printed: how often something was called clear with and without it, the mean of
the difference that was found, and how often its interval held the truth.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from typing import Any

import clinometer as cm
from clinometer.topics import parse_topic

NAMES = ("Ann", "Bea", "Cal", "Dan", "Eve", "Fay", "Gil", "Hal")
CASES, LESS, SHARE = 40, 12.0, 3
TOPIC = f"""
name = "screening"
groups = {json.dumps(NAMES)}
reference = "group-mean"
[readout]
kind = "number"
scale = [0, 100]
""" + "".join(f'\n[[cases]]\nid = "{i}"\nname = "[X]"\nfile = "{i}"\n' for i in range(CASES))

NOW: dict[str, Any] = {"planted": True, "chance": random.Random(0)}  # noqa: S311


async def screen(record: dict[str, Any]) -> str:
    """The application: a record in, a score out."""
    file = int(record["file"])
    base = 40 + int(hashlib.sha256(record["file"].encode()).hexdigest(), 16) % 30
    score = base + NOW["chance"].gauss(0, 8)
    if NOW["planted"] and record["name"] == "Ann" and file % SHARE == 0:
        score -= LESS
    return f"{min(max(score, 0), 100):.1f}"


def main() -> None:
    """Print one line for the planted difference, one for none."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--replies", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    topic = parse_topic(TOPIC)
    hit = -(-CASES // SHARE) / CASES
    truth = -LESS * hit * (1 - 1 / len(NAMES))
    for planted in (True, False):
        NOW["planted"] = planted
        clear, named, held, sizes = 0, 0, 0, []
        for seed in range(options.first, options.first + options.times):
            NOW["chance"] = random.Random(seed)  # noqa: S311
            run = cm.audit("app:application:screen", topic=topic, replies=options.replies)
            found = {one.kind: one for one in run.findings}
            clear += run.findings[0].sure == "clear"
            gap = found.get("gap")
            lean = next(one for one in run.leans if one.group == "Ann")
            sign = -1 if lean.favoured == "0" else 1
            sizes.append(100 * sign * (lean.lean or 0.0))
            ends = sorted((100 * sign * (lean.low or 0.0), 100 * sign * (lean.high or 0.0)))
            held += ends[0] <= (truth if planted else 0.0) <= ends[1]
            named += gap is not None and gap.text.startswith("Ann")
        mean = sum(sizes) / len(sizes)
        print(
            f"{'planted' if planted else 'none'}: {clear} of {options.times} say that something "
            f"is clear, {named} name Ann; her difference is {mean:.2f} points on average (truth "
            f"{truth if planted else 0.0:.2f}), and {held} of the intervals hold the truth"
        )


if __name__ == "__main__":
    import application  # the module that the audit calls, and not this one

    application.main()
