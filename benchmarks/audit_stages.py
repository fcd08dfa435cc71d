"""`clinometer audit` as a user runs it, split into stages: one JSON line per audit.

    PYTHONPATH=src python benchmarks/audit_stages.py [MODEL ...] [--max-contexts 200]
    PYTHONPATH=src python benchmarks/audit_stages.py masked causal --templates templates.csv

`masked` and `causal` are BERT-large and Llama-2-7B shapes with random weights, written to a folder
first (`--smoke` makes toys of them); any other name is a model as `clinometer audit` takes it. Each
audit is a process of its own with an empty cache. Its wall time is divided into

    import    Python, Clinometer, torch, transformers
    digest    reading the model's files for their digest: once for files that are not written again
    load      configuration, tokenizer, weights, to the device
    find      looking cells up in the cache, which is empty here
    prompts   filling templates
    score     from the first block to the last; `tokenise` is inside it, beside the GPU
    store     scores to the run folder and to the cache
    tables    scores to preferences
    measure   risks, intervals, tables on disk
    render    what is printed

Stages of several threads overlap, so they may sum to more than the wall time. After the audit the
same process scores the first 240,000 prompts again in one call: the scorer's own rate. `of the
scorer` is the audit's rate over it, for the whole process and without import, digest and load.
`scores` is a digest of all scores, which does not change when an audit is repeated (`--repeat`).
`memory_mb` is what the process held when the model was loaded, and the most that it held.
`--against FOLDER` times the audit of another checkout (as package `tiltmeter` or `clinometer`), its
wall time alone.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

SHAPES = ("masked", "causal")
#: Prompts that are kept to be scored again.
AGAIN = 240_000
#: GiB that the GPU is said to have
MEMORY = "AUDIT_STAGES_MEMORY"


class Stages:
    """Seconds of each stage, less those of the stages inside it."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._inside = threading.local()
        self._lock = threading.Lock()

    def wrap(self, stage: str, owner: Any, name: str) -> None:
        """Time every call of a function."""
        function = getattr(owner, name)

        def timed(*args: Any, **more: Any) -> Any:
            return self.call(stage, function, *args, **more)

        setattr(owner, name, timed)

    def call(
        self, stage: str, function: Callable[..., Any], *args: Any, **more: Any
    ) -> Any:
        outer = getattr(self._inside, "children", None)
        self._inside.children = 0.0
        start = time.perf_counter()
        try:
            return function(*args, **more)
        finally:
            passed = time.perf_counter() - start
            with self._lock:
                self.seconds[stage] += passed - self._inside.children
            self._inside.children = None if outer is None else outer + passed
            if outer is None:
                del self._inside.children


def memory(kind: str) -> int:
    """Megabytes that this process holds (VmRSS), or the most it has held (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{kind}:"))
    return int(line.split()[1]) * 1024 // 10**6


def one_audit(arguments: list[str], started: float) -> None:
    """Run the command in this process and print its line."""
    stages = Stages()
    from clinometer.cli import main as clinometer_main
    from clinometer.cli import show_runs
    from clinometer.models.tokens import slots
    from clinometer.runs.audited_model import AuditedModel
    from clinometer.runs.folder.folder import RunFolder
    from clinometer.runs.run import Run
    from clinometer.runs.score_cache import ScoreCache
    from clinometer.runs.scores import CellGrid, PreferenceTable
    from clinometer.runs.scoring import Scoring
    from clinometer.storage.cache import Cache

    stages.seconds["import"] = time.time() - started
    stages.wrap("digest", Cache, "digest_of")
    asked: list[tuple[Any, Any, Any]] = []
    sizes: list[int] = []
    opened: list[Any] = []
    begun: list[float] = []
    ended: list[float] = []
    loaded: list[int] = []

    def libraries() -> None:
        import torch
        import transformers
        import transformers.modeling_utils

        if torch.cuda.is_available():
            torch.cuda.init()
            if os.environ.get(MEMORY):
                card = torch.cuda.get_device_properties(0).total_memory / 2**30
                torch.cuda.set_per_process_memory_fraction(
                    float(os.environ[MEMORY]) / card
                )
        assert transformers

    load = AuditedModel.open

    def opening(model: AuditedModel) -> Any:
        stages.call("import", libraries)
        from clinometer.models.local import causal

        stages.wrap("tokenise", causal, "head_tokens")
        scorer: Any = stages.call("load", load, model)
        loaded.append(memory("VmRSS"))
        score = scorer.score

        def scoring(prompts: Any, words: Any, counts: Any = None) -> Any:
            if sum(sizes) < AGAIN:
                asked.append((prompts, words, counts))
            sizes.append(len(prompts))
            begun.append(time.perf_counter())
            try:
                return score(prompts, words, counts)
            finally:
                ended.append(time.perf_counter())

        scorer.score = scoring
        opened.append((scorer, score))
        return scorer

    AuditedModel.open = opening
    stages.wrap("tokenise", slots, "_around_marker")
    stages.wrap("find", Scoring, "_fill_from_cache")
    stages.wrap("prompts", CellGrid, "prompts")
    stages.wrap("store", RunFolder, "write_scores")
    stages.wrap("store", ScoreCache, "put")
    stages.wrap("tables", PreferenceTable, "add")
    stages.wrap("tables", PreferenceTable, "preferences")
    stages.wrap("measure", Run, "measured")
    stages.wrap("render", show_runs, "print_runs")
    try:
        clinometer_main(["audit", *arguments])
    except SystemExit as end:
        if end.code:
            raise
    wall = time.time() - started
    peak = memory("VmHWM")
    scorer, score = opened[0]
    cells = sum(sizes)
    everything = [prompt for prompts, _, _ in asked for prompt in prompts]
    _, words, counts = asked[0]
    again = time.perf_counter()
    score(everything, words, counts)
    again = (time.perf_counter() - again) * cells / len(everything)
    before = sum(stages.seconds[stage] for stage in ("import", "digest", "load"))
    stages.seconds["score"] = max(ended) - min(begun)
    kept = RunFolder(Path(arguments[arguments.index("--out") + 1]))
    digest = hashlib.sha256()
    stored = kept.read_scores(words=len(words), cells=cells, repair=False)
    for numbers, part in stored:
        digest.update(numbers.tobytes() + part.log_probs.tobytes())
    line = {
        "model": scorer.info.name,
        "device": scorer.info.device,
        "cells": cells,
        "wall_s": round(wall, 2),
        "stages_s": {name: round(s, 2) for name, s in stages.seconds.items()},
        "memory_mb": {"loaded": loaded[0], "peak": peak},
        "batch_tokens": scorer.batch_size.tokens,
        "scores": digest.hexdigest()[:16],
        "scorer_per_s": round(cells / again, 1),
        "first pass of the scorer": round(again / stages.seconds["score"], 3),
        "of the scorer": round(again / wall, 3),
        "of the scorer, after loading": round(again / (wall - before), 3),
    }
    print(json.dumps(line), flush=True)


def made_model(kind: str, folder: Path, options: argparse.Namespace) -> Path:
    """A model of a real shape with random weights, and a tokenizer trained on the prompts."""
    sys.path.insert(0, str(Path(__file__).parent))
    import gpu_grid
    import torch
    import transformers
    from bare_machine import dtype_on

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    befores, words = gpu_grid.texts(options.templates, options.contexts, 120)
    pieces, sample = (1300, 4_000) if kind == "causal" else (1800, 18_000)
    tokenizer = gpu_grid.trained(
        kind, befores[:: max(1, len(befores) // sample)], words, pieces
    )
    name = "AutoModelForCausalLM" if kind == "causal" else "AutoModelForMaskedLM"
    config = gpu_grid.shape(kind, options.smoke)
    with torch.device(device):
        model = getattr(transformers, name).from_config(config, dtype=dtype_on(device))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    time.sleep(
        3
    )  # a user's model was not written a moment ago, and its digest is remembered
    return folder


def audit_of(model: str, contexts: list[str], options: argparse.Namespace) -> None:
    """Time audits of one model, each in a process of its own."""
    here = str(Path(__file__).resolve())
    source = Path(here).parent.parent / "src"
    ways = [("", source, [sys.executable, here, "--one"])]
    for folder in options.against:
        (package,) = (
            p for p in ("clinometer", "tiltmeter") if (folder / "src" / p).is_dir()
        )
        ways.append((str(folder), folder / "src", [sys.executable, "-m", package]))
    for times in range(options.repeat):
        for name, package_source, begin in ways:
            with tempfile.TemporaryDirectory() as out:
                environment = {
                    **os.environ,
                    "PYTHONPATH": f"{package_source}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
                    "CLINOMETER_CACHE": f"{out}/cache",
                    "TILTMETER_CACHE": f"{out}/cache",
                    **({MEMORY: str(options.memory)} if options.memory else {}),
                }
                command = [
                    "audit",
                    model,
                    *contexts,
                    "--out",
                    f"{out}/run",
                    *options.more,
                ]
                started = time.time()
                asked = (
                    [*begin, str(started), *command[1:]]
                    if not name
                    else [*begin, *command]
                )
                done = subprocess.run(
                    asked,
                    env=environment,
                    stdout=subprocess.PIPE,
                    text=True,
                    check=False,
                )
                wall = time.time() - started
                if done.returncode:
                    print(
                        json.dumps({"model": model, "failed": done.returncode}),
                        flush=True,
                    )
                elif name:
                    told = {"model": model, "against": name, "wall_s": round(wall, 2)}
                    print(json.dumps({**told, "repeat": times}), flush=True)
                else:
                    print(done.stdout.splitlines()[-1], flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["pocket:gpt2-s"])
    parser.add_argument("--templates", type=Path, help="CSV with a column `template`")
    parser.add_argument("--contexts", type=int, default=2000, help="of the templates")
    parser.add_argument(
        "--max-contexts", type=int, help="of the built-in set, without --templates"
    )
    parser.add_argument(
        "--against", type=Path, nargs="*", default=[], help="other checkouts"
    )
    parser.add_argument(
        "--more", nargs="*", default=["--single-token"], help="options of audit"
    )
    parser.add_argument(
        "--memory", type=float, help="GiB of GPU memory, as on a smaller card"
    )
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument(
        "--smoke", action="store_true", help="toys in place of the real shapes"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        contexts = []
        if options.templates:
            with options.templates.open() as stream:
                rows = [r["template"] for r in csv.DictReader(stream)][
                    : options.contexts
                ]
            rows = [row for row in rows if row.endswith(" [Y]")]
            file = Path(folder) / "contexts.csv"
            with file.open("w") as stream:
                csv.writer(stream).writerows(
                    [("template", "count"), *((r, 1) for r in rows)]
                )
            contexts = ["--contexts", str(file)]
        elif options.max_contexts:
            contexts = [
                "--contexts",
                "wikipedia",
                "--max-contexts",
                str(options.max_contexts),
            ]
        for model in options.models:
            made = model
            if model in SHAPES:
                made = str(made_model(model, Path(folder) / model, options))
            audit_of(made, contexts, options)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one_audit(sys.argv[3:], float(sys.argv[2]))
    else:
        main()
