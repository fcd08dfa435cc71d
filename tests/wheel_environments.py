"""Environments as pip would make them, without a network.

The wheels are built here. The packages an extra declares are linked from the environment that runs
the tests, by their metadata: what is not declared is not there, as it would not be for a user.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from importlib.metadata import Distribution, PathDistribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.command import Result

from clinometer.extras import DISTRIBUTION

WEIGHTS = ".safetensors"

#: What commands are tried on; every environment has these files in its folder.
SENTENCE = "The women at the office are arrogant."
FILES = {
    "p.csv": "group,context,attribute,p\na,c,m,0.3\na,c,f,0.7\nb,c,m,0.6\nb,c,f,0.4\n",
    "scored.csv": "model,group,context,repetition,score\n"
    + "".join(f"m,{'ab'[i % 2]},c{i // 8},{i // 2 % 4},{1 + i * 7 % 5}\n" for i in range(64)),
    "statements.csv": f"id,sentence\n1,{SENTENCE}\n",
    "blanks.csv": "id,sentence,context_points\n"
    f"1,{SENTENCE},The ___ women at the office are arrogant.\n",
    "versions.jsonl": '{"id": "1", "variants": ["The loud women at the office are arrogant."]}\n',
    "corpus.txt": "The nurse said that she was late. The doctor thought that he was right.\n",
    "context.csv": "template,count\nThe [X] said that [Y],1\n",
    "few.toml": 'name = "few"\ntitle = "Few"\nlanguage = "en"\nsource = "made here"\n'
    'groups = ["nurse", "doctor", "pilot"]\n[attributes]\nmale = ["he"]\nfemale = ["she"]\n',
    "ratings.csv": "id,annotator_1,annotator_2\n"
    + "".join(f"{i},{1 + i * 7 % 5},{1 + i * 3 % 5}\n" for i in range(40)),
    "scores.csv": "id,cobias,sentence\n"
    + "".join(f"{i},{i * 11 % 17 / 17},{'word ' * (1 + i * 5 % 7)}\n" for i in range(40)),
}
#: A quick audit.
FEW = ["--topic", "few.toml", "--contexts", "context.csv"]

#: Calls the command line with each list of arguments that it is given, in one process.
_COMMANDS = """
import contextlib, io, json, sys, traceback
from clinometer.cli import main

results = []
for arguments in json.load(sys.stdin):
    out, err, status = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as stop:
            status = stop.code or 0
        except BaseException:
            traceback.print_exc()
            status = 1
    results.append([status, out.getvalue(), err.getvalue()])
json.dump(results, sys.stdout)
"""


class Environment:
    """A virtual environment with the wheel and the packages of some extras."""

    def __init__(self, folder: Path, wheels: Sequence[Path], extras: Sequence[str] = ()) -> None:
        venv.create(folder, symlinks=True)
        self.folder, self.python = folder, folder / "bin" / "python"
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        site = folder / "lib" / version / "site-packages"
        ours: dict[str, PathDistribution] = {}
        for wheel in wheels:
            for part in wheel.iterdir():
                (site / part.name).symlink_to(part)
            (info,) = wheel.glob("*.dist-info")
            ours[canonicalize_name(info.name.split("-")[0])] = PathDistribution(info)
        for distribution in required(f"{DISTRIBUTION}[{','.join(extras)}]", ours):
            link(distribution, site)
        for name, text in FILES.items():
            (folder / name).write_text(text, encoding="utf-8")

    def run(self, *arguments: object, stdin: str = "") -> str:
        """Python in the environment; what it printed."""
        done = subprocess.run(
            [self.python, *map(str, arguments)],
            input=stdin, capture_output=True, text=True, env=self.variables(), cwd=self.folder,
            check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commands(self, *commands: Sequence[object]) -> list[Result]:
        """Each command in turn, in one process."""
        plain = [[str(a) for a in arguments] for arguments in commands]
        printed = self.run("-c", _COMMANDS, stdin=json.dumps(plain))
        return [Result(*found) for found in json.loads(printed)]

    def variables(self) -> dict[str, str]:
        """No way back to the environment of the tests, to a hub, or to a cache of the user."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        mine = {"HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": str(self.folder / "cache")}
        return kept | mine | {"HOME": str(self.folder), "COLUMNS": "200"}


def build(source: Path, folder: Path) -> Path:
    """The wheel of a source tree, unpacked; built on a copy, as the build writes into the tree.

    Weights are packed as empty files and linked afterwards: to compress them takes most of a
    minute and shows nothing.
    """
    copy = folder / "source"
    wanted = [source / name for name in ("pyproject.toml", "README.md")]
    wanted += source.glob("LICENSE*")
    wanted += [source / "src" / name for name in source_files(source)]
    for part in wanted:
        target = copy / part.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        if part.suffix == WEIGHTS:
            target.touch()
        else:
            shutil.copy(part, target)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    command += ["--outdir", str(folder), str(copy)]
    env = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}  # as a release is built
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    shutil.rmtree(copy)
    (wheel,) = folder.glob("*.whl")
    unpacked = folder / "unpacked"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    for empty in unpacked.rglob(f"*{WEIGHTS}"):
        empty.unlink()
        empty.symlink_to(source / "src" / empty.relative_to(unpacked))
    return unpacked


def source_files(source: Path) -> set[str]:
    """What the wheel of a source tree must hold."""
    tree = source / "src"
    return {
        str(path.relative_to(tree))
        for path in tree.rglob("*")
        if path.is_file() and not {"__pycache__"} & {*path.parts} and ".egg-info" not in str(path)
    }


def required(requirement: str, ours: dict[str, PathDistribution]) -> list[Distribution]:
    """The installed distributions that pip would install for it, apart from our own."""
    found: dict[str, Distribution] = {}
    todo, seen = [Requirement(requirement)], set()
    while todo:
        wanted = todo.pop()
        name = canonicalize_name(wanted.name)
        distribution = ours.get(name) or installed().get(name)
        assert distribution is not None, f"{name} is required but not installed here"
        if name not in ours:
            found[name] = distribution
        for extra in ("", *wanted.extras):
            if (name, extra) not in seen:
                seen.add((name, extra))
                every = map(Requirement, distribution.requires or ())
                todo += [r for r in every if not r.marker or r.marker.evaluate({"extra": extra})]
    return list(found.values())


def link(distribution: Distribution, site: Path) -> None:
    """Put a distribution's files into another environment, whole folders where they are its own."""
    for path in files(distribution.metadata["Name"]):
        top = path.parts[0]
        shared = len(owners()[top]) > 1
        target = site / (path if shared else top)
        if not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(Path(str(distribution.locate_file(str(target.relative_to(site))))))


@cache
def installed() -> dict[str, Distribution]:
    """The distributions of the environment that runs the tests; the first of a name counts."""
    found: dict[str, Distribution] = {}
    for distribution in distributions():
        found.setdefault(canonicalize_name(distribution.metadata["Name"]), distribution)
    return found


@cache
def files(name: str) -> tuple[Path, ...]:
    """What it installs beside other packages: no scripts, no byte code, nothing run at start."""
    record = installed()[canonicalize_name(name)].read_text("RECORD") or ""
    paths = [Path(row[0]) for row in csv.reader(record.splitlines())]
    return tuple(
        path
        for path in paths
        if not path.is_absolute()
        and not {"..", "__pycache__"} & {*path.parts}
        and path.suffix != ".pth"
    )


@cache
def owners() -> dict[str, set[str]]:
    """Top-level name in site-packages -> the distributions that have files there."""
    found: dict[str, set[str]] = defaultdict(set)
    for name in installed():
        for path in files(name):
            found[path.parts[0]].add(name)
    return found
