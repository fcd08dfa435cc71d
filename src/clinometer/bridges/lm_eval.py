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

_NAME = re.compile(
    r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(\.gz)?"
)
"""samples_TASK_DATE.jsonl; the date has dashes where others have colons."""

_MOST = 16 << 30
"""Bytes of a file of samples: they are read line by line."""

_ROUNDING = 0.02
"""How far probabilities may add up beyond 1: half precision."""

_ENOUGH = 20
"""This many answers that are all equally likely are no model's."""

_UNKNOWN = "N/A"
"""What the harness writes for a model that has no such thing."""


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
    """Return the run that a file samples_TASK_DATE.jsonl of `lm_eval --log_samples` holds.

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
    results = read_results(path, model=model)
    source = import_record(path, TOOL, version=results.version, task=results.task)
    if mapping is None:
        mapping = mapping_for(results.task)
    elif not isinstance(mapping, SampleMapping):
        mapping = load_mapping(mapping)
    cells = SampleCells(mapping)
    for sample in read_samples(path):
        _add(sample, cells)
    return measured_import(cells, results.model, source, settings, out=out, fresh=fresh)


def _add(sample: HarnessSample, cells: SampleCells) -> None:
    fields = sample.fields
    where = sample.where
    mapping = cells.mapping
    place = cells.place(fields, where=where)
    if place is None:
        return
    if mapping.category:
        category = mapping.written(mapping.category, fields, where=where)
        cells.add_answer(place, category, sample.log_probs[0])
        return
    by_category: dict[str, list[float]] = {}
    for position, answer in enumerate(sample.answers):
        name = mapping.category_of(answer, position, fields, where=where)
        if name is not None:
            by_category.setdefault(name, []).append(sample.log_probs[position])
    log_probs = {
        name: float(np.logaddexp.reduce(logs)) for name, logs in by_category.items()
    }
    cells.add(place, log_probs)


@dataclass(frozen=True)
class HarnessSample:
    """A document with the log-likelihood of each of its answers."""

    where: str
    """The line, for errors."""

    fields: Mapping[str, Any]
    """Those of the document, and doc_id."""

    prompts: tuple[str, ...]
    """What each answer was asked after."""

    answers: tuple[str, ...]
    log_probs: tuple[float, ...]


@dataclass(frozen=True)
class HarnessResults:
    """What a file of samples is of."""

    task: str
    model: ModelInfo

    version: str
    """The version of the harness."""


def read_samples(path: Path) -> Iterator[HarnessSample]:
    """Read the samples of the first filter; an invalid line is an error that names it."""
    first_filter: str | None = None
    hashes: dict[str, int] = {}
    values: set[float] = set()
    n_values = 0
    for where, plain in json_lines(path, most=_MOST, loose=True):
        name = plain.get("filter", "")
        if first_filter is None:
            first_filter = name
        if name != first_filter:
            continue
        sample = _sample(plain, where)
        numbers = hash(sample.log_probs)
        doc_id = plain.get("doc_id")
        if doc_id is not None and hashes.setdefault(repr(doc_id), numbers) != numbers:
            raise TableError(
                f"{where}: expected one set of numbers for each document, found another "
                f"for doc_id {doc_id!r}; import one evaluation"
            )
        if len(values) < 2:
            values.update(sample.log_probs)
        n_values += len(sample.log_probs)
        yield sample
    if len(values) == 1 and n_values >= _ENOUGH:
        raise TableError(
            f"{path}: expected log-likelihoods that differ, found {min(values):.3g} {n_values} "
            "times: these are not a model's; import what lm_eval wrote"
        )


def read_results(path: Path, *, model: str | None = None) -> HarnessResults:
    """Read what the name of a file of samples and the results next to it tell.

    `model` overrides the name that the harness gives it.
    """
    name = _NAME.fullmatch(path.name)
    plain: dict[str, Any] = {}
    if name is None:
        task = path.name.partition(".")[0].removeprefix("samples_")
    else:
        task = name["task"]
        file = path.with_name(f"results_{name['date']}.json")
        if file.is_file():
            with reading(file, TableError):
                plain = _object(parse_json(read_bytes(file), loose=True))
    config = _object(plain.get("config"))
    folder_name = path.resolve().parent.name.replace("__", "/")
    parameters = config.get("model_num_parameters")
    if not isinstance(parameters, int) or parameters <= 0:
        parameters = None
    info = ModelInfo(
        name=str(model or plain.get("model_name") or folder_name),
        kind=KIND,
        revision=_text(config.get("model_sha")) or _text(config.get("model_revision")),
        dtype=_text(config.get("model_dtype")).removeprefix("torch."),
        device=_text(config.get("device")),
        parameters=parameters,
    )
    return HarnessResults(task, info, _text(plain.get("lm_eval_version")))


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
    replies = _listed(plain.get("filtered_resps") or plain.get("resps"))
    if len(replies) != len(requests) or not requests:
        raise TableError(
            f"{where}: expected a response to each of {len(requests)} requests, found "
            f"{len(replies)}"
        )
    sample = HarnessSample(
        where=where,
        fields={"doc_id": plain.get("doc_id"), **document},
        prompts=tuple(str(prompt) for prompt, _ in requests),
        answers=tuple(answer for _, answer in requests),
        log_probs=tuple(_log_prob(reply, where) for reply in replies),
    )
    _check_possible(sample)
    return sample


def _check_possible(sample: HarnessSample) -> None:
    """Refuse a distribution that cannot be: after one prompt, answers of which none begins another
    exclude each other, so their probabilities add up to at most 1."""
    rows = sorted(zip(sample.prompts, sample.answers, sample.log_probs, strict=True))
    for _, rows_of_prompt in groupby(rows, itemgetter(0)):
        total = 0.0
        prefix = None
        for _, answer, log_prob in rows_of_prompt:
            # An answer that begins with another follows it.
            if prefix is None or not answer.startswith(prefix):
                total += math.exp(log_prob)
                prefix = answer
        if total > 1 + _ROUNDING:
            raise TableError(
                f"{sample.where}: expected answers with a probability of at most 1 together, found "
                f"{total:.3g}: these are not log-likelihoods; import what lm_eval wrote"
            )


def _listed(value: Any) -> list[Any]:
    """Return a list, also where the harness wrote an object (gen_args_0, gen_args_1, …)."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _log_prob(reply: Any, where: str) -> float:
    """Return the number of ["-3.2", "False"], or of a list of such, one per repetition."""
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
