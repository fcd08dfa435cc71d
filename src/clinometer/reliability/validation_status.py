"""Whether a reliability result is validated: whether its models and versions have been compared
with human judgements (`clinometer reliability validate`)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from clinometer.errors import SettingsError, TableError
from clinometer.reliability.folder import ReliabilityRecord, ValidationRecord
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import differences
from clinometer.storage.untrusted import read_bytes

#: The models of the COBIAS paper.
LARGE = ("google-bert/bert-large-uncased", "FacebookAI/roberta-large", "albert/albert-xxlarge-v2")
SMALL = ("pocket:bert", "pocket:gpt2-l")
AUTO, PAPER = "auto", "paper"
SMALL_MODELS = (
    "small models agree little with people (docs/reliability.md): download "
    + ", ".join(LARGE)
    + " for results to rely on"
)


def write_validation(record: ReliabilityRecord, path: Path, **result: Any) -> None:
    """Write the result of a truth test that a run has passed: statements, rho, given_length, and
    what it was compared with."""
    validation = ValidationRecord(**_tested(record), texts=record.texts, **result)
    with replacing(path) as beside:
        beside.write_text(validation.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_validation(path: Path | None) -> ValidationRecord | None:
    """What `validate --out` wrote; None without a file."""
    if path is None:
        return None
    try:
        data = read_bytes(path)
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}") from error
    return ValidationRecord.from_json(data, path, error=TableError)


def check_validation(record: ReliabilityRecord, validation: ValidationRecord | None) -> None:
    """Raise unless the validation is of the models, versions and scoring of this run."""
    if validation is None:
        return
    run = _tested(record)
    changed = differences({name: getattr(validation, name) for name in run}, run)
    if changed:
        raise SettingsError(
            f"validation: expected one of the same models and versions, found other "
            f"{', '.join(changed)}; validate these, or leave it out"
        )


def _tested(record: ReliabilityRecord) -> dict[str, Any]:
    """What a validation is about."""
    return {
        "models": [m.id for m in record.models],
        "revisions": [m.revision for m in record.models],
        "versions_by": record.versions_by,
        "scoring": record.scoring,
    }


def scoring_models(names: Sequence[str]) -> tuple[list[str], str]:
    """The models to score with, and a warning or "": `paper` stands for the paper's three large
    ones, `auto` for the same if they are in the local cache or can be downloaded, else for the
    small ones of this package."""
    names = [m for name in names for m in (LARGE if name == PAPER else (name,))]
    if AUTO not in names:
        return list(dict.fromkeys(names)), ""
    from clinometer.models.catalog.hub import cached, hub_reachable

    others = [name for name in names if name != AUTO]
    large = [name for name in LARGE if cached(name)]
    if len(large) < len(LARGE) and hub_reachable():
        large = list(LARGE)
    if large:
        missing = [name for name in LARGE if name not in large]
        note = f"not available here: {', '.join(missing)}" if missing else ""
        return list(dict.fromkeys([*others, *large])), note
    return list(dict.fromkeys([*others, *SMALL])), SMALL_MODELS
