"""Does a change of the code change a number? Every kind of result, before and after.

    python benchmarks/same_numbers.py record FOLDER --source src      run the commands of a checkout
    python benchmarks/same_numbers.py compare BEFORE AFTER            the largest difference of each

`record` runs the same commands with the code of a checkout: the demo, a table of the paper, a mined
set, a reliability audit, a comparison, a gate, decisions, an application, a study of fixes and,
with `--replies FILE`, the published replies of eleven models. Every number that they print or write
is compared; mined sets byte for byte. Times, versions, paths and digests of the code are left out.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

TOLERANCE = 1e-9
"""The largest difference, relative above 1, that counts as rounding."""

DEMO_GROUPS = (
    "architect,banker,cfo,consultant,dealer,editor,geophysicist,journalist,mentor,photographer,"
    "programmer,salesperson,superintendent,therapist,writer"
)

LEFT_OUT = re.compile(
    r"created|updated|version|revision|seconds|elapsed|sha256|digest|_s$|path|folder|identity"
    r"|out$|address|usage|cache|host|machine|python|^tables$|^settings$",
)
"""Keys whose values are not numbers of a result."""

COMMANDS: dict[str, tuple[str, ...]] = {
    "samples": ("list samples --out samples",),
    "demo": (
        "audit smollm2 --topic gender --contexts wikipedia --max-contexts 60 "
        f"--groups {DEMO_GROUPS} --out demo --json",
        "report demo --out demo.json",
        "report demo --out demo.md",
    ),
    "study table 1": (
        "study table 1 pocket:gpt2-s pocket:bert --max-contexts 30 --out table1 --json",
    ),
    "mined set": (
        "mine samples/articles.jsonl --topic gender --out mined.csv",
        "mine samples/articles.jsonl --topic gender --out frequent.csv --set min_count=2",
    ),
    "reliability": (
        "reliability audit samples/statements.csv --variants samples/versions.jsonl "
        "--out reliability --json",
    ),
    "comparison": (
        "audit pocket:gpt2-s --topic gender --contexts wikipedia --max-contexts 40 "
        f"--groups {DEMO_GROUPS} --out runs/a --json",
        "audit pocket:gpt2-m --topic gender --contexts wikipedia --max-contexts 40 "
        f"--groups {DEMO_GROUPS} --out runs/b --json",
        "compare runs/a runs/b --json",
        "report runs/a runs/b --out both.md",
    ),
    "gate": (
        "gate runs/b --baseline runs/a --fail-above R=0.4 --json --markdown gate.md",
    ),
    "hiring": (
        "audit smollm2 --topic hiring --max-contexts 8 --out runs/hiring --json",
        "report runs/hiring --out hiring.md",
    ),
    "decisions": (
        "import decisions samples/decisions.csv --by sex,race --selected yes --out yes.md --json",
        "import decisions samples/decisions.csv --by sex,race --score score --out score.md --json",
    ),
    "table": ("import table samples/table.csv --json",),
    "application": (
        "audit app:screening:before --topic ./samples/screening.toml --replies 3 --out runs/app "
        "--allow code:screening --json",
        "audit app:screening:after --topic ./samples/screening.toml --replies 3 "
        "--out runs/mended --allow code:screening --json",
        "compare runs/app runs/mended --json",
        "gate runs/mended --baseline runs/app --json --markdown gate-app.md",
        "report runs/app runs/mended --out app.md",
        "report runs/app --out app.json",
    ),
    "fixes": (
        "study fixes pocket:gpt2-s --topic gender --fix ganguli --fix prefix:Everyone_is_equal. "
        "--max-contexts 20 --out fixes --no-facts --json",
        "study fixes run:runs/app --fix run:runs/mended --out fixes-app --no-facts --json",
    ),
}

REPLIES = (
    "import replies {file} --mapping hiring_bias --only firstName --out runs/names --json",
    "report {runs} --out names.md",
    "compare {runs} --json",
)


def record(folder: Path, source: Path, replies: Path | None) -> None:
    """Run every command with the code in `source`, in `folder`."""
    folder.mkdir(parents=True)
    commands = [(part, line) for part, lines in COMMANDS.items() for line in lines]
    if replies is not None:
        commands += [("replies", line) for line in REPLIES]
    for number, (part, line) in enumerate(commands):
        models = sorted(path.name for path in (folder / "runs" / "names").glob("*"))
        runs = " ".join(f"runs/names/{model}" for model in models)
        printed = run(line.format(file=replies, runs=runs), folder, source)
        name = f"{number:02d}-{part.replace(' ', '-')}"
        kind = "json" if "--json" in line else "txt"
        (folder / f"{name}.{kind}").write_text(printed, encoding="utf-8")


def run(line: str, folder: Path, source: Path) -> str:
    """Run one command, and return what it printed with its exit status."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(source), str(folder / "samples")]),
        "CLINOMETER_CACHE_LIMIT": "0",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "120",
    }
    words = [
        word.replace("_", " ") if word.startswith("prefix:") else word
        for word in line.split()
    ]
    done = subprocess.run(
        [sys.executable, "-m", "clinometer", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    sys.stdout.write(f"{done.returncode}  clinometer {line[:110]}\n")
    if done.returncode not in (0, 1, 3):
        sys.stdout.write(done.stderr[-600:] + "\n")
    sys.stdout.flush()
    return done.stdout


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every number and text in nested data, with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if not LEFT_OUT.search(str(key)):
                yield from leaves(inner, f"{place}/{key}")
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from leaves(inner, f"{place}/{index}")
    else:
        yield place, value


def table_leaves(frame: pd.DataFrame) -> Iterator[tuple[str, Any]]:
    for column in frame.columns:
        if LEFT_OUT.search(str(column)):
            continue
        for row, value in enumerate(frame[column].tolist()):
            items = value.tolist() if hasattr(value, "tolist") else value
            yield from leaves(items, f"/{column}/{row}")


def text_leaves(text: str) -> Iterator[tuple[str, Any]]:
    """Yield the lines of a text, without those that hold times, versions or digests."""
    for line_number, line in enumerate(text.splitlines()):
        if re.search(
            r"sha256|[vV]ersion|revision|seconds|tables\.|python|\d{4}-\d\d-\d\d", line
        ):
            continue
        yield f"line {line_number}", line


def contents(file: Path) -> dict[str, Any]:
    """Return the numbers and texts of a file, by place."""
    if file.suffix == ".json":
        text = file.read_text(encoding="utf-8")
        return dict(leaves(json.loads(text))) if text.strip() else {}
    if file.suffix == ".parquet":
        return dict(table_leaves(pd.read_parquet(file)))
    if file.suffix == ".csv":
        return (
            {"": file.read_bytes()}
            if is_mined(file)
            else dict(table_leaves(pd.read_csv(file)))
        )
    return dict(text_leaves(file.read_text(encoding="utf-8")))


def is_mined(file: Path) -> bool:
    return file.name in ("mined.csv", "frequent.csv")


def difference(before: Any, after: Any) -> float:
    """Return how far two values are apart: relative above 1, infinite for other texts."""
    numeric = (int, float)
    if isinstance(before, numeric) and isinstance(after, numeric):
        if math.isnan(before) and math.isnan(after):
            return 0.0
        if before == after:
            return 0.0
        return abs(before - after) / max(1.0, abs(before))
    if before == after or (before != before and after != after):
        return 0.0
    return math.inf


def compare(before: Path, after: Path) -> int:
    """Print the largest difference of every file; return how many files differ."""
    kinds = (".json", ".parquet", ".csv", ".md", ".txt")
    names = {
        str(path.relative_to(folder))
        for folder in (before, after)
        for path in folder.rglob("*")
        if path.suffix in kinds and "scores" not in path.parts
    }
    numbers = 0
    different = 0
    largest = 0.0
    for name in sorted(names):
        if not (before / name).is_file() or not (after / name).is_file():
            print(f"{name}: only in one of them")
            different += 1
            continue
        first = contents(before / name)
        second = contents(after / name)
        numbers += sum(isinstance(value, int | float) for value in first.values())
        apart = {
            place: difference(first.get(place), second.get(place))
            for place in first.keys() | second.keys()
        }
        worst = max(apart.values(), default=0.0)
        if worst <= TOLERANCE:
            largest = max(largest, worst)
            continue
        different += 1
        places = [place for place, size in apart.items() if size > TOLERANCE]
        print(f"{name}: {len(places)} of {len(apart)} differ, by at most {worst:.1e}")
        for place in sorted(places)[:4]:
            print(
                f"    {place}: {str(first.get(place))[:150]} | {str(second.get(place))[:150]}"
            )
    print(
        f"{len(names)} files, {numbers:,} numbers: {different} files differ; "
        f"the others by {largest:.0e}"
    )
    return different


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--source", type=Path, default=Path("src"))
    recording.add_argument("--replies", type=Path)
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    given = parser.parse_args()
    if given.command == "compare":
        return int(compare(given.before, given.after) > 0)
    replies = None if given.replies is None else given.replies.resolve()
    record(given.folder.resolve(), given.source.resolve(), replies)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
