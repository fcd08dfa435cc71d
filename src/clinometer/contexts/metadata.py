"""What the sidecar of a context set says: where the set comes from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from clinometer.storage.record import RecordPart


class DrawRecord(RecordPart):
    """A sample of contexts: how many, with what seed, and the sha256 of the set they are from."""

    n: int
    seed: int | None = None
    source: str = Field(validation_alias="from", serialization_alias="from")
    design: Literal["priority"] = "priority"
    """Priority sampling (Duffield et al. 2007), without replacement."""


class TopRecord(RecordPart):
    """The most frequent contexts: how many, and the sha256 of the set they are from."""

    n: int
    source: str = Field(validation_alias="from", serialization_alias="from")


class SetMetadata(RecordPart):
    """Where a set comes from; every field is optional."""

    corpus: str | None = None
    source: str | None = None
    topic: str | None = None
    language: str | None = None
    command: str | None = None

    strategy: str | None = None
    """How templates were found; with parser, its version and resolver."""

    about: str | None = None
    """Whose predicates: "own", people of the topic, or "any" person."""

    parser: str | None = None
    parser_version: str | None = None
    resolver: str | None = None

    articles: dict[str, int] | None = None
    """Of the corpus, how many were "read", and how many of them "mined"."""

    damage: dict[str, int] = Field(default_factory=dict)
    """What was skipped while reading, by reason."""

    sentences_parsed: int | None = None

    occurrences: int | None = None
    """Sentences behind the templates."""

    dropped: dict[str, int] = Field(default_factory=dict)
    """Candidates that did not become a template, by rule."""

    near_duplicates_merged: int | None = None
    below_min_count: int | None = None
    note: str | None = None

    min_confidence: float | None = None
    """Links with less confidence were dropped."""

    confidences: dict[str, int] | None = None
    """Links that were kept, by their confidence."""

    drawn: DrawRecord | None = None
    top: TopRecord | None = None


class Sidecar(SetMetadata):
    """A sidecar file: the metadata, and what it says about the content of the set."""

    schema_version: Literal[1] = 1
    name: str = ""
    sha256: str | None = None
    n: int | None = None
    n_eff: float | None = None

    def metadata(self) -> SetMetadata:
        """Return the metadata, without what is said about the content."""
        of_content = Sidecar.model_fields.keys() - SetMetadata.model_fields.keys()
        values = self.to_dict()
        return SetMetadata(**{k: v for k, v in values.items() if k not in of_content})
