"""Context sets as files: a CSV with the columns template and count, and a sidecar .json."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from clinometer.contexts.template import clean_template, template_problem, write_count
from clinometer.errors import ContextError
from clinometer.storage.atomic import replacing
from clinometer.storage.record import RecordPart
from clinometer.storage.spreadsheet import no_formula, without_quote
from clinometer.storage.untrusted import MOST_RECORD, read_bytes

if TYPE_CHECKING:
    from clinometer.contexts.context_set import ContextSet
    from clinometer.measure.correction import Sampling


# --- The sidecar of a context set: a .json beside the .csv that says where the set comes from ----


class DrawRecord(RecordPart):
    """A sample of contexts: how many, with what seed, and the sha256 of the set they are from.

    design        "priority": priority sampling (Duffield et al. 2007), without replacement
    noise         of the sample, see `Sampling.set_noise`
    corpus_noise  of the set it is from
    """

    n: int
    seed: int | None = None
    source: str = Field(validation_alias="from", serialization_alias="from")
    design: Literal["priority"] = "priority"
    noise: float
    corpus_noise: float | None = None

    @property
    def sampling(self) -> Sampling:
        """What the contexts are a sample of."""
        from clinometer.measure.correction import Sampling  # loads scipy

        return Sampling(self.noise, self.corpus_noise)


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


# --- Context sets as files: a CSV with the columns template and count, and a sidecar .json -------


COLUMNS = ("template", "count")


def read(path: Path, build: Callable[..., ContextSet], *, shown: str | None = None) -> ContextSet:
    """What `build` makes of a .csv or .csv.gz file; `shown` begins every error message."""
    shown = shown or os.fspath(path)
    sidecar = _sidecar(path, shown=shown)
    rows = _rows(_text(path, shown=shown), shown=shown)
    header = next(rows)[1]
    extra: dict[str, list[str]] = {column: [] for column in header if column not in COLUMNS}
    at_template, at_count = (header.index(column) for column in COLUMNS)
    others = [(column, header.index(column)) for column in extra]
    lines, templates, counts = [], [], []
    for line, row in rows:
        lines.append(line)
        templates.append(without_quote(row[at_template]))
        if (count := _count(row[at_count])) is None:
            raise ContextError(
                f"{shown}: line {line}: count: expected a number above 0, found {row[at_count]!r}"
            )
        counts.append(count)
        for column, at in others:
            extra[column].append(without_quote(row[at]))
    if not templates:
        raise ContextError(f"{shown}: expected at least one template, found none after the header")
    about = Sidecar.read(sidecar) if sidecar.exists() else Sidecar()
    name = about.name or path.name.split(".csv")[0]
    try:
        contexts = build(name, templates, counts, extra, about.metadata)
    except ContextError as exc:
        # `build` checks the templates once; only a failure is traced back to its line.
        for line, template in zip(lines, templates, strict=True):
            if problem := template_problem(clean_template(template)):
                raise ContextError(f"{shown}: line {line}: {problem}") from exc
        raise ContextError(f"{shown}: {exc}") from exc
    if about.sha256 not in (None, contexts.sha256):
        raise ContextError(
            f"{shown}: the content does not match {sidecar.name} (sha256 differs); "
            f"restore it, or remove sha256 from {sidecar.name} if the change is intended"
        )
    return contexts


def write(contexts: ContextSet, path: Path) -> None:
    """Write the CSV, then the sidecar, each atomically."""
    sidecar = _sidecar(path, shown=os.fspath(path))
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*COLUMNS, *contexts.extra])
    counts = map(write_count, contexts.counts)
    rows = zip(contexts.templates, counts, *contexts.extra.values(), strict=True)
    writer.writerows([no_formula(value) for value in row] for row in rows)
    content = buffer.getvalue().encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)  # the same content gives the same file
    about = Sidecar.describing(
        contexts.metadata,
        name=contexts.name,
        sha256=contexts.sha256,
        n=len(contexts),
        n_eff=contexts.n_eff,
    ).to_dict()
    try:
        described = json.dumps(about, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    except (TypeError, ValueError) as exc:
        raise ContextError(f"{sidecar}: the metadata cannot be written as JSON: {exc}") from exc
    for file, data in ((path, content), (sidecar, described.encode())):
        with replacing(file, error=ContextError) as beside:
            beside.write_bytes(data)


def _rows(text: str, *, shown: str) -> Iterator[tuple[int, list[str]]]:
    """The header, then every row that is not blank, each with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            break
        except csv.Error as exc:
            raise ContextError(f"{shown}: line {line}: not valid CSV: {exc}") from exc
        if not any(field.strip() for field in row):
            continue
        if not header:
            header = row = _header(row, where=f"{shown}: line {line}")
        elif len(row) != len(header):
            raise ContextError(
                f"{shown}: line {line}: expected {len(header)} fields ({', '.join(header)}), "
                f'found {len(row)}; put a template that contains a comma in "quotes"'
            )
        yield line, row
    if not header:
        raise ContextError(f"{shown}: expected the columns template,count, found an empty file")


def _header(row: list[str], *, where: str) -> list[str]:
    header = [column.strip() for column in row]
    missing = [column for column in COLUMNS if column not in header]
    if missing:
        raise ContextError(
            f"{where}: expected the columns template and count, found {', '.join(header)}; "
            f"rename the column that holds the {missing[0]} to {missing[0]}"
        )
    for column in header:
        if not column or header.count(column) > 1:
            raise ContextError(f"{where}: expected different column names, found {column!r} twice")
    return header


def _count(text: str) -> float | None:
    """The number, or None if it is not a finite number above 0."""
    try:
        count = math.nan if "_" in text else float(text)
    except ValueError:
        return None
    return count if 0 < count < math.inf else None


def _text(path: Path, *, shown: str) -> str:
    try:
        data = read_bytes(path)
    except FileNotFoundError as exc:
        raise ContextError(f"{shown}: no such file; check the path") from exc
    except IsADirectoryError as exc:
        raise ContextError(f"{shown}: expected a .csv file, found a folder") from exc
    except OSError as exc:
        raise ContextError(f"{shown}: {exc.strerror}; expected a readable .csv file") from exc
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = exc.object.count(b"\n", 0, exc.start) + 1
        raise ContextError(f"{shown}: line {line}: not valid UTF-8; save it as UTF-8") from exc


def _sidecar(path: Path, *, shown: str) -> Path:
    for ending in (".csv", ".csv.gz"):
        if path.name.endswith(ending) and path.name != ending:
            return path.with_name(path.name.removesuffix(ending) + ".json")
    raise ContextError(f"{shown}: expected a file that ends in .csv or .csv.gz")
