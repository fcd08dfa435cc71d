"""Counts the attacks and faults that the tests repeat, before and now.

    python tools/attacks.py          count the cases that pytest collects
    python tools/attacks.py --run    run them, and write the table in docs/reference/under-attack.md
    python tools/attacks.py --run --faults faults.json
                                     with the seeded faults of benchmarks/faults.py

tests/security/attacks.toml says which tests belong to which attack. Every test of tests/security
must belong to one; a case counts once. Fuzzed examples and mutations are not counted here.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LIST = ROOT / "tests" / "security" / "attacks.toml"
PAGE = ROOT / "docs" / "reference" / "under-attack.md"
BEGIN, END = "<!-- attacks: written by tools/attacks.py -->", "<!-- end of attacks -->"
#: Tests of tests/security that are counted elsewhere: by example, by fault, or that check a test.
APART = (
    "tests/security/test_fuzzed_records.py",
    "tests/security/test_fuzzed_replies.py",
    "tests/security/test_fuzzed_models.py",
    "tests/security/test_fuzzed_logs.py::test_fuzzed",
    "tests/security/test_fuzzed_logs.py::test_a_fuzzed",
    "tests/security/test_faults.py",
    "tests/security/test_limits.py::test_sound_json_is_read_as_it_is",
    "tests/security/test_limits.py::test_any_bytes_are_a_value_or_a_value_error",
    "tests/security/test_files.py::test_fuzzed_files_are_read_or_refused_in_one_line",
    "tests/security/test_pages_browser.py::test_without_escapes_it_would_be_seen",
    "tests/security/test_attacks.py",
)
#: Seeded faults that the attack on version 0.1 made as well, as far as its report tells.
FAULTS_BEFORE = ("kill-before", "kill-after", "enospc", "truncate", "clock", "two-writers")


@dataclass(frozen=True)
class Attack:
    by: str
    what: str
    tests: tuple[str, ...]
    before: str | None = None
    only: tuple[str, ...] = ("",)

    def has(self, case: str) -> bool:
        """Whether a node id is one of its cases."""
        name, _, parameters = case.partition("[")
        fits = name.startswith(self.tests)
        return fits and any(part in parameters for part in self.only)


def attacks() -> list[Attack]:
    listed = tomllib.loads(LIST.read_text(encoding="utf-8"))["attack"]
    return [
        Attack(**{k: tuple(v) if isinstance(v, list) else v for k, v in one.items()})
        for one in listed
    ]


class Cases:
    """A pytest plugin: what is collected, and how it ends."""

    def __init__(self) -> None:
        self.collected: list[str] = []
        self.ended: dict[str, str] = {}

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        known = attacks()
        self.collected = [item.nodeid for item in items]
        wanted = [item for item in items if any(one.has(item.nodeid) for one in known)]
        config.hook.pytest_deselected(items=[item for item in items if item not in wanted])
        items[:] = wanted

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or report.outcome != "passed":
            self.ended[report.nodeid] = report.outcome


def carry_out(*, run: bool) -> Cases:
    import pytest

    sys.path.insert(0, str(ROOT))  # the tests import benchmarks, as from the project's folder
    files = {test.partition("::")[0] for one in attacks() for test in one.tests}
    files |= {str(file.relative_to(ROOT)) for file in LIST.parent.glob("test_*.py")}
    cases = Cases()
    how = [] if run else ["--collect-only", "-qq"]
    pytest.main(["-q", "-p", "no:cacheprovider", *how, *sorted(files)], plugins=[cases])
    return cases


def sorted_out(collected: list[str]) -> list[list[str]]:
    """The cases of each attack; SystemExit where a test of tests/security belongs to none."""
    known = attacks()
    found: list[list[str]] = [[] for _ in known]
    for case in collected:
        place = next((i for i, one in enumerate(known) if one.has(case)), None)
        if place is not None:
            found[place].append(case)
        elif case.startswith("tests/security/") and not case.startswith(APART):
            raise SystemExit(f"{case}: expected an attack in {LIST.name} that has it")
    for one, cases in zip(known, found, strict=True):
        if not cases:
            raise SystemExit(f"{one.what}: expected tests, found none of {', '.join(one.tests)}")
    return found


def table(cases: Cases, faults: list[dict[str, Any]]) -> str:
    rows = []
    old = new = broken = 0
    for one, found in zip(attacks(), sorted_out(cases.collected), strict=True):
        ended = Counter(cases.ended.get(case, "not run") for case in found)
        bad = len(found) - ended["passed"]
        now = "holds" if not bad else ", ".join(f"{n} {how}" for how, n in ended.items())
        rows.append((one.by, one.what, one.before or "(new)", len(found), now))
        broken += bad
        old, new = (old + len(found), new) if one.before else (old, new + len(found))
    for kind, count, bad in struck(faults):
        before = "held" if kind in FAULTS_BEFORE else "(new)"
        now = f"{bad} broken" if bad else "holds"
        rows.append(("fault", f"seeded: {kind} (`benchmarks/faults.py`)", before, count, now))
        broken += bad
        old, new = (old + count, new) if before == "held" else (old, new + count)
    lines = [
        f"{old + new} cases: {old} of attacks that the report of the first attack names, "
        f"{new} new; {broken} broken.",
        "",
        "| by | attack | version 0.1 | cases | now |",
        "|---|---|---|---|---|",
        *(f"| {by} | {what} | {before} | {n} | {now} |" for by, what, before, n, now in rows),
    ]
    return "\n".join(lines) + "\n"


def struck(faults: list[dict[str, Any]]) -> list[tuple[str, int, int]]:
    """Kind, how many, how many of them broken."""
    sound: Counter[str] = Counter()
    bad: Counter[str] = Counter()
    for found in faults:
        for result, count in found["results"].items():
            sound[result.partition(":")[0].rpartition(", ")[2]] += count
        for line in found["broken"]:
            bad[line.partition(" ")[2].partition(":")[0].rpartition(", ")[2]] += 1
    kinds = sorted(sound | bad)
    return [(kind, sound[kind] + bad[kind], bad[kind]) for kind in kinds]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--faults", type=Path, nargs="*", default=[])
    given = parser.parse_args()
    cases = carry_out(run=given.run)
    made = table(cases, [json.loads(file.read_text(encoding="utf-8")) for file in given.faults])
    print(made)
    if given.run:
        text = PAGE.read_text(encoding="utf-8")
        head, _, rest = text.partition(BEGIN)
        tail = rest.partition(END)[2]
        PAGE.write_text(f"{head}{BEGIN}\n\n{made}\n{END}{tail}", encoding="utf-8")
    return int("0 broken" not in made)


if __name__ == "__main__":
    sys.exit(main())
