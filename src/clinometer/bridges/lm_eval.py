"""lm-evaluation-harness: the samples of any task that asks for log-likelihoods, as a run."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from clinometer.bridges.imported import (
    KIND,
    import_record,
    measured_import,
)
from clinometer.bridges.mapping import SampleMapping, load_mapping, mapping_for
from clinometer.bridges.sample_cells import SampleCells
from clinometer.errors import ClinometerError, TableError
from clinometer.models import ModelInfo
from clinometer.runs import AuditSettings, Run
from clinometer.settings import with_settings
from clinometer.storage.rows import json_lines, reading
from clinometer.storage.untrusted import parse_json, read_bytes

TOOL = "lm-eval"


def import_lm_eval(
    samples: str | Path,
    *,
    mapping: str | SampleMapping | None = None,
    model: str | None = None,
    out: str | Path | None = None,
    settings: AuditSettings | None = None,
    fresh: bool = False,
    **options: Any,
) -> Run:
    """The run that a file samples_TASK_DATE.jsonl of `lm_eval --log_samples` holds.

    Args:
        samples: the file; results_DATE.json next to it names the model.
        mapping: a ready mapping by name, or a .toml file; without one, that of the task.
        model: what to call the model, if not as the harness does.
        out: the folder of the run; None keeps it in memory.
        settings, options: of the measures and intervals, as in `clinometer.audit`.
        fresh: replace another run in `out`.
    """
    settings = with_settings(settings or AuditSettings(), options)
    path = Path(samples)
    task, info, version = read_results(path, model=model)
    source = import_record(path, TOOL, version=version, task=task)
    if not isinstance(mapping, SampleMapping):
        mapping = mapping_for(task) if mapping is None else load_mapping(mapping)
    cells = SampleCells(mapping)
    for sample in read_samples(path):
        _add(sample, cells)
    return measured_import(cells, info, source, settings, out=out, fresh=fresh)


def _add(sample: HarnessSample, cells: SampleCells) -> None:
    fields, where, mapping = sample.fields, sample.where, cells.mapping
    place = cells.place(fields, where=where)
    if place is None:
        return
    if mapping.category:
        said = mapping.written(mapping.category, fields, where=where)
        cells.add_answer(place, said, sample.log_probs[0])
        return
    log_probs: dict[str, list[float]] = {}
    for position, answer in enumerate(sample.answers):
        category = mapping.category_of(answer, position, fields, where=where)
        if category is not None:
            log_probs.setdefault(category, []).append(sample.log_probs[position])
    cells.add(
        place, {c: float(np.logaddexp.reduce(logs)) for c, logs in log_probs.items()}
    )


#: samples_TASK_DATE.jsonl; the date has dashes where others have colons.
_NAME = re.compile(
    r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(\.gz)?"
)
#: Bytes of a file of samples: they are read line by line.
_MOST = 16 << 30
#: How far probabilities may add up beyond 1: half precision.
_ROUNDING = 0.02
#: This many answers that are all equally likely are no model's.
_ENOUGH = 20
_UNKNOWN = "N/A"  # what the harness writes for a model that has no such thing


@dataclass(frozen=True)
class HarnessSample:
    """A document with the log-likelihood of each of its answers.

    where    the line, for errors
    fields   of the document, and doc_id
    prompts  what each answer was asked after
    """

    where: str
    fields: Mapping[str, Any]
    prompts: tuple[str, ...]
    answers: tuple[str, ...]
    log_probs: tuple[float, ...]


def read_samples(path: Path) -> Iterator[HarnessSample]:
    """Samples of the first filter; an invalid line is an error that names it."""
    first_filter: str | None = None
    seen: dict[str, int] = {}
    values: set[float] = set()
    n_values = 0
    for where, plain in json_lines(path, most=_MOST, loose=True):
        name = plain.get("filter", "")
        first_filter = name if first_filter is None else first_filter
        if name != first_filter:
            continue
        sample = _sample(plain, where)
        numbers, doc = hash(sample.log_probs), plain.get("doc_id")
        if doc is not None and seen.setdefault(repr(doc), numbers) != numbers:
            raise TableError(
                f"{where}: expected one set of numbers for each document, found another "
                f"for doc_id {doc!r}; import one evaluation"
            )
        values.update(sample.log_probs if len(values) < 2 else ())
        n_values += len(sample.log_probs)
        yield sample
    if len(values) == 1 and n_values >= _ENOUGH:
        raise TableError(
            f"{path}: expected log-likelihoods that differ, found {min(values):.3g} {n_values} "
            "times: these are not a model's; import what lm_eval wrote"
        )


def read_results(path: Path, *, model: str | None = None) -> tuple[str, ModelInfo, str]:
    """Task, model and version of the harness, as the name of a file of samples and the results next
    to it tell them.

    `model` overrides the name that the harness gives it.
    """
    name = _NAME.fullmatch(path.name)
    task = (
        name["task"] if name else path.name.partition(".")[0].removeprefix("samples_")
    )
    file = path.with_name(f"results_{name['date']}.json") if name else None
    plain: dict[str, Any] = {}
    if file is not None and file.is_file():
        with reading(file, TableError):
            plain = _object(parse_json(read_bytes(file), loose=True))
    config = _object(plain.get("config"))
    called = (
        model
        or plain.get("model_name")
        or path.resolve().parent.name.replace("__", "/")
    )
    parameters = config.get("model_num_parameters")
    info = ModelInfo(
        name=str(called),
        kind=KIND,
        revision=_text(config.get("model_sha")) or _text(config.get("model_revision")),
        dtype=_text(config.get("model_dtype")).removeprefix("torch."),
        device=_text(config.get("device")),
        parameters=parameters
        if isinstance(parameters, int) and parameters > 0
        else None,
    )
    return task, info, _text(plain.get("lm_eval_version"))


def _sample(plain: Mapping[str, Any], where: str) -> HarnessSample:
    document = plain.get("doc")
    if not isinstance(document, dict) or "arguments" not in plain:
        raise TableError(
            f"{where}: expected a sample of lm_eval --log_samples (doc, arguments, resps), found "
            f"{', '.join(list(plain)[:8]) or 'an empty object'}"
        )
    requests = [_listed(request)[:2] for request in _listed(plain["arguments"])]
    if any(len(request) < 2 or not isinstance(request[1], str) for request in requests):
        raise _not_likelihoods(where)
    answers = tuple(answer for _, answer in requests)
    replies = _listed(plain.get("filtered_resps") or plain.get("resps"))
    if len(replies) != len(answers) or not answers:
        raise TableError(
            f"{where}: expected a response to each of {len(answers)} requests, found {len(replies)}"
        )
    found = HarnessSample(
        where=where,
        fields={"doc_id": plain.get("doc_id"), **document},
        prompts=tuple(str(prompt) for prompt, _ in requests),
        answers=answers,
        log_probs=tuple(_log_prob(reply, where) for reply in replies),
    )
    _check_possible(found)
    return found


def _check_possible(sample: HarnessSample) -> None:
    """Refuse a distribution that cannot be: after one prompt, answers of which none begins another
    exclude each other, so their probabilities add up to at most 1."""
    together = sorted(
        zip(sample.prompts, sample.answers, sample.log_probs, strict=True)
    )
    for _, some in groupby(together, itemgetter(0)):
        total, last = 0.0, None
        for _, answer, log_prob in some:  # what begins with another follows it
            if last is None or not answer.startswith(last):
                total, last = total + math.exp(log_prob), answer
        if total > 1 + _ROUNDING:
            raise TableError(
                f"{sample.where}: expected answers with a probability of at most 1 together, found "
                f"{total:.3g}: these are not log-likelihoods; import what lm_eval wrote"
            )


def _listed(value: Any) -> list[Any]:
    """A list, also where the harness wrote an object (gen_args_0, gen_args_1, …)."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _log_prob(reply: Any, where: str) -> float:
    """["-3.2", "False"], or a list of such, one per repetition."""
    while isinstance(reply, list) and reply and isinstance(reply[0], list):
        reply = reply[0]
    if not isinstance(reply, list) or len(reply) != 2:
        raise _not_likelihoods(where)
    try:
        value = float(reply[0])
    except (TypeError, ValueError):
        raise _not_likelihoods(where) from None
    if math.isnan(value) or value > 0:
        raise TableError(f"{where}: expected a log-likelihood, found {value}")
    return value


def _not_likelihoods(where: str) -> ClinometerError:
    return TableError(
        f"{where}: expected log-likelihoods of answers; this task has the model write instead: "
        "import a task of the type multiple_choice or loglikelihood"
    )


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return "" if value is None or value == _UNKNOWN else str(value)
