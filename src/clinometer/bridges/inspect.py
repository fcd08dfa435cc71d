"""Inspect: its logs as runs, and an audit as the samples of one of its tasks.

`import_inspect` reads logs of the task clinometer/audit (see `inspect_task`), and of any other task
by a mapping. Only that needs Inspect: `InspectAudit`, `ReplyReader` and `risks_of` do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from clinometer.bridges.imported import (
    KIND,
    audited_elsewhere,
    import_record,
    measured_import,
)
from clinometer.bridges.mapping import SampleMapping, load_mapping
from clinometer.bridges.sample_cells import SampleCells
from clinometer.contexts import ContextSet
from clinometer.errors import RunError, SettingsError, TableError
from clinometer.extras import require
from clinometer.measure import RiskReport
from clinometer.models import ModelInfo
from clinometer.models.options import SampleOptions
from clinometer.models.protocol import WordReport
from clinometer.models.replies import open_reader, read_replies
from clinometer.models.sampled import check_continued, counted, recognised, word_report
from clinometer.readouts import OTHER, UNREAD, Readout
from clinometer.runs import AuditSettings, Run
from clinometer.runs.folder.record import ImportRecord
from clinometer.runs.resolve import resampling_clusters
from clinometer.runs.scores import CellGrid
from clinometer.settings import with_settings
from clinometer.storage.untrusted import NOTHING, check_json
from clinometer.topics import Topic, parse_topic
from clinometer.topics.toml_text import topic_text

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample


#: The key of a task's and a sample's metadata that is ours.
KEY = "clinometer"
#: Where samples of clinometer/audit belong, by their metadata.
OWN_SAMPLES = SampleMapping(
    name="audit",
    group="{group}",
    context="{context}",
    category="{category}",
    labels={"unit": "{unit}"},
)


@dataclass(frozen=True)
class InspectAudit:
    """What is asked, and how replies are sampled; all of it travels in the log."""

    topic: Topic
    contexts: ContextSet
    options: SampleOptions

    @cached_property
    def grid(self) -> CellGrid:
        return CellGrid(self.topic, self.contexts, chunk_size=16)

    def metadata(self) -> dict[str, Any]:
        """For the task: what makes the samples an audit again."""
        return {
            "topic": topic_text(self.topic),
            "contexts": {
                "name": self.contexts.name,
                "templates": list(self.contexts.templates),
                "counts": list(self.contexts.counts),
                "extra": {
                    name: list(column) for name, column in self.contexts.extra.items()
                },
            },
            "replies": self.options.replies,
            "temperature": self.options.temperature,
            "reply_tokens": self.options.tokens,
            "seed": self.options.seed,
        }

    @classmethod
    def from_metadata(cls, plain: Mapping[str, Any], *, where: str) -> Self:
        """The audit that `metadata` describes."""
        sampling = ("replies", "temperature", "reply_tokens", "seed")
        try:
            return cls(
                parse_topic(plain["topic"], where=where),
                ContextSet(**plain["contexts"]),
                SampleOptions(**{key: plain[key] for key in sampling}),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise SettingsError(
                f"{where}: expected the metadata of an audit, found other"
            ) from error

    def samples(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The text of every cell, and its metadata."""
        groups, contexts = self.grid.indices(np.arange(len(self.grid), dtype=np.int64))
        label = resampling_clusters(AuditSettings(), self.topic, self.contexts)
        units = self.contexts.templates if label is None else self.contexts.extra[label]
        prompts = self.grid.prompts(range(len(self.grid)))
        check_continued(f"contexts {self.contexts.name!r}", prompts)
        for cell, prompt in enumerate(prompts):
            x, c = int(groups[cell]), int(contexts[cell])
            yield (
                prompt.before,
                {
                    "group": self.topic.group_names[x],
                    "context": self.contexts.templates[c],
                    "cell": cell,
                    "group_weight": float(self.topic.group_weights[x]),
                    "context_weight": float(self.contexts.weights[c]),
                    "unit": units[c],
                },
            )


@dataclass(frozen=True)
class ReplyReader:
    """Which category a reply is, by the rules of `clinometer audit --replies`.

    To a sentence it is that of the word the reply begins with; a word of several categories counts
    for none of them. To a question, what the topic's readout makes of it.
    """

    topic: Topic

    @cached_property
    def _readout(self) -> Readout | None:
        table = self.topic.readout
        return (
            None
            if table is None
            else open_reader(table, self.topic.attributes, NOTHING)
        )

    def read(self, reply: str, *, group: str, template: str) -> tuple[str | None, str]:
        """The category (None if it is not one) and the word, or why there is none.

        >>> from clinometer.topics import load_topic
        >>> reader = ReplyReader(load_topic("gender"))
        >>> reader.read(" she left", group="nurse", template="The [X] said that [Y]")
        ('female', 'she')
        >>> reader.read("I'm sorry", group="nurse", template="The [X] said that [Y]")
        (None, 'refusals')
        """
        prompt, words = self.topic.render(template, group), self.topic.words
        if self._readout is not None and prompt.shown is not None:
            (number,) = self._readout.read([reply], [prompt.shown])
        else:
            number = recognised(reply, tuple(words), prompt.before, space=prompt.space)
        if number < 0:
            return None, UNREAD.get(number, UNREAD[OTHER])
        if self._readout is not None:
            return self.topic.categories[number], self.topic.categories[number]
        word = words[number]
        homes = [name for name, texts in self.topic.attributes.items() if word in texts]
        return (homes[0] if len(homes) == 1 else None), word


def risks_of(
    replies: Iterable[tuple[Mapping[str, Any], str | None]],
    categories: list[str],
    reference: list[float] | Literal["group-mean"] | None,
) -> RiskReport | None:
    """R and its parts of replies, each with its sample's metadata; None while there are too few.

    Contexts of one unit are resampled together, as an audit does with questions of one wording.
    """
    cells = SampleCells(OWN_SAMPLES, categories)
    groups: dict[str, float] = {}
    contexts: dict[str, float] = {}
    for about, category in replies:
        groups[about["group"]] = about["group_weight"]
        contexts[about["context"]] = about["context_weight"]
        cells.add_reply(OWN_SAMPLES.place(about, where="sample"), category)
    try:
        preferences = replace(
            cells.preferences(),
            context_weights=np.array(list(contexts.values())),
            group_weights=np.array(list(groups.values())),
            reference=reference,
        )
        units = preferences.label("unit")
        return preferences.estimate(
            clusters="unit" if len(set(units)) < len(units) else None
        )
    except (
        SettingsError,
        TableError,
    ):  # too few replies to correct for their number, or none
        return None


TOOL = "inspect-ai"
#: Fields of a sample that are not read.
_UNREAD = {"events", "store", "attachments", "messages"}


def import_inspect(
    log: str | Path,
    *,
    mapping: str | SampleMapping | None = None,
    model: str | None = None,
    out: str | Path | None = None,
    settings: AuditSettings | None = None,
    fresh: bool = False,
    **options: Any,
) -> Run:
    """The run that a log of Inspect (.eval or .json) holds.

    Args:
        log: the file. Logs of the task clinometer/audit need no mapping.
        mapping: a .toml file that says which fields of a sample are the group, the context and the
            category. Epochs of a sample are replies, which are counted.
        model: what to call the model, if not as the log does.
        out: the folder of the run; None keeps it in memory.
        settings, options: of the measures and intervals, as in `clinometer.audit`.
        fresh: replace another run in `out`.
    """
    require("reading a log of Inspect", "inspect_ai")
    settings = with_settings(settings or AuditSettings(), options)
    path = Path(log)
    source = import_record(path, TOOL)
    header = _header(path)
    version = str(header.eval.packages.get("inspect_ai", ""))
    source = source.model_copy(update={"version": version, "task": header.eval.task})
    own = (header.eval.metadata or {}).get(KEY)
    if own is not None and mapping is None:
        audit = InspectAudit.from_metadata(own, where=str(path))
        name = model or f"inspect:{header.eval.model} ({audit.options.replies} replies)"
        return _own_run(path, audit, name, source, settings, out, fresh=fresh)
    if mapping is None:
        raise SettingsError(
            f"{path}: the log of {header.eval.task!r} needs a mapping: give a .toml file that says "
            "which fields are the group, the context and the category with --mapping "
            "(docs/bridges.md)"
        )
    if not isinstance(mapping, SampleMapping):
        mapping = load_mapping(mapping)
    cells = SampleCells(mapping)
    for sample in _samples(path):
        where = f"{path}: sample {sample.id}, epoch {sample.epoch}"
        if sample.error is not None:
            cells.leave_out("samples that failed")
        elif place := cells.place(fields := _fields(sample), where=where):
            cells.add_reply(place, mapping.reply_category(fields, where=where))
    info = ModelInfo(
        name=model or header.eval.model,
        kind="sampled",
        revision=KIND,
        dtype="served",
        device=TOOL,
    )
    return measured_import(cells, info, source, settings, out=out, fresh=fresh)


def _own_run(
    path: Path,
    audit: InspectAudit,
    model: str,
    source: ImportRecord,
    settings: AuditSettings,
    out: str | Path | None,
    *,
    fresh: bool,
) -> Run:
    """Replies of clinometer/audit, in the order of their epochs, counted as an audit counts."""
    told = []
    n = 0
    for sample in _samples(path):
        n += 1
        cell = (sample.metadata or {}).get("cell")
        if type(cell) is not int or not 0 <= cell < len(audit.grid):
            raise TableError(
                f"{path}: sample {sample.id}: expected the number of a cell (0 to "
                f"{len(audit.grid) - 1}) in its metadata, found {cell!r}; import an unchanged log"
            )
        if sample.error is None:
            reply, model_of = sample.output.completion, sample.output.model
            told.append((cell, sample.epoch, reply, _asked(sample), model_of))
    prompts = audit.grid.prompts(range(len(audit.grid)))
    draws = replies_by_cell(audit, told, str(path))
    topic, words, options = audit.topic, audit.topic.words, audit.options
    if topic.readout is None:
        scores, report = counted(prompts, words, draws), word_report(words)
    else:
        # A log runs no code, even where the settings allow it.
        reader = open_reader(
            topic.readout, topic.attributes, replace(settings.load.allowed, code=())
        )
        scores = read_replies(reader, topic.attributes, prompts, words, draws)
        report = WordReport(tokens={word: (word,) for word in words})
    info = ModelInfo(
        name=model,
        kind="sampled",
        revision=f"as served, {TOOL} {source.version}",
        dtype="served",
        device="server",
        notes=(
            f"{options.replies} replies a prompt at temperature {options.temperature:g}",
        ),
    )
    return audited_elsewhere(
        audit.grid,
        scores,
        report,
        info,
        source.model_copy(update={"samples": n}),
        replace(
            settings, clusters=resampling_clusters(settings, topic, audit.contexts)
        ),
        out=out,
        fresh=fresh,
    )


def replies_by_cell(
    audit: InspectAudit, told: Iterable[tuple[int, int, str, str, str]], where: str
) -> list[tuple[str, ...]]:
    """The replies of every cell in the order of their epochs, from what a log tells of each: cell,
    epoch, reply, the text that was asked, and the model that answered.

    Each must be there once, to its cell's prompt, by one model, and as many of each as were asked.
    """
    prompts = audit.grid.prompts(range(len(audit.grid)))
    texts: list[dict[int, str]] = [{} for _ in prompts]
    first = ""
    for cell, epoch, text, asked, model in told:
        at = f"{where}: cell {cell}, epoch {epoch}"
        if asked != prompts[cell].before:
            raise TableError(
                f"{at}: expected the prompt of the cell, found another text; import an unchanged "
                "log"
            )
        if epoch in texts[cell]:
            raise TableError(
                f"{at}: expected one reply, found a second; import the log of one evaluation"
            )
        first = first or model
        if model != first:
            raise TableError(
                f"{at}: expected answers of one model, found {model!r} after {first!r}: evaluate "
                "each by itself"
            )
        texts[cell][epoch] = text
    n = audit.options.replies
    short = [cell for cell, replies in enumerate(texts) if len(replies) != n]
    if short:
        raise RunError(
            f"{where}: expected {n} replies in each of {len(texts)} cells, found "
            f"{len(texts[short[0]])} in cell {short[0]} and other numbers in "
            f"{len(short)} cells; 'inspect eval-retry' finishes the evaluation"
        )
    return [tuple(text for _, text in sorted(replies.items())) for replies in texts]


def _asked(sample: EvalSample) -> str:
    """The text, or that of the last message."""
    asked = sample.input
    return asked if isinstance(asked, str) else str(asked[-1].text) if asked else ""


def _fields(sample: EvalSample) -> dict[str, Any]:
    """What a mapping can name: the metadata, and what Inspect itself keeps of a sample."""
    scores = {
        name: score.model_dump(include={"value", "answer", "explanation", "metadata"})
        for name, score in (sample.scores or {}).items()
    }
    return {
        "id": sample.id,
        "epoch": sample.epoch,
        "input": _asked(sample),
        "target": sample.target,
        "choices": sample.choices,
        "completion": sample.output.completion,
        "scores": scores,
        **sample.metadata,
    }


def _header(path: Path) -> EvalLog:
    from inspect_ai.log import read_eval_log

    with _reading(path):
        check_json(path)  # before Inspect parses it
        return read_eval_log(path, header_only=True)


def _samples(path: Path) -> Iterator[EvalSample]:
    from inspect_ai.log import read_eval_log_samples

    with _reading(path):  # which sees no error of the caller's
        yield from read_eval_log_samples(
            path, all_samples_required=False, exclude_fields=_UNREAD
        )


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """What Inspect raises is one line: an invalid zip, JSON or schema, or samples without ids."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split())
        raise TableError(
            f"{path}: not a readable log of Inspect: {text[:160]}; give a log as Inspect wrote it"
        ) from error
