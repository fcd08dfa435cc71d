"""The files of lm_eval --log_samples: one sample per line, and the results beside them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from clinometer.bridges.imported import KIND
from clinometer.errors import ClinometerError, TableError
from clinometer.storage.record import ModelRecord
from clinometer.storage.untrusted import open_text, parse_json, read_bytes

#: samples_TASK_DATE.jsonl; the date has dashes where others have colons.
_NAME = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d.-]+)\.jsonl(\.gz)?")
#: Bytes of a file of samples: they are read line by line.
_MOST = 16 << 30
_UNKNOWN = "N/A"  # what the harness writes for a model that has no such thing


@dataclass(frozen=True)
class HarnessSample:
    """A document with the log-likelihood of each of its answers.

    where    the line, for errors
    fields   of the document, and doc_id
    target   the right answer, as the harness writes it
    """

    where: str
    fields: Mapping[str, Any]
    answers: tuple[str, ...]
    log_probs: tuple[float, ...]
    target: str


@dataclass(frozen=True)
class HarnessResults:
    """What results_DATE.json says of the run that a file of samples belongs to."""

    task: str
    model: ModelRecord
    version: str = ""
    metrics: Mapping[str, float] = field(default_factory=dict)


def read_samples(path: Path) -> Iterator[HarnessSample]:
    """Samples of the first filter; an invalid line is an error that names it."""
    used: str | None = None
    try:
        with open_text(path, most=_MOST) as lines:
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                where = f"{path}: line {number}"
                plain = _parsed(line, where)
                used = plain.get("filter", "") if used is None else used
                if plain.get("filter", "") == used:
                    yield _sample(plain, where)
    except FileNotFoundError as error:
        raise TableError(f"{path}: no such file; check the path") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{path}: expected UTF-8, found other bytes") from error
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}") from error


def read_results(path: Path, *, model: str | None = None) -> HarnessResults:
    """What is known of a file of samples: from its name and from the results beside it.

    `model` names it otherwise than the harness does.
    """
    name = _NAME.fullmatch(path.name)
    task = name["task"] if name else path.name.partition(".")[0].removeprefix("samples_")
    beside = path.with_name(f"results_{name['date']}.json") if name else None
    plain: dict[str, Any] = {}
    if beside is not None and beside.is_file():
        try:
            found = parse_json(read_bytes(beside), loose=True)
        except (OSError, ValueError) as error:
            raise TableError(f"{beside}: cannot be read: {error}") from error
        plain = found if isinstance(found, dict) else {}
    config = _object(plain.get("config"))
    called = model or plain.get("model_name") or path.resolve().parent.name.replace("__", "/")
    parameters = config.get("model_num_parameters")
    return HarnessResults(
        task=task,
        model=ModelRecord(
            id=str(called),
            kind=KIND,
            revision=_known(config.get("model_sha")) or _known(config.get("model_revision")),
            dtype=_known(config.get("model_dtype")).removeprefix("torch."),
            device=_known(config.get("device")),
            parameters=parameters if isinstance(parameters, int) and parameters > 0 else None,
        ),
        version=_known(plain.get("lm_eval_version")),
        metrics=_metrics(_object(_object(plain.get("results")).get(task))),
    )


def _metrics(plain: Mapping[str, Any]) -> dict[str, float]:
    """Metrics of a task by name: "acc,none" is acc under the filter none."""
    found: dict[str, float] = {}
    for name, value in plain.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            found.setdefault(name.partition(",")[0], float(value))
    return found


def _sample(plain: Mapping[str, Any], where: str) -> HarnessSample:
    document = plain.get("doc")
    if not isinstance(document, dict) or "arguments" not in plain:
        raise TableError(
            f"{where}: expected a sample of lm_eval --log_samples (doc, arguments, resps), found "
            f"{', '.join(list(plain)[:8]) or 'an empty object'}"
        )
    answers = tuple(_answer(request, where) for request in _listed(plain["arguments"]))
    replies = _listed(plain.get("filtered_resps") or plain.get("resps"))
    if len(replies) != len(answers) or not answers:
        raise TableError(
            f"{where}: expected a response to each of {len(answers)} requests, found {len(replies)}"
        )
    return HarnessSample(
        where=where,
        fields={"doc_id": plain.get("doc_id"), **document},
        answers=answers,
        log_probs=tuple(_log_prob(reply, where) for reply in replies),
        target=str(plain.get("target", "")),
    )


def _parsed(line: str, where: str) -> dict[str, Any]:
    try:
        plain = parse_json(line, loose=True)
    except ValueError as error:
        raise TableError(f"{where}: not valid JSON: {error}") from error
    if not isinstance(plain, dict):
        raise TableError(f"{where}: expected an object, found {type(plain).__name__}")
    return plain


def _listed(value: Any) -> list[Any]:
    """A list, also where the harness wrote an object (gen_args_0, gen_args_1, …)."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _answer(request: Any, where: str) -> str:
    """The continuation of a request: its second argument."""
    arguments = _listed(request)
    if len(arguments) < 2 or not isinstance(arguments[1], str):
        raise _not_likelihoods(where)
    return arguments[1]


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


def _known(value: Any) -> str:
    return "" if value is None or value == _UNKNOWN else str(value)
