"""What the records of a command have in common: a schema, and how a file is checked against it.

Schema version 1 is the only one so far. A key that this program does not know, because a later one
added it, is kept and written back. A change that an older program would misread needs a new version
and, in `ResultFolder.read_record`, a step that brings older content up to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinometer.errors import InputError, RunError, first_problem

SCHEMA_VERSION = 1


class RecordPart(BaseModel):
    """An object in a run.json. Nothing is converted: a text is not a number."""

    model_config = ConfigDict(strict=True, extra="allow", validate_by_name=True, frozen=True)

    @classmethod
    def from_json(
        cls, text: str | bytes, file: Path, *, error: type[InputError] = RunError
    ) -> Self:
        """Check the content of `file`; what is wrong is named by its place in it."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as exc:
            raise error(f"{file}: damaged: {first_problem(exc)}") from exc

    def to_dict(self) -> dict[str, Any]:
        """As plain values: what was given, also where it is the default, and nothing else."""
        found: dict[str, Any] = _noted(self.model_dump(by_alias=True, exclude_unset=True))
        return found


class ModelRecord(RecordPart):
    """A model as a run remembers it: the fields of `ModelInfo`, with its name as `id`."""

    id: str
    kind: str
    revision: str
    dtype: str = "float64"
    device: str = "cpu"
    parameters: int | None = None
    notes: list[str] = Field(default_factory=list)
    request: dict[str, Any] = Field(default_factory=dict)

    def check_same(self, now: ModelRecord) -> None:
        """Refuse to resume with other weights, or in another precision, than a run began with."""
        for what in ("revision", "kind", "dtype"):
            begun, found = getattr(self, what), getattr(now, what)
            if begun != found:
                raise RunError(
                    f"the run was begun with {what} {begun} of {now.id}, found {found} now: "
                    "--fresh starts over, another --out keeps both"
                )


class FolderRecord(RecordPart, ABC):
    """The content of a run.json; each command adds its own fields.

    kind     the command, for all but audits
    status   "running" or "finished"
    tables   digests of the tables that belong to a finished run
    """

    model_config = ConfigDict(frozen=False)  # it grows with its run; its parts are replaced whole

    schema_version: int = SCHEMA_VERSION
    kind: str | None = None
    status: str = "running"
    created: str = ""
    tables: dict[str, str] = Field(default_factory=dict)
    updated: str = ""

    @property
    def finished(self) -> bool:
        return self.status == "finished"

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """What makes it another run, by the names that an error shows."""


def _noted(value: Any) -> Any:
    """The same without the empty notes of estimates: only some have one."""
    if isinstance(value, dict):
        return {k: _noted(v) for k, v in value.items() if not (k == "note" and v is None)}
    return [_noted(v) for v in value] if isinstance(value, list | tuple) else value
