"""Wrong edits of the source, one line at a time: do the tests notice?

    python benchmarks/mutations.py               # all of them
    python benchmarks/mutations.py --guard visible --guard spreadsheet
    python benchmarks/mutations.py --check       # only whether each can still be made

Each mutation changes one line of a copy of the source; then the tests that should notice run on the
copy until the first failure. A mutation that all of them pass is a survivor: a hole in the tests.
Two lists: guards (a removed check, escape or limit) and estimators (another constant, sign, weight,
correction or number of degrees of freedom; the doctests of the file run too). Prints one JSON
object; the status is 1 if any survived, or if --check found one that is stale.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.mutation import ROOT, Mutation
from benchmarks.mutations_of_estimators import ESTIMATORS
from benchmarks.mutations_of_guards import GUARDS

MUTATIONS = (*GUARDS, *ESTIMATORS)

PACKAGES = (
    "hypothesis", "numpy", "scipy.stats", "pandas", "pyarrow.parquet", "pydantic", "fastapi",
    "starlette.testclient", "uvicorn", "httpx", "rich.console", "typer",
    "jinja2", "altair", "vl_convert", "torch", "transformers", "playwright.sync_api", "spacy",
)  # fmt: skip
"""Packages of others that the tests import: loaded once, for all mutations."""

PYTEST_OPTIONS = (
    "-x", "-q", "-p", "no:cacheprovider",
    "-W", "ignore:Module already imported:pytest.PytestAssertRewriteWarning",
)  # fmt: skip
"""pytest cannot rewrite the assertions of packages that are there already, and need not."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--guard", action="append", help="only these guards")
    parser.add_argument(
        "--first", type=int, default=0, help="number of the first mutation"
    )
    parser.add_argument(
        "--check", action="store_true", help="run nothing: can each still be made?"
    )
    options = parser.parse_args()
    chosen = [
        mutation
        for mutation in MUTATIONS[options.first :]
        if not options.guard or mutation.guard in options.guard
    ]
    if options.check:
        stale = stale_mutations(chosen)
        print(json.dumps({"mutations": len(chosen), "stale": stale}, indent=1))
        sys.exit(1 if stale else 0)
    started = time.monotonic()
    survivors = survivors_of(chosen)
    counts = {
        "mutations": len(chosen),
        "noticed": len(chosen) - len(survivors),
        "survivors": survivors,
        "seconds": round(time.monotonic() - started),
    }
    print(json.dumps(counts, indent=1))
    sys.exit(1 if survivors else 0)


def stale_mutations(mutations: Sequence[Mutation]) -> list[str]:
    """Return why mutations cannot be made any more, of those that cannot."""
    reasons = [mutation.stale() for mutation in mutations]
    return [reason for reason in reasons if reason]


def survivors_of(mutations: Sequence[Mutation]) -> list[str]:
    """Return the mutations that all of their tests pass."""
    load_packages()
    survivors: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "src")
        shutil.copytree(
            ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__")
        )
        for mutation in mutations:
            failed = first_failure(mutation, copy)
            if failed:
                print(f"{mutation.guard}: noticed: {failed}", file=sys.stderr)
            else:
                survivors.append(str(mutation))
                print(f"SURVIVOR {mutation}", file=sys.stderr)
    return survivors


def first_failure(mutation: Mutation, copy: Path) -> str:
    """Return the first test that fails on the mutated copy; "" if none does."""
    reason = mutation.stale()
    if reason:
        raise SystemExit(reason)
    package = copy / "clinometer"
    file = package / mutation.file
    sound = mutation.source(package)
    file.write_text(sound.replace(mutation.old, mutation.new), encoding="utf-8")
    arguments = mutation.tests.split()
    if mutation in ESTIMATORS:
        arguments += [str(file), "-m", "not long"]  # its doctests, too
    if mutation.only:
        arguments += ["-k", mutation.only]
    try:
        status, output = run_tests(arguments, copy)
    finally:
        file.write_text(sound, encoding="utf-8")
    if status == 0:
        return ""
    failures = [
        line for line in output.splitlines() if line.startswith(("FAILED", "ERROR"))
    ]
    if status != 1 or not failures:
        raise SystemExit(f"{' '.join(arguments)}: pytest {status}: {output[-600:]}")
    return failures[0].partition(" - ")[0].removeprefix("FAILED ")


def run_tests(arguments: Sequence[str], copy: Path) -> tuple[int, str]:
    """Return the status and the output of pytest on the copy, in a fork that has other people's
    packages."""
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if not child:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.chdir(ROOT)
            sys.path[:0] = [str(copy), str(ROOT)]
            sys.dont_write_bytecode = True
            os.environ["PYTHONPATH"] = f"{copy}{os.pathsep}{ROOT}"
            status = 70
            try:
                status = int(pytest.main([*PYTEST_OPTIONS, *arguments]))
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(status)
        _, wait_status = os.waitpid(child, 0)
        output.seek(0)
        return os.waitstatus_to_exitcode(wait_status), output.read()


def load_packages() -> None:
    """Import the packages that the tests need, once for all of them."""
    for name in PACKAGES:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)


if __name__ == "__main__":
    main()
