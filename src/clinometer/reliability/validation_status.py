"""What a reliability result is worth: whether its models and versions have been held against human
judgement (`clinometer reliability validate`), or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clinometer.display.numbers import between, risk
from clinometer.errors import SettingsError, TableError
from clinometer.reliability.scoring.folder import ReliabilityRecord, ValidationRecord
from clinometer.storage.atomic import replacing
from clinometer.storage.resumable import differences
from clinometer.storage.untrusted import read_bytes

#: The models of the COBIAS paper.
LARGE = ("google-bert/bert-large-uncased", "FacebookAI/roberta-large", "albert/albert-xxlarge-v2")
SMALL = ("pocket:bert", "pocket:gpt2-l")
AUTO = "auto"
SMALL_MODELS = (
    "small models agree little with people (docs/reliability.md): download "
    + ", ".join(LARGE)
    + " for results to rely on"
)
NOT_VALIDATED = (
    "Not validated: it has not been shown that these models with these versions agree with people "
    "('clinometer reliability validate' tests it; small models agree little)."
)


@dataclass(frozen=True)
class ScoreStanding:
    """validated, and a sentence that says what that rests on."""

    validated: bool
    why: str

    def to_dict(self) -> dict[str, Any]:
        return {"validated": self.validated, "why": self.why}


def standing(record: ReliabilityRecord) -> ScoreStanding:
    """The standing of a run."""
    found = record.validation
    if found is None:
        return ScoreStanding(False, NOT_VALIDATED)
    ends = between(found.given_length.low, found.given_length.high, to=" to ")
    return ScoreStanding(
        True,
        f"Validated: with these models and versions COBIAS follows people's ratings of "
        f"{found.statements} statements with rho = {risk(found.given_length.value)} ({ends}) "
        "beyond their length.",
    )


def validation_of(record: ReliabilityRecord, **found: Any) -> ValidationRecord:
    """The record of a truth test that a run has passed."""
    return ValidationRecord(
        models=[m.id for m in record.models],
        versions_by=record.versions_by,
        scoring=record.scoring,
        **found,
    )


def write_validation(found: ValidationRecord, path: Path) -> None:
    with replacing(path) as beside:
        beside.write_text(found.model_dump_json(indent=2) + "\n", encoding="utf-8")


def read_validation(path: Path) -> ValidationRecord:
    """What `validate --out` wrote."""
    try:
        data = read_bytes(path)
    except OSError as error:
        raise TableError(f"{path}: cannot be read: {error.strerror}") from error
    return ValidationRecord.from_json(data, path, error=TableError)


def checked_validation(
    record: ReliabilityRecord, given: ValidationRecord | None
) -> ValidationRecord | None:
    """The validation, if it is of the models, versions and scoring of this run."""
    if given is None:
        return None
    now = validation_of(record, statements=0, rho=given.rho, given_length=given.given_length)
    names = ("models", "versions_by", "scoring")
    changed = differences(
        {n: getattr(given, n) for n in names}, {n: getattr(now, n) for n in names}
    )
    if changed:
        raise SettingsError(
            f"validation: expected one of the same models and versions, found other "
            f"{', '.join(changed)}; validate these, or leave it out"
        )
    return given


def scoring_models(given: Sequence[str]) -> tuple[list[str], str]:
    """The models to score with, and a warning or "": `auto` stands for the paper's three large ones
    if they are in the local cache or can be downloaded, else for the small ones of this package."""
    if AUTO not in given:
        return list(given), ""
    from clinometer.models.catalog.hub import cached, hub_reachable

    others = [name for name in given if name != AUTO]
    large = [name for name in LARGE if cached(name)]
    if len(large) < len(LARGE) and hub_reachable():
        large = list(LARGE)
    if large:
        missing = [name for name in LARGE if name not in large]
        note = f"not available here: {', '.join(missing)}" if missing else ""
        return list(dict.fromkeys([*others, *large])), note
    return list(dict.fromkeys([*others, *SMALL])), SMALL_MODELS
