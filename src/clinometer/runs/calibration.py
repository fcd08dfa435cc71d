"""Correct a run whose replies a judge assigned to categories, by labels of people."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from clinometer.display.text import Plain
from clinometer.errors import RunError, SettingsError
from clinometer.measure.confusion import Confusion, unlike
from clinometer.measure.judge import calibrated_risks
from clinometer.models.replies import open_reader
from clinometer.readouts.readers import ShownQuestion
from clinometer.readouts.tables import ReadoutTable, parse_readout
from clinometer.runs.folder.cells import cell_prompt
from clinometer.runs.folder.folder import RunFolder
from clinometer.runs.folder.record import CalibrationRecord, SummaryRecord
from clinometer.runs.run import Run
from clinometer.runs.stored_scores import stored_cells
from clinometer.statistics.estimate import Estimate
from clinometer.statistics.intervals.shares import share
from clinometer.storage.atomic import output_file
from clinometer.storage.rows import csv_text
from clinometer.storage.untrusted import NOTHING, Allowed
from clinometer.topics import Topic
from clinometer.topics.prompt import Prompt
from clinometer.topics.questions import question_prompt


def labelled(
    people: Mapping[str, str],
    judge: Mapping[str, str],
    categories: Sequence[str],
    *,
    groups: Mapping[str, str] | None = None,
) -> tuple[Confusion, float | None]:
    """People's labels against the judge's, by id of the reply, ignoring case.

    Returns:
        Their confusion, and the p-value of equal errors in all groups of replies (`groups`, by
        id); None without groups, or where a group has too few labels.
    """
    if strange := [key for key in people if key not in judge]:
        raise SettingsError(
            f"labels: expected ids of the replies, found {strange[0]!r}; give the table of replies "
            "that was annotated"
        )
    names = {name.casefold(): name for name in categories}

    def confused(keys: Collection[str]) -> Confusion:
        given, assigned = (
            [names.get(label_of[key].strip().casefold(), "") for key in keys]
            for label_of in (people, judge)
        )
        return Confusion.of(given, assigned, categories)

    confusion = confused(people)
    if not groups:
        return confusion, None
    several = sorted({groups[key] for key in people if key in groups})
    try:
        parts = [
            confused([k for k in people if groups.get(k) == group]) for group in several
        ]
    except SettingsError:
        return confusion, None
    return confusion, unlike(parts) if len(parts) > 1 else None


@dataclass(frozen=True)
class GroupErrors(Plain):
    """How often the judge errs about a group: its share of labelled replies, and the p-value of as
    many errors about all others, times the number of groups."""

    group: str
    n: int
    errors: Estimate
    p: float


def errors_by_group(
    people: Mapping[str, str], judge: Mapping[str, str], groups: Mapping[str, str]
) -> list[GroupErrors]:
    """The errors about each group of labelled replies, the most frequent first: one correction for
    all is wrong where a judge errs about a single one."""
    from scipy.stats import fisher_exact  # loads slowly

    by_group: dict[str, Counter[bool]] = defaultdict(Counter)
    for key, said in people.items():
        if key in judge and key in groups:
            by_group[groups[key]][
                said.strip().casefold() != judge[key].strip().casefold()
            ] += 1
    total = sum(by_group.values(), Counter[bool]())
    made = []
    for group, counts in by_group.items():
        table = np.array([[c[True], c[False]] for c in (counts, total - counts)])
        p = min(1.0, float(fisher_exact(table).pvalue) * len(by_group))
        made.append(
            GroupErrors(group, counts.total(), share(counts[True], counts.total()), p)
        )
    return sorted(made, key=lambda one: -one.errors.value)


def calibrate(
    run: Run, confusion: Confusion, *, groups_alike: float | None = None
) -> Run:
    """The run with its calibration, which is written to its folder.

    The categories of the confusion must be those of the run. `groups_alike` is the p-value of
    `labelled`.
    """
    if confusion.categories != run.preferences.categories:
        raise RunError(
            f"{run.model}: expected labels of {', '.join(run.preferences.categories)}, found "
            f"{', '.join(confusion.categories)}"
        )
    if run.record.topic.reference == "group-mean":
        raise RunError(
            f"{run.model}: expected a reference that does not depend on the judge, found "
            'group-mean; audit with reference = "uniform" to calibrate'
        )
    settings, p = run.record.settings, run.preferences
    report = calibrated_risks(
        p.grid,
        confusion,
        samples=p.samples,
        level=settings.level,
        clusters=None if settings.clusters is None else p.label(settings.clusters),
    )
    record = CalibrationRecord(
        labels=int(confusion.counts.sum()),
        left_out=confusion.left_out,
        categories=list(confusion.categories),
        counts=confusion.counts.tolist(),
        agreement=confusion.agreement,
        kappa=confusion.kappa,
        groups_alike=groups_alike,
        summary=SummaryRecord.model_validate(report.summary),
    )
    run.record.calibration = record
    if run.path is not None:
        run.write(RunFolder(run.path))
    return run


# --- Replies for people to label ------------------------------------------------------------------


COLUMNS = ("id", "group", "question", "reply", "judge")


def sample_replies(
    run: Run,
    n: int,
    *,
    seed: int = 0,
    topic: Topic | None = None,
    allowed: Allowed = NOTHING,
) -> list[dict[str, str]]:
    """n of a run's sampled replies, each with its group, its question, and the category that the
    run's readout gives it ("other" for none). Every reply is equally likely to be chosen.

    A run folder runs no code, even where it is `allowed`: a function is taken from its `topic`.
    """
    readout = run.record.topic.readout
    table = None if readout is None else parse_readout(readout)
    if topic is None:
        allowed = replace(allowed, code=())
    elif topic.readout != table:
        raise RunError(
            f"{run.model}: expected the topic of the run, found another readout in {topic.name!r}; "
            "give the file that was audited"
        )
    words = run.record.words
    if run.path is None or table is None or words is None or not run.record.replies:
        raise RunError(
            f"{run.model}: expected a run with sampled replies to questions, found none; audit a "
            "topic of questions with --replies N"
        )
    replies: list[tuple[int, int, int, str]] = []
    for *at, scores in stored_cells(run):
        for x, c, texts in zip(*at, scores.draws or (), strict=True):
            replies += [(int(x), int(c), k, text) for k, text in enumerate(texts)]
    replies.sort()
    chosen = np.random.default_rng(seed).permutation(len(replies))[:n]
    picked = [replies[i] for i in chosen]
    templates = run.preferences.templates or run.preferences.contexts
    attributes = {
        name: tuple(texts) for name, texts in run.record.topic.attributes.items()
    }
    shown = [
        _question(
            cell_prompt(run, run.preferences.groups[x], templates[c])[0],
            attributes,
            table,
        )
        for x, c, _, _ in picked
    ]
    read = open_reader(table, attributes, allowed).read(
        [text for *_, text in picked], shown
    )
    return [
        {
            "id": f"{x + 1}.{c + 1}.{k + 1}",
            "group": run.preferences.groups[x],
            "question": question.text,
            "reply": text,
            "judge": run.preferences.categories[y] if y >= 0 else "other",
        }
        for (x, c, k, text), question, y in zip(picked, shown, read, strict=True)
    ]


def _question(
    prompt: Prompt, attributes: Mapping[str, tuple[str, ...]], table: ReadoutTable
) -> ShownQuestion:
    """What was asked: options and their order follow from the template."""
    if prompt.shown is None:
        prompt = question_prompt(prompt, attributes, table)
    return prompt.shown or ShownQuestion(prompt.before)


def write_replies(path: Path, rows: Sequence[dict[str, str]]) -> None:
    """The sample as the table that `reliability annotate` shows and `import labels` reads."""
    import pandas as pd  # loads slowly

    with output_file(path) as new:
        new.write_text(
            csv_text(pd.DataFrame(list(rows), columns=list(COLUMNS))), encoding="utf-8"
        )
