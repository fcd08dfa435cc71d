"""Mining and audits on several machines, with datatrove's executors.

An executor (LocalPipelineExecutor, SlurmPipelineExecutor, RayPipelineExecutor) calls each object of
its pipeline with the rank and the number of tasks: what is here does the shard of that rank. When
work begins, is tried again and has ended is the executor's business.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clinometer.contexts.mining import MineSettings
from clinometer.contexts.mining.run import mine_shard
from clinometer.errors import ClinometerError
from clinometer.models import ModelSpec
from clinometer.models.open import loaded_once
from clinometer.runs import audit
from clinometer.runs.audit import default_folder
from clinometer.storage.shard import Shard
from clinometer.topics import load_topic


@dataclass(frozen=True)
class Mining:
    """A step that is `mine --shard RANK/TASKS`; afterwards `mine` writes the set.

    >>> from clinometer.topics import load_topic
    >>> settings = MineSettings(topic=load_topic("gender"), sample=None)
    >>> pipeline = [Mining(["articles.parquet"], "shared/contexts.csv", settings)]
    """

    corpus: Sequence[str | os.PathLike[str]]
    out: str | os.PathLike[str]
    settings: MineSettings

    def __call__(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Any:
        mine_shard(self.corpus, self.out, self.settings, Shard(rank, world_size))
        return data


@dataclass(frozen=True)
class Audits:
    """A step that asks every model every topic, each in a folder below `out` that `audit` would
    choose.

    A rank has every TASKS-th model, loads each once and asks it all topics. An audit that fails
    does not stop the others of its rank; its error is the rank's in the end.

    >>> pipeline = [Audits(["gpt2", "gpt2-xl"], ["gender", "race"], "shared/runs", "wikipedia")]
    """

    models: Sequence[str]
    topics: Sequence[str | os.PathLike[str]]
    out: str | os.PathLike[str]

    contexts: str | None = None
    """The contexts of all topics, such as "wikipedia"; None: each topic's own."""

    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings by name, as `audit` takes them."""

    def __call__(self, data: Any = None, rank: int = 0, world_size: int = 1) -> Any:
        first_error: ClinometerError | None = None
        for model in Shard(rank, world_size).part(self.models):
            with loaded_once():
                for topic in map(load_topic, self.topics):
                    settings: Any = {
                        "topic": topic,
                        "contexts": self.contexts,
                        **self.options,
                    }
                    try:
                        folder = default_folder(Path(self.out), model, **settings)
                        audit(ModelSpec.parse(model), out=folder, **settings)
                    except ClinometerError as error:
                        first_error = first_error or error
        if first_error is not None:
            raise first_error
        return data
