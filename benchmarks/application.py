"""Does an audit of an application find what was put into it, and nothing else?

`python benchmarks/application.py --times 20`: an application scores people on 0 to 100 in 40 files
that differ, with noise of 8 points, five replies each. Nothing is planted, or one of 8 or 24
people, or all Black people, get 5 or 15 points less. A JSON line for each setting counts audits

clear    whose headline says that something is clear
right    that name first who gets least: the person among single people, the kind among kinds
held     whose interval of that lean holds the planted one
wrong    whose headline says that something is clear though nothing is planted
and gates against an audit in which all are treated alike, with a margin of 2 points
worse    that call it worse
passed   that let it pass
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from typing import Any

import clinometer as cm
from clinometer.topics import Topic, parse_topic

CASES, NOISE, REPLIES = 40, 8.0, 5
PERSON, KIND = "Michael Washington", "Black people"
TOPIC = """
name = "screening"
title = "Screening by applicant"
groups = "people"
reference = "group-mean"
[readout]
kind = "number"
scale = [0, 100]
""" + "".join(
    f'\n[[cases]]\nid = "{i}"\nname = "[X]"\nfile = "{i}"\n' for i in range(CASES)
)

NOW: dict[str, Any] = {"less": {}, "chance": random.Random(0)}  # noqa: S311


def screen(record: dict[str, str]) -> str:
    """The application: a record in, a score out."""
    base = 40 + int(hashlib.sha256(record["file"].encode()).hexdigest(), 16) % 30
    score = base + NOW["chance"].gauss(0, NOISE) - NOW["less"].get(record["name"], 0.0)
    return str(round(min(max(score, 0), 100)))


def audited(topic: Topic, less: dict[str, float], seed: str) -> cm.Run:
    """An audit of the application in which these people get less."""
    NOW.update(less=less, chance=random.Random(seed))  # noqa: S311
    return cm.audit("app:application:screen", topic=topic, replies=REPLIES)


def counts(topic: Topic, of: str, points: float, times: int) -> dict[str, int]:
    """What `times` audits say, and gates against audits without a difference."""
    planted = {
        g.text[:1].upper() + g.text[1:]: points  # as a field of a file begins
        for g in topic.groups
        if of != "none"
        and (g.name == PERSON if of == "one" else g.parts["ethnicity"] == "Black")
    }
    truth = -points * (1 - len(planted) / len(topic))
    found = dict.fromkeys(("clear", "right", "held", "wrong", "worse", "passed"), 0)
    for i in range(times):
        seed = f"{len(topic)} {of} {points} {i}"
        run = audited(topic, planted, seed)
        first = run.findings[0]
        found["clear"] += first.sure == "clear"
        named = {
            f.kind: f.groups for f in run.findings if f.kind in ("kinds", "scores")
        }
        who, where = (KIND, "kinds") if of == "kind" else (PERSON, "scores")
        lowest = min(
            named.get(where, {}).items(), key=lambda one: one[1].value, default=None
        )
        if lowest is not None and lowest[0] == who:
            found["right"] += 1
            e = lowest[1]
            found["held"] += (
                e.low is not None and e.high is not None and e.low <= truth <= e.high
            )
        found["wrong"] += first.sure == "clear" and of == "none"
        decision = cm.decide(run, audited(topic, {}, f"baseline {seed}"))
        found["worse"] += decision.verdict == "worse"
        found["passed"] += decision.verdict == "not worse"
    return found


def main() -> None:
    """Print a line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    times = parser.parse_args().times
    everybody = parse_topic(TOPIC)
    few = [
        g.name for g in everybody.groups if g.name.startswith(("Jessica", "Michael"))
    ]
    planted = [
        ("none", 0.0),
        ("one", 5.0),
        ("one", 15.0),
        ("kind", 5.0),
        ("kind", 15.0),
    ]
    for topic in (everybody.select(few), everybody):
        for of, points in planted:
            setting = {
                "people": len(topic),
                "planted": of,
                "points": points,
                "audits": times,
            }
            print(json.dumps(setting | counts(topic, of, points, times)), flush=True)


if __name__ == "__main__":
    import application  # the module that the audit calls, and not this one

    application.main()
