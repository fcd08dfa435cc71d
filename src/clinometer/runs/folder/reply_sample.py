"""A random sample of the replies of a run, for people to label."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from clinometer.errors import RunError
from clinometer.models.generation.readers import open_reader
from clinometer.readouts.protocol import ShownQuestion
from clinometer.readouts.tables import ReadoutTable, parse_readout
from clinometer.runs.cells import places
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.partial import cell_prompt
from clinometer.runs.run import Run
from clinometer.storage.atomic import replacing
from clinometer.storage.spreadsheet import no_formula
from clinometer.topics.prompt import Prompt
from clinometer.topics.questions import asked

COLUMNS = ("id", "group", "question", "reply", "judge")


def sample_replies(run: Run, n: int, *, seed: int = 0) -> list[dict[str, str]]:
    """n of a run's sampled replies, each with its group, its question, and the category that the
    run's readout gives it ("other" for none). Every reply is equally likely to be chosen."""
    readout = run.record.topic.readout
    table = None if readout is None else parse_readout(readout)
    words = run.record.words
    if run.path is None or table is None or words is None or not run.record.draws:
        raise RunError(
            f"{run.model}: expected a run with sampled replies to questions, found none; audit a "
            "topic of questions with --sampled N"
        )
    X, C = run.preferences.values.shape[:2]
    looks = run.record.precision
    sizes = [C] if looks is None else [look.contexts or 0 for look in looks.rounds]
    rounds = np.diff(sizes, prepend=0).tolist()
    replies: list[tuple[int, int, int, str]] = []
    for cells, scores in RunFolder(run.path).read_scores(words=len(words.words), repair=False):
        at = places(cells, groups=X, rounds=rounds)
        for x, c, said in zip(*at, scores.draws or (), strict=True):
            replies += [(int(x), int(c), k, text) for k, text in enumerate(said)]
    replies.sort()
    chosen = np.random.default_rng(seed).permutation(len(replies))[:n]
    picked = [replies[i] for i in chosen]
    templates = run.preferences.templates or run.preferences.contexts
    attributes = {name: tuple(texts) for name, texts in run.record.topic.attributes.items()}
    shown = [
        _question(cell_prompt(run, run.preferences.groups[x], templates[c])[0], attributes, table)
        for x, c, _, _ in picked
    ]
    read = open_reader(table, attributes).read([text for *_, text in picked], shown)
    return [
        {
            "id": f"{x + 1}.{c + 1}.{k + 1}",
            "group": run.preferences.groups[x],
            "question": one.text,
            "reply": text,
            "judge": run.preferences.categories[y] if y >= 0 else "other",
        }
        for (x, c, k, text), one, y in zip(picked, shown, read, strict=True)
    ]


def _question(
    prompt: Prompt, attributes: Mapping[str, tuple[str, ...]], table: ReadoutTable
) -> ShownQuestion:
    """What was asked: options and their order follow from the template."""
    if prompt.shown is None:
        prompt = asked(prompt, attributes, table)
    return prompt.shown or ShownQuestion(prompt.before)


def write_replies(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """The sample as the table that `annotate` shows and `calibrate` reads."""
    with replacing(path) as new, new.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: no_formula(row[name]) for name in COLUMNS} for row in rows)
