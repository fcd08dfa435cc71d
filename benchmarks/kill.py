"""SIGKILL at random moments of an audit: one JSON object that says what was lost and what differs.

An audit of 120 groups × 100 contexts is made once without interruption, and once more under
`--kills` SIGKILLs at random moments (loading, scoring, writing), each followed by the same command.
Counted are the cells that a kill caused to be scored twice; compared are the scores, tables and
results of both runs, bit for bit. An audit that ends before all kills are spent is begun again.

    python benchmarks/kill.py --work /tmp/kill --seconds 540   # again until it says done

`--words single` restricts to words of one token, which is nine times faster; `--words all` is the
audit as it is made by default.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.contexts import ContextSet, load_contexts
from clinometer.models import WordOptions
from clinometer.runs import AuditSettings, Run, RunFolder, audit
from clinometer.statistics.arrays import FloatArray
from clinometer.topics import load_topic

# Reporting verbs that make, with the paper's ten templates, 100 contexts (as in grid.py).
from grid import templates  # isort: skip


def contexts(n: int) -> ContextSet:
    known = load_contexts("paper-gender")
    found = templates(None, n)
    return ContextSet("kill", found, [*known.counts, *([1] * n)][: len(found)])


def child(arguments: argparse.Namespace) -> None:
    """One attempt. Says on stdout which cells it begins to score."""
    module: Any = importlib.import_module("clinometer.runs.audited_model")
    open_model = module.open_model

    def telling(*args: Any, **options: Any) -> Any:
        scorer = open_model(*args, **options)
        score = scorer.score

        def told(prompts: Any, words: Any, *more: Any) -> Any:
            print(f"begun {len(prompts)}", flush=True)
            return score(prompts, words, *more)

        scorer.score = told
        return scorer

    module.open_model = telling
    topic = load_topic("gender")
    audit(
        arguments.model,
        topic=topic.select(topic.group_names[: arguments.groups]),
        contexts=contexts(arguments.contexts),
        out=arguments.child,
        settings=AuditSettings(
            words=WordOptions(single_token=arguments.words == "single")
        ),
        cache=False,
    )


def attempt(
    arguments: argparse.Namespace, out: Path, seconds: float | None
) -> dict[str, Any]:
    """Run the audit; after `seconds` kill it. Cells begun, cells that came to the folder, how."""
    before = stored(out)
    command = [sys.executable, __file__, "--child", str(out)]
    for name in ("model", "groups", "contexts", "words"):
        command += [f"--{name}", str(getattr(arguments, name))]
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        told, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        told, _ = process.communicate()
    if process.returncode not in (0, -signal.SIGKILL):
        raise SystemExit(f"an attempt failed with status {process.returncode}")
    begun = sum(int(line.split()[1]) for line in told.splitlines())
    return {
        "seconds": round(time.monotonic() - start, 1),
        "killed": process.returncode != 0,
        "begun": begun,
        "kept": stored(out) - before,
        "torn": len(list(out.rglob("*.tmp"))),
    }


def stored(out: Path) -> int:
    """Cells in sound parts, read as a reader beside the run would."""
    if not out.is_dir():
        return 0
    return sum(0 if t is None else len(t) for _, t in RunFolder(out).parts.read())


RESULTS = ("summary", "counts", "n_eff", "floor", "preference_bound", "words")
"""What run.json must say alike."""


def differences(whole: Path, killed: Path) -> list[str]:
    """Return what is not identical between two finished runs."""
    first, first_tables = RunFolder(whole).read_finished()
    second, second_tables = RunFolder(killed).read_finished()
    names = []
    if not Run.load(whole).preferences.equals(Run.load(killed).preferences):
        names.append("preferences")
    for name in RESULTS:
        if getattr(first, name) != getattr(second, name):
            names.append(name)
    for name, table in first_tables.items():
        if not table.equals(second_tables[name]):
            names.append(f"{name}.parquet")
    if not np.array_equal(scores(whole), scores(killed)):
        names.append("scores")
    return names


def scores(out: Path) -> FloatArray:
    """Return the stored scores [cells, columns], by the number of the cell."""
    n_cells = Run.load(out).preferences.observed.size
    n_words = len(load_topic("gender").words)
    stored = RunFolder(out).read_scores(words=n_words, cells=n_cells, repair=False)
    rows: dict[int, FloatArray] = {}
    for cells, part in stored:
        columns = np.column_stack([part.log_probs, part.log_coverage, part.skipped])
        rows.update(zip(cells.tolist(), columns, strict=True))
    return np.stack([rows[cell] for cell in sorted(rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--groups", type=int, default=120)
    parser.add_argument("--contexts", type=int, default=100)
    parser.add_argument("--words", choices=("all", "single"), default="all")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", type=Path, default=Path("kill-work"))
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after so long")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(arguments)
        return
    began = time.monotonic()
    file = arguments.work / "state.json"
    arguments.work.mkdir(parents=True, exist_ok=True)
    state = json.loads(file.read_text()) if file.exists() else {"kills": [], "ends": []}
    whole, killed = arguments.work / "whole", arguments.work / "killed"
    if "whole" not in state:
        shutil.rmtree(whole, ignore_errors=True)
        state["whole"] = attempt(arguments, whole, None)
        file.write_text(json.dumps(state))
    rng = random.Random(arguments.seed + len(state["kills"]))  # noqa: S311
    mean = state["whole"]["seconds"] / (arguments.kills + 1)
    while len(state["kills"]) < arguments.kills or not state["ends"]:
        if time.monotonic() - began > arguments.seconds:
            break
        left = len(state["kills"]) < arguments.kills
        # Every attempt has to load the model again: some time more than its share of the work.
        delay = rng.uniform(0, 2 * mean + 15) if left else None
        found = attempt(arguments, killed, delay)
        if found["killed"]:
            state["kills"].append(found)
        else:
            state["ends"].append({**found, "differences": differences(whole, killed)})
            if len(state["kills"]) < arguments.kills:
                shutil.rmtree(killed)
        file.write_text(json.dumps(state))
    lost = [kill["begun"] - kill["kept"] for kill in state["kills"]]
    cells = arguments.groups * arguments.contexts
    print(
        json.dumps(
            {
                "done": bool(state["ends"]) and len(state["kills"]) >= arguments.kills,
                "cells": cells,
                "uninterrupted": state["whole"],
                "kills": len(state["kills"]),
                "killed_after_s": [kill["seconds"] for kill in state["kills"]],
                "cells_scored_twice_a_kill": lost,
                "batches_scored_twice_at_most": -(-max(lost, default=0) // 256),
                "audits_finished": len(state["ends"]),
                "differences": [end["differences"] for end in state["ends"]],
            }
        )
    )


if __name__ == "__main__":
    main()
