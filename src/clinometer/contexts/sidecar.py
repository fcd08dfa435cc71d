"""The sidecar of a context set: a .json beside the .csv that says where the set comes from.

Schema version 1; sidecars of before it have the same fields and no version. A field that is not
known here is kept and written back.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from clinometer.errors import ContextError
from clinometer.storage.record import RecordPart
from clinometer.storage.untrusted import MOST_RECORD, read_bytes

if TYPE_CHECKING:
    from clinometer.measure.inference.target import Sampling

#: How contexts are sampled; runs of 0.1.0 were made with replacement.
PRIORITY = "priority"


class DrawRecord(RecordPart):
    """A sample of contexts: how many, with what seed, and the sha256 of the set they are from.

    design        "priority", or "with replacement" for runs of 0.1.0, whose weights count n draws
    noise         of the sample, see `Sampling.set_noise`
    corpus_noise  of the set it is from
    """

    n: int
    seed: int | None = None
    source: str = Field(validation_alias="from", serialization_alias="from")
    design: str = "with replacement"
    noise: float | None = None
    corpus_noise: float | None = None

    @property
    def sampling(self) -> Sampling:
        """What the contexts are a sample of."""
        from clinometer.measure.inference.target import Sampling  # loads scipy

        return Sampling(1.0 / self.n if self.noise is None else self.noise, self.corpus_noise)


class TopRecord(RecordPart):
    """The most frequent contexts: how many, and the sha256 of the set they are from."""

    n: int
    source: str = Field(validation_alias="from", serialization_alias="from")


class ArticlesRecord(RecordPart):
    """Articles of a corpus that were read, and those of them in the sample."""

    read: int
    mined: int


class SetMetadata(RecordPart):
    """Where a set comes from; every field is optional.

    strategy             how templates were found; with parser, its version and resolver
    about                whose predicates: "own", people of the topic, or "any" person
    damage               what was skipped while reading, by reason
    occurrences          sentences behind the templates
    dropped              candidates that became no template, by rule
    articles_by_context  articles of each context, by context id
    min_confidence       links with less confidence were dropped
    confidence           mean confidence of the links behind each context, by context id
    confidences          links that were kept, by their confidence
    """

    corpus: str | None = None
    source: str | None = None
    topic: str | None = None
    language: str | None = None
    command: str | None = None
    strategy: str | None = None
    about: str | None = None
    parser: str | None = None
    parser_version: str | None = None
    resolver: str | None = None
    articles: ArticlesRecord | None = None
    damage: dict[str, int] = Field(default_factory=dict)
    sentences_parsed: int | None = None
    occurrences: int | None = None
    dropped: dict[str, int] = Field(default_factory=dict)
    near_duplicates_merged: int | None = None
    below_min_count: int | None = None
    too_unlikely: int | None = None
    note: str | None = None
    articles_by_context: dict[str, list[int]] | None = None
    min_confidence: float | None = None
    confidence: dict[str, float] | None = None
    confidences: dict[str, int] | None = None
    drawn: DrawRecord | None = None
    top: TopRecord | None = None


class _Content(RecordPart):
    """What a sidecar says of the content itself; it is no metadata when read back."""

    schema_version: Literal[1] = 1
    name: str = ""
    sha256: str | None = None
    n: int | None = None
    n_eff: float | None = None


class Sidecar(SetMetadata, _Content):
    """The content of the file."""

    @classmethod
    def read(cls, file: Path) -> Sidecar:
        """Of a file that is there; what is wrong is one line."""
        try:
            data = read_bytes(file, most=MOST_RECORD)
        except OSError as exc:
            raise ContextError(f"{file}: cannot be read: {exc.strerror}") from exc
        return cls.from_json(data, file, error=ContextError)

    @property
    def metadata(self) -> SetMetadata:
        content = _Content.model_fields
        return SetMetadata(**{k: v for k, v in self.to_dict().items() if k not in content})

    @classmethod
    def describing(
        cls, metadata: SetMetadata, *, name: str, sha256: str, n: int, n_eff: float
    ) -> Sidecar:
        """The sidecar to write for a set."""
        content = _Content(schema_version=1, name=name, sha256=sha256, n=n, n_eff=n_eff)
        return cls(**content.to_dict(), **metadata.to_dict())
