"""Logs of Inspect as runs: of the task clinometer/audit (see `inspect_task`), and of any other task
by a mapping."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.bridges.imported import (
    KIND,
    audited_elsewhere,
    import_record,
    measured_import,
)
from clinometer.bridges.inspect_audit import (
    KEY,
    InspectAudit,
    LoggedReply,
    replies_by_cell,
)
from clinometer.bridges.mapping import SampleMapping, load_mapping
from clinometer.bridges.sample_cells import SampleCells
from clinometer.errors import SettingsError, TableError
from clinometer.extras import require
from clinometer.models import ModelInfo
from clinometer.models.protocol import WordReport
from clinometer.models.replies import open_reader, read_replies
from clinometer.models.sampled import counted, word_report
from clinometer.runs import AuditSettings, Run
from clinometer.runs.folder.record import ImportRecord
from clinometer.runs.resolve import resampling_clusters
from clinometer.settings import with_settings
from clinometer.storage.untrusted import check_json

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

TOOL = "inspect-ai"

_UNREAD = {"events", "store", "attachments", "messages"}
"""Fields of a sample that are not read."""


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
    """Return the run that a log of Inspect (.eval or .json) holds.

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
    metadata = (header.eval.metadata or {}).get(KEY)
    if metadata is not None and mapping is None:
        audit = InspectAudit.from_metadata(metadata, where=str(path))
        name = model or f"inspect:{header.eval.model} ({audit.options.replies} replies)"
        return _audit_run(path, audit, name, source, settings, out, fresh=fresh)
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
        if sample.error is not None:
            cells.leave_out("samples that failed")
            continue
        where = f"{path}: sample {sample.id}, epoch {sample.epoch}"
        fields = _fields(sample)
        place = cells.place(fields, where=where)
        if place is not None:
            cells.add_reply(place, mapping.reply_category(fields, where=where))
    info = ModelInfo(
        name=model or header.eval.model,
        kind="sampled",
        revision=KIND,
        dtype="served",
        device=TOOL,
    )
    return measured_import(cells, info, source, settings, out=out, fresh=fresh)


def _audit_run(
    path: Path,
    audit: InspectAudit,
    model: str,
    source: ImportRecord,
    settings: AuditSettings,
    out: str | Path | None,
    *,
    fresh: bool,
) -> Run:
    """Return the run of a log of clinometer/audit: its replies, counted as an audit counts."""
    replies = []
    n = 0
    for sample in _samples(path):
        n += 1
        cell = _cell(sample, audit, path)
        if sample.error is None:
            reply = LoggedReply(
                cell,
                sample.epoch,
                sample.output.completion,
                _prompt(sample),
                sample.output.model,
            )
            replies.append(reply)
    draws = replies_by_cell(audit, replies, str(path))
    topic = audit.topic
    words = topic.words
    if not topic.readout.asks:
        scores = counted(audit.prompts, words, draws)
        report = word_report(words)
    else:
        # A log runs no code, even where the settings allow it.
        allowed = replace(settings.load.allowed, code=())
        reader = open_reader(topic.readout, topic.attributes, allowed)
        scores = read_replies(reader, topic.attributes, audit.prompts, words, draws)
        report = WordReport(tokens={word: (word,) for word in words})
    options = audit.options
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
    clusters = resampling_clusters(settings, topic, audit.contexts)
    return audited_elsewhere(
        audit.grid,
        scores,
        report,
        info,
        source.model_copy(update={"samples": n}),
        replace(settings, clusters=clusters),
        out=out,
        fresh=fresh,
    )


def _cell(sample: EvalSample, audit: InspectAudit, path: Path) -> int:
    """Return the number of the cell that a sample of clinometer/audit asks about."""
    cell = (sample.metadata or {}).get("cell")
    if type(cell) is int and 0 <= cell < len(audit.grid):
        return cell
    raise TableError(
        f"{path}: sample {sample.id}: expected the number of a cell (0 to "
        f"{len(audit.grid) - 1}) in its metadata, found {cell!r}; import an unchanged log"
    )


def _prompt(sample: EvalSample) -> str:
    """Return the text that was asked, or that of the last message."""
    if isinstance(sample.input, str):
        return sample.input
    return str(sample.input[-1].text) if sample.input else ""


def _fields(sample: EvalSample) -> dict[str, Any]:
    """Return what a mapping can name: the metadata, and what Inspect itself keeps of a sample."""
    scores = {
        name: score.model_dump(include={"value", "answer", "explanation", "metadata"})
        for name, score in (sample.scores or {}).items()
    }
    return {
        "id": sample.id,
        "epoch": sample.epoch,
        "input": _prompt(sample),
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
    """Turn what Inspect raises into one line: an invalid zip, JSON or schema, or samples without
    ids."""
    try:
        yield
    except Exception as error:
        text = " ".join(str(error).split())
        raise TableError(
            f"{path}: not a readable log of Inspect: {text[:160]}; give a log as Inspect wrote it"
        ) from error
