"""The schema of a run.json: what every command's record has, and how it is checked and written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clinometer.errors import InputError, RunError, first_problem

SCHEMA_VERSION = 1
"""The only version so far.

A key that this program does not know, because a later one added it, is kept and written back. A
change that an older program would misread needs a new version and, in `ResultFolder.read_record`, a
step that brings older content up to it.
"""


class RecordPart(BaseModel):
    """An object in a run.json. Nothing is converted: a text is not a number."""

    model_config = ConfigDict(
        strict=True, extra="allow", validate_by_name=True, frozen=True
    )

    @classmethod
    def from_json(
        cls, text: str | bytes, file: Path, *, error: type[InputError] = RunError
    ) -> Self:
        """Return the checked content of `file`; what is wrong is named by its place in it."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as exc:
            raise error(f"{file}: damaged: {first_problem(exc)}") from exc

    def to_dict(self) -> dict[str, Any]:
        """Return what was given as plain values, also where it is the default, and nothing else."""
        content: dict[str, Any] = _without_empty_notes(
            self.model_dump(by_alias=True, exclude_unset=True)
        )
        return content


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

    def check_same(self, current: ModelRecord) -> None:
        """Refuse to resume with other weights, or in another precision, than a run began with."""
        for name in ("revision", "kind", "dtype"):
            before = getattr(self, name)
            now = getattr(current, name)
            if before != now:
                raise RunError(
                    f"the run was begun with {name} {before} of {current.id}, found {now} now: "
                    "--fresh starts over, another --out keeps both"
                )


class FolderRecord(RecordPart, ABC):
    """The content of a run.json; each command adds its own fields."""

    # It grows with its run; its parts are replaced whole.
    model_config = ConfigDict(frozen=False)

    schema_version: int = SCHEMA_VERSION

    kind: str | None = None
    """The command, for all but audits."""

    status: str = "running"
    """Either "running" or "finished"."""

    created: str = ""

    tables: dict[str, str] = Field(default_factory=dict)
    """Digests of the tables that belong to a finished run."""

    updated: str = ""

    @property
    def finished(self) -> bool:
        return self.status == "finished"

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """Return what makes it another run, by the names that an error shows."""


def _without_empty_notes(value: Any) -> Any:
    """Return a plain value without the empty notes of estimates: only some have one."""
    if isinstance(value, dict):
        return {
            name: _without_empty_notes(part)
            for name, part in value.items()
            if not (name == "note" and part is None)
        }
    if isinstance(value, list | tuple):
        return [_without_empty_notes(part) for part in value]
    return value
