"""An audit as a task of lm-evaluation-harness: a folder for `lm_eval --include_path`.

clinometer_TOPIC.yaml       the task: one document per cell, the words as its choices
utils.py                    what the task calls: `clinometer.bridges.lm_eval.harness`
topic.toml, contexts.csv    what is asked; the documents are made of them
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.contexts import ContextSet, load_contexts
from clinometer.errors import ContextError, RunError, TopicError
from clinometer.runs.cells import CellGrid
from clinometer.storage.atomic import replacing
from clinometer.topics import Topic, load_topic
from clinometer.topics.write import topic_text

PREFIX = "clinometer_"
_TOPIC, _CONTEXTS = "topic.toml", "contexts.csv"

_TASK = """\
# Written by clinometer export lm-eval.
task: {name}
tag: clinometer
custom_dataset: !function utils.cells
test_split: test
output_type: multiple_choice
doc_to_text: before
doc_to_choice: choices
doc_to_target: 0
target_delimiter: ""
process_results: !function utils.process_results
metric_list:
  - metric: R
    aggregation: !function utils.R
    higher_is_better: false
  - metric: R_bias
    aggregation: !function utils.R_bias
    higher_is_better: false
  - metric: R_volatility
    aggregation: !function utils.R_volatility
    higher_is_better: false
metadata:
  version: 1.0
"""

_UTILS = '''\
"""What the task calls; it needs clinometer beside lm_eval (pip install clinometer)."""

from pathlib import Path

from clinometer.bridges.lm_eval.harness import HarnessTask

_task = HarnessTask(Path(__file__).parent)


def cells(**_):
    return _task.dataset()


def process_results(doc, results):
    return _task.process_results(doc, results)


def R(items):
    return _task.risk("R", items)


def R_bias(items):
    return _task.risk("R_bias", items)


def R_volatility(items):
    return _task.risk("R_volatility", items)
'''


@dataclass(frozen=True)
class TaskFolder:
    """The topic and the contexts of an exported task."""

    topic: Topic
    contexts: ContextSet

    @classmethod
    def read(cls, path: Path) -> TaskFolder:
        """What `write` wrote."""
        if not (path / _TOPIC).is_file():
            raise RunError(
                f"{path}: expected a folder of 'clinometer export lm-eval', found no {_TOPIC} in it"
            )
        return cls(load_topic(path / _TOPIC), load_contexts(path / _CONTEXTS))

    @property
    def name(self) -> str:
        return f"{PREFIX}{self.topic.name}"

    @cached_property
    def digest(self) -> str:
        """What every document says of the folder that it comes from."""
        both = f"{self.topic.sha256} {self.contexts.sha256}"
        return hashlib.sha256(both.encode()).hexdigest()[:16]

    @cached_property
    def grid(self) -> CellGrid:
        return CellGrid(self.topic, self.contexts, chunk_size=256)

    def documents(self) -> Iterator[dict[str, Any]]:
        """One per cell, in the order of their numbers."""
        cells = range(len(self.grid))
        groups, contexts = self.grid.places(np.arange(len(self.grid), dtype=np.int64))
        for cell, prompt in enumerate(self.grid.prompts(cells)):
            space = " " if prompt.space else ""
            yield {
                "clinometer": self.digest,
                "cell": cell,
                "group": self.topic.group_names[groups[cell]],
                "context": self.contexts.templates[contexts[cell]],
                "before": prompt.before,
                "choices": [f"{space}{word}{prompt.after}" for word in self.topic.words],
            }

    def write(self, path: Path) -> None:
        """Write the folder; files of an earlier export are replaced."""
        if self.topic.readout is not None or isinstance(self.topic.reference, str):
            raise TopicError(
                f"topic {self.topic.name!r}: expected words at the slot of a sentence, and a fixed "
                "reference; questions ([readout]) and group-mean cannot be asked by the harness, "
                "but by 'clinometer audit' and 'inspect eval clinometer/audit'"
            )
        if any(not prompt.before for prompt in self.grid.prompts(range(len(self.grid)))):
            raise ContextError(
                f"contexts {self.contexts.name!r}: the harness needs text before the slot: use "
                "templates that do not begin with [Y]"
            )
        path.mkdir(parents=True, exist_ok=True)
        self.contexts.save(path / _CONTEXTS)
        texts = {
            _TOPIC: topic_text(self.topic),
            "utils.py": _UTILS,
            f"{self.name}.yaml": _TASK.format(name=self.name),
        }
        for name, content in texts.items():
            with replacing(path / name, error=RunError) as beside:
                beside.write_text(content, encoding="utf-8")
