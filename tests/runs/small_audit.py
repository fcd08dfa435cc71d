"""A small audit of a real model that can be run, slowed down and killed as a process of its own.

    python small_audit.py OUT [SECONDS]     sleeps so long before each chunk, and prints its cells

Runs that are compared bit for bit are all made by such a process: other tests change how many
threads torch has in theirs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from clinometer.contexts import ContextSet, load_contexts
from clinometer.models import LoadOptions, WordOptions
from clinometer.runs import AuditSettings, Run, audit
from clinometer.runs.scores import executors
from clinometer.topics import load_topic

MODEL = "pocket:gpt2-s"
TEMPLATES = list(load_contexts("paper-gender").templates)
#: 100 groups × 10 contexts: four chunks.
SMALL: dict[str, Any] = {
    "topic": load_topic("gender").select(load_topic("gender").group_names[:100]),
    "contexts": ContextSet("ten", TEMPLATES, list(range(1, 11))),
    "settings": AuditSettings(
        replicates=0, words=WordOptions(single_token=True), load=LoadOptions(device="cpu")
    ),
}
CELLS = 1000


def start(out: Path, seconds: float = 0.0, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, __file__, str(out), str(seconds)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def finish(out: Path) -> Run:
    """Run it to its end."""
    _, errors = (process := start(out)).communicate()
    assert process.returncode == 0, errors
    return Run.load(out)


def same(one: Run, two: Run) -> bool:
    """Whether two runs hold the same numbers, bit for bit."""
    names = ("summary", "corrected", "verdict", "counts", "preference_bound", "words")
    return (
        one.preferences.equals(two.preferences)
        and one.report.to_dict() == two.report.to_dict()
        and all(getattr(one.record, name) == getattr(two.record, name) for name in names)
    )


def slow(seconds: float) -> None:
    opened = executors.open_model

    def opening(*args: Any, **options: Any) -> Any:
        scorer = opened(*args, **options)
        score = scorer.score

        def told(prompts: Any, words: Any) -> Any:
            print(len(prompts), flush=True)  # noqa: T201
            time.sleep(seconds)
            return score(prompts, words)

        scorer.score = told  # type: ignore[method-assign]
        return scorer

    executors.open_model = opening


if __name__ == "__main__":
    slow(float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    audit(MODEL, out=sys.argv[1], **SMALL)
