"""The plan of a study: its audits and their cost, before anything is scored."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.contexts import ContextSet
from clinometer.errors import ClinometerError, SettingsError
from clinometer.models import ModelSource, ModelSpec
from clinometer.models.catalog.pretrained import weights_header
from clinometer.models.catalog.spec import folder_name
from clinometer.runs import AuditSettings, RunFolder
from clinometer.storage.untrusted import read_json
from clinometer.topics import Topic

#: Average tokens per cell: prompts share prefixes, words of several tokens add some. Measured with
#: SmolLM2 on paper-gender, two cores.
_TOKENS = 8.0
#: Share of a plain matrix product's speed that a model reaches on a CPU.
_EFFICIENCY = 0.25
#: Seconds for loading a model, measuring and writing a run.
_OPENING = 4.0


@dataclass(frozen=True)
class Ask:
    """One audit of a study.

    label     its name in tables and charts
    folder    of the run, below the folder of the study
    role      its part in the study, such as the name of a source
    like      a model of the same size, if the study itself makes this one
    """

    label: str
    model: str
    topic: Topic
    contexts: ContextSet
    settings: AuditSettings
    folder: str
    role: str = ""
    like: str = ""

    @property
    def prompts(self) -> int:
        drawn = self.settings.max_contexts
        return len(self.topic) * min(len(self.contexts), drawn or len(self.contexts))


@dataclass(frozen=True)
class Cost:
    """What remains of one audit: prompts to score and approximate seconds; None if unknown."""

    ask: Ask
    done: bool
    seconds: float | None


@dataclass(frozen=True)
class Plan:
    """All audits of a study.

    further   other work of the study (training): a description and its seconds
    """

    study: str
    asks: tuple[Ask, ...]
    further: tuple[tuple[str, float], ...] = field(default=())

    def __post_init__(self) -> None:
        names = [ask.folder for ask in self.asks]
        twice = {n for n in names if names.count(n) > 1}
        if twice:
            raise SettingsError(
                f"study {self.study}: expected each model once, found {sorted(twice)[0]!r} twice"
            )

    def costs(self, out: Path) -> list[Cost]:
        """The cost of each audit, given what the study's folder already contains."""
        speed: float | None = None
        found = []
        for ask in self.asks:
            done = _finished(out / "runs" / ask.folder)
            size = None if done else parameters_of(ask.like or ask.model)
            seconds: float | None = 0.0 if done else None
            if size is not None:
                speed = speed or machine_speed()
                seconds = _OPENING + 2 * size * _TOKENS * ask.prompts / (speed * _EFFICIENCY)
            found.append(Cost(ask, done, seconds))
        return found

    def to_dict(self, out: Path) -> dict[str, Any]:
        costs = self.costs(out)
        return {
            "study": self.study,
            "prompts": sum(c.ask.prompts for c in costs if not c.done),
            "seconds": _total([c.seconds for c in costs] + [s for _, s in self.further]),
            "audits": [
                {
                    "model": c.ask.model,
                    "label": c.ask.label,
                    "topic": c.ask.topic.name,
                    "contexts": c.ask.contexts.name,
                    "prompts": c.ask.prompts,
                    "done": c.done,
                    "seconds": c.seconds,
                }
                for c in costs
            ],
            "further": [{"what": what, "seconds": seconds} for what, seconds in self.further],
        }


def asks_of(
    models: Sequence[str],
    topic: Topic,
    contexts: ContextSet,
    settings: AuditSettings,
    *,
    role: str = "",
) -> tuple[Ask, ...]:
    """One audit per model, on the same topic and contexts."""
    prefix = f"{folder_name(role)}-" if role else ""
    return tuple(
        Ask(label, m, topic, contexts, settings, prefix + folder_name(m), role=role)
        for m, label in zip(models, _labels(models), strict=True)
    )


def _labels(models: Sequence[str]) -> Sequence[str]:
    """Model names for tables and charts: folders and files without their path, unless two would
    then have the same name."""
    short = [Path(m).name if Path(m).exists() else m for m in models]
    return short if len(set(short)) == len(set(models)) else models


def spoken(seconds: float | None) -> str:
    """An approximate duration in words.

    >>> spoken(12.0), spoken(200.0), spoken(None)
    ('about 12 s', 'about 3 min', 'unknown')
    """
    if seconds is None:
        return "unknown"
    if seconds < 90:
        return f"about {max(1, round(seconds))} s"
    return f"about {round(seconds / 60)} min" if seconds < 5400 else f"about {seconds / 3600:.1f} h"


def parameters_of(model: str) -> int | None:
    """Parameters of a model on this machine, from its file headers; None if not available."""
    try:
        spec = ModelSpec.parse(model)
    except ClinometerError:
        return None
    if spec.place is ModelSource.REFERENCE:
        return 0
    if spec.place is ModelSource.FOLDER:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
            return _in_folder(Path(spec.target))
        return None
    if spec.place is ModelSource.EMBEDDED:
        return 134_515_008  # SmolLM2-135M
    if spec.place is ModelSource.GGUF:
        return round(Path(spec.target).stat().st_size * 8 / 6.6)  # 4-bit files with larger ends
    return None


def machine_speed() -> float:
    """Floating-point operations per second of a matrix product, measured in milliseconds."""
    a = np.ones((640, 640), dtype=np.float32)
    best = math.inf
    for _ in range(4):
        start = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - start)
    return float(2 * 640**3 / best)


def _in_folder(folder: Path) -> int | None:
    files = sorted(folder.glob("*.safetensors"))
    adapter = folder / "adapter_config.json"
    if adapter.is_file():  # it is merged into its base, and runs like it
        base = read_json(adapter).get("base_model_name_or_path", "")
        beside = (folder / base).resolve()
        return _in_folder(beside) if beside.is_dir() and beside != folder else None
    headers = [weights_header(file) for file in files]
    return sum(math.prod(t["shape"]) for header in headers for t in header.values()) or None


def _finished(folder: Path) -> bool:
    try:
        return RunFolder(folder).read_record().finished
    except ClinometerError:
        return False


def _total(seconds: Iterable[float | None]) -> float | None:
    known = list(seconds)
    return None if any(s is None for s in known) else sum(s for s in known if s is not None)
