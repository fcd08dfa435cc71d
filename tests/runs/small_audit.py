"""A small audit of a real model that can be run, slowed down and killed as a process of its own.

Runs that are compared bit for bit are all made by such a process: other tests change which kernels
torch uses in theirs.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import time
from pathlib import Path
from typing import Any

from clinometer.contexts import ContextSet, load_contexts
from clinometer.errors import ClinometerError
from clinometer.models import LoadOptions, WordOptions, open_model
from clinometer.runs import AuditSettings, Run, audit
from clinometer.topics import load_topic

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["transformers.models.auto.modeling_auto", "transformers.models.gpt2.modeling_gpt2"]
)
MODEL = "pocket:gpt2-s"
TEMPLATES = list(load_contexts("paper-gender").templates)
#: 100 groups × 10 contexts: four chunks.
SMALL: dict[str, Any] = {
    "topic": load_topic("gender").select(load_topic("gender").group_names[:100]),
    "contexts": ContextSet("ten", TEMPLATES, list(range(1, 11))),
    "settings": AuditSettings(
        words=WordOptions(single_token=True), load=LoadOptions(device="cpu")
    ),
}
CELLS = 1000


class Started:
    """The small audit in a process of its own, forked from one that has loaded torch: to load it
    takes ten times as long as the audit. Before each chunk it tells its cells and sleeps."""

    def __init__(
        self, out: Path, seconds: float = 0.0, *, limit: int | None = None
    ) -> None:
        self._told, telling = FORKS.Pipe(duplex=False)
        self.process = FORKS.Process(target=_audit, args=(telling, out, seconds, limit))
        self.process.start()
        telling.close()

    def next(self) -> Any:
        """The cells that it begins with next, or its error."""
        return self._told.recv()

    def rest(self) -> list[Any]:
        """All that it tells until it ends, also by a kill."""
        told = []
        with contextlib.suppress(EOFError):
            while True:
                told.append(self.next())
        self.process.join()
        return told

    def kill(self) -> None:
        self.process.kill()


def finish(out: Path) -> Run:
    """Run it to its end."""
    told = (started := Started(out)).rest()
    assert started.process.exitcode == 0, told
    return Run.load(out)


def same(one: Run, two: Run) -> bool:
    """Whether two runs hold the same numbers, bit for bit."""
    names = ("summary", "plug_in", "counts", "preference_bound", "words")
    return (
        one.preferences.equals(two.preferences)
        and one.risks.to_dict() == two.risks.to_dict()
        and all(
            getattr(one.record, name) == getattr(two.record, name) for name in names
        )
    )


def _audit(telling: Any, out: Path, seconds: float, limit: int | None) -> None:
    opened = open_model

    def opening(*args: Any, **options: Any) -> Any:
        scorer = opened(*args, **options)
        score = scorer.score

        def told(prompts: Any, words: Any, *more: Any) -> Any:
            telling.send(len(prompts))
            time.sleep(seconds)
            return score(prompts, words, *more)

        vars(scorer)["score"] = told
        return scorer

    vars(sys.modules["clinometer.runs.audited_model"])["open_model"] = opening
    os.environ["CLINOMETER_CACHE_LIMIT"] = (
        "0"  # whatever the test has that forked the first
    )
    if (
        limit is not None
    ):  # no larger file: the disk of a machine that lets nobody mount
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        audit(MODEL, out=out, **SMALL)
    except ClinometerError as error:
        telling.send(str(error))
        raise SystemExit(1) from None
