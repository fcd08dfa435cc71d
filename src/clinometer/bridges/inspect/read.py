"""Runs from logs of Inspect: those of our task, and any other by a mapping."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.bridges.audit_scores import audited_elsewhere
from clinometer.bridges.cells import SampleCells
from clinometer.bridges.imported import KIND, file_digest, measured_import
from clinometer.bridges.inspect.cell_samples import KEY, InspectAudit
from clinometer.bridges.mapping import SampleMapping, load_mapping
from clinometer.errors import RunError, SettingsError, TableError
from clinometer.extras import require
from clinometer.models import ModelInfo
from clinometer.models.generation.readers import open_reader
from clinometer.models.generation.replies import read_replies
from clinometer.models.generation.sampled import counted, word_report
from clinometer.models.protocol import WordReport
from clinometer.runs import AuditSettings, Run
from clinometer.runs.audit import by_wording
from clinometer.runs.folder.record_schema import ImportRecord
from clinometer.settings import with_settings
from clinometer.storage.record import ModelRecord

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

TOOL = "inspect-ai"
#: What of a sample is not read.
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
    path, folder = Path(log), None if out is None else Path(out)
    digest = file_digest(path)
    header = _header(path)
    own = (header.eval.metadata or {}).get(KEY)
    if own is not None and mapping is None:
        audit = InspectAudit.from_metadata(own, where=str(path))
        return _own_run(path, digest, header, audit, model, settings, folder, fresh=fresh)
    if mapping is None:
        raise SettingsError(
            f"{path}: the log of {header.eval.task!r} needs a mapping: give a .toml file that says "
            "which fields are the group, the context and the category with --mapping "
            "(docs/bridges.md)"
        )
    chosen = mapping if isinstance(mapping, SampleMapping) else load_mapping(mapping)
    cells = SampleCells(chosen)
    n = 0
    for sample in _samples(path):
        n += 1
        where = f"{path}: sample {sample.id}, epoch {sample.epoch}"
        _add(sample, where, chosen, cells)
    preferences = cells.preferences(coverage_threshold=settings.coverage_threshold)
    about = ModelRecord(
        id=model or header.eval.model, kind="sampled", revision=KIND, dtype="served", device=TOOL
    )
    source = _source(path, digest, header, n).model_copy(
        update={
            "mapping": chosen.name,
            "mapping_sha256": chosen.sha256,
            "left_out": dict(cells.left_out),
        }
    )
    return measured_import(preferences, chosen, about, source, settings, out=folder, fresh=fresh)


def _own_run(
    path: Path,
    digest: str,
    header: EvalLog,
    audit: InspectAudit,
    model: str | None,
    settings: AuditSettings,
    out: Path | None,
    *,
    fresh: bool,
) -> Run:
    """Replies of clinometer/audit, in the order of their epochs, counted as an audit counts."""
    replies: dict[int, dict[int, str]] = defaultdict(dict)
    n = 0
    for sample in _samples(path):
        n += 1
        if sample.error is None:
            replies[int(sample.metadata["cell"])][sample.epoch] = sample.output.completion
    lacking = len(audit.grid) - len(replies)
    if lacking:
        raise RunError(
            f"{path}: expected replies in {len(audit.grid)} cells, found none in {lacking} of "
            "them; 'inspect eval-retry' finishes the evaluation"
        )
    prompts = audit.grid.prompts(range(len(audit.grid)))
    draws = [
        tuple(text for _, text in sorted(replies[cell].items())) for cell in range(len(prompts))
    ]
    topic, words, options = audit.topic, audit.topic.words, audit.options
    if topic.readout is None:
        scores, report = counted(prompts, words, draws), word_report(words)
    else:
        reader = open_reader(topic.readout, topic.attributes)
        scores = read_replies(reader, topic.attributes, prompts, words, draws)
        report = WordReport(tokens={word: (word,) for word in words})
    info = ModelInfo(
        name=model or f"inspect:{header.eval.model} ({options.draws} draws)",
        kind="sampled",
        revision=f"as served, {TOOL} {_version(header)}",
        dtype="served",
        device="server",
        notes=(f"{options.draws} draws a prompt at temperature {options.temperature:g}",),
    )
    return audited_elsewhere(
        audit.grid,
        scores,
        report,
        info,
        _source(path, digest, header, n),
        by_wording(settings, topic, audit.contexts),
        scoring={},
        out=out,
        fresh=fresh,
    )


def _add(sample: EvalSample, where: str, mapping: SampleMapping, cells: SampleCells) -> None:
    if sample.error is not None:
        cells.left_out["samples that failed"] += 1
        return
    fields = _fields(sample)
    if not mapping.wants(fields, where=where):
        cells.left_out["samples that the mapping does not want"] += 1
        return
    place = mapping.place(fields, where=where)
    cells.add_reply(place, mapping.reply_category(fields, where=where))


def _fields(sample: EvalSample) -> dict[str, Any]:
    """What a mapping can name: the metadata, and what Inspect itself keeps of a sample."""
    scores = {
        name: score.model_dump(include={"value", "answer", "explanation", "metadata"})
        for name, score in (sample.scores or {}).items()
    }
    return {
        "id": sample.id,
        "epoch": sample.epoch,
        "input": sample.input if isinstance(sample.input, str) else sample.input[-1].text,
        "target": sample.target,
        "choices": sample.choices,
        "completion": sample.output.completion,
        "scores": scores,
        **sample.metadata,
    }


def _header(path: Path) -> EvalLog:
    from inspect_ai.log import read_eval_log

    try:
        return read_eval_log(path, header_only=True)
    except Exception as error:  # an invalid zip, JSON or schema
        text = " ".join(str(error).split())
        raise TableError(f"{path}: not a readable log of Inspect: {text[:160]}") from error


def _samples(path: Path) -> Iterator[EvalSample]:
    from inspect_ai.log import read_eval_log_samples

    yield from read_eval_log_samples(path, all_samples_required=False, exclude_fields=_UNREAD)


def _source(path: Path, digest: str, header: EvalLog, n: int) -> ImportRecord:
    return ImportRecord(
        tool=TOOL,
        version=_version(header),
        task=header.eval.task,
        file=path.name,
        sha256=digest,
        samples=n,
    )


def _version(header: EvalLog) -> str:
    return str(header.eval.packages.get("inspect_ai", ""))
