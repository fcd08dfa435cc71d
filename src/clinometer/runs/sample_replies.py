"""A sample of the replies of a run, for people to label."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clinometer.errors import RunError
from clinometer.models.replies import open_reader
from clinometer.readouts.question import ShownQuestion
from clinometer.readouts.tables import ReadoutTable, parse_readout
from clinometer.runs.folder.cells import cell_prompt
from clinometer.runs.run import Run
from clinometer.runs.stored_scores import stored_cells
from clinometer.storage.atomic import output_file
from clinometer.storage.rows import csv_text
from clinometer.storage.untrusted import NOTHING, Allowed
from clinometer.topics import Topic
from clinometer.topics.prompt import Prompt
from clinometer.topics.questions import question_prompt

COLUMNS = ("id", "group", "question", "reply", "judge")
"""The columns of the table of replies."""


@dataclass(frozen=True, order=True)
class StoredReply:
    """One reply of a run: of a group in a context, by number, and its number in the cell."""

    group: int
    context: int
    number: int
    text: str

    @property
    def id(self) -> str:
        return f"{self.group + 1}.{self.context + 1}.{self.number + 1}"


def sample_replies(
    run: Run,
    n: int,
    *,
    seed: int = 0,
    topic: Topic | None = None,
    allowed: Allowed = NOTHING,
) -> list[dict[str, str]]:
    """Return n of a run's sampled replies, each with its group, its question, and the category that
    the run's readout gives it ("other" for none). Every reply is equally likely to be chosen.

    A run folder runs no code, even where it is `allowed`: a function is taken from its `topic`.
    """
    table = parse_readout(run.record.topic.readout)
    if topic is None:
        allowed = replace(allowed, code=())
    elif topic.readout != table:
        raise RunError(
            f"{run.model}: expected the topic of the run, found another readout in {topic.name!r}; "
            "give the file that was audited"
        )
    words = run.record.words
    if run.path is None or not table.asks or words is None or not run.record.replies:
        raise RunError(
            f"{run.model}: expected a run with sampled replies to questions, found none; audit a "
            "topic of questions with --replies N"
        )
    every = sorted(_stored_replies(run))
    chosen = np.random.default_rng(seed).permutation(len(every))[:n]
    replies = [every[i] for i in chosen]
    attributes = {
        name: tuple(texts) for name, texts in run.record.topic.attributes.items()
    }
    questions = [_question(run, reply, attributes, table) for reply in replies]
    reader = open_reader(table, attributes, allowed)
    categories = reader.read([reply.text for reply in replies], questions)
    names = run.preferences.categories
    return [
        {
            "id": reply.id,
            "group": run.preferences.groups[reply.group],
            "question": question.text,
            "reply": reply.text,
            "judge": names[category] if category >= 0 else "other",
        }
        for reply, question, category in zip(
            replies, questions, categories, strict=True
        )
    ]


def _stored_replies(run: Run) -> Iterator[StoredReply]:
    for groups, contexts, scores in stored_cells(run):
        for x, c, texts in zip(groups, contexts, scores.draws or (), strict=True):
            for number, text in enumerate(texts):
                yield StoredReply(int(x), int(c), number, text)


def _question(
    run: Run,
    reply: StoredReply,
    attributes: Mapping[str, tuple[str, ...]],
    table: ReadoutTable,
) -> ShownQuestion:
    """Return what was asked: options and their order follow from the template."""
    templates = run.preferences.templates or run.preferences.contexts
    group = run.preferences.groups[reply.group]
    prompt: Prompt = cell_prompt(run, group, templates[reply.context])[0]
    if prompt.shown is None:
        prompt = question_prompt(prompt, attributes, table)
    return prompt.shown or ShownQuestion(prompt.before)


def write_replies(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """Write the sample as the table that `reliability annotate` shows and `import labels` reads."""
    import pandas as pd  # loads slowly

    frame = pd.DataFrame(list(rows), columns=list(COLUMNS))
    with output_file(path) as new:
        new.write_text(csv_text(frame), encoding="utf-8")
