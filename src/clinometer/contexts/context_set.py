"""A context set: templates with the slots [X] and [Y], how often each was seen, and its file.

A set is stored as a .csv (or .csv.gz) file with the columns template and count, and a sidecar .json
that says where the set comes from. Your own may be simpler: a .csv file without counts, or a .txt
file with one sentence per line; its sentences weigh the same.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from clinometer.errors import ContextError
from clinometer.settings import COUNT, SEED
from clinometer.storage.atomic import output_file
from clinometer.storage.resumable import RecordPart
from clinometer.storage.rows import is_number, no_formula, reading, without_quote
from clinometer.storage.untrusted import (
    MOST_RECORD,
    check_columns,
    read_bytes,
    read_text,
)
from clinometer.topics.conversation import conversation_problem, is_conversation
from clinometer.topics.prompt import X, Y

COLUMNS = ("template", "count")
#: Endings of files that are written, and of those that are read.
WRITTEN = (".csv", ".csv.gz")
READ = (*WRITTEN, ".txt")
#: What the BVF authors' files call the count.
_AS_COUNT = ("proportion", "frequency")
_LIKE_A_SLOT = re.compile(r"\[\s*[xXyY]\s*\]")


def clean_template(text: str) -> str:
    """The text without whitespace around it, and with single spaces inside; messages as they are.

    >>> clean_template("  The [X]  said that [Y] ")
    'The [X] said that [Y]'
    """
    return text if is_conversation(text) else " ".join(text.split())


def template_problem(text: str) -> str | None:
    """What is wrong with a template, as the middle of an error message; None if it is valid.

    >>> template_problem("The [X] said that [Y]")
    >>> template_problem("The [X] said that [y]")
    'expected [Y] once, found [y]; write the slot as [Y]'
    """
    if is_conversation(text):
        return conversation_problem(text)
    slots = _LIKE_A_SLOT.findall(text)
    if slots in ([X, Y], [Y, X]):
        return None
    for written in slots:
        if written not in (X, Y):
            slot = f"[{written.strip('[] ').upper()}]"
            return f"expected {slot} once, found {written}; write the slot as {slot}"
    slot = X if text.count(X) != 1 else Y
    times = text.count(slot) or "none"
    return (
        f"expected {slot} once, found {times}; a template needs [X] and [Y] once each"
    )


def write_count(count: float) -> str:
    """A count as text that reads back as the same number: 2142, 0.5.

    >>> write_count(2142.0), write_count(0.1)
    ('2142', '0.1')
    """
    return str(int(count)) if count.is_integer() and count < 2**53 else repr(count)


class DrawRecord(RecordPart):
    """A sample of contexts: how many, with what seed, and the sha256 of the set they are from.

    design  "priority": priority sampling (Duffield et al. 2007), without replacement
    """

    n: int
    seed: int | None = None
    source: str = Field(validation_alias="from", serialization_alias="from")
    design: Literal["priority"] = "priority"


class TopRecord(RecordPart):
    """The most frequent contexts: how many, and the sha256 of the set they are from."""

    n: int
    source: str = Field(validation_alias="from", serialization_alias="from")


class SetMetadata(RecordPart):
    """Where a set comes from; every field is optional.

    strategy        how templates were found; with parser, its version and resolver
    about           whose predicates: "own", people of the topic, or "any" person
    articles        of the corpus, how many were "read", and how many of them "mined"
    damage          what was skipped while reading, by reason
    occurrences     sentences behind the templates
    dropped         candidates that did not become a template, by rule
    min_confidence  links with less confidence were dropped
    confidences     links that were kept, by their confidence
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
    articles: dict[str, int] | None = None
    damage: dict[str, int] = Field(default_factory=dict)
    sentences_parsed: int | None = None
    occurrences: int | None = None
    dropped: dict[str, int] = Field(default_factory=dict)
    near_duplicates_merged: int | None = None
    below_min_count: int | None = None
    note: str | None = None
    min_confidence: float | None = None
    confidences: dict[str, int] | None = None
    drawn: DrawRecord | None = None
    top: TopRecord | None = None


class Sidecar(SetMetadata):
    """A sidecar file: the metadata, and what it says about the content of the set."""

    schema_version: Literal[1] = 1
    name: str = ""
    sha256: str | None = None
    n: int | None = None
    n_eff: float | None = None


@dataclass(frozen=True, repr=False)
class ContextSet:
    """Contexts c with weights w_c = count(c) / sum of counts.

    name       what reports show
    templates  each with [X] and [Y] once; whitespace is collapsed. Or messages, kept as they are
    counts     one positive finite number for each template
    extra      further columns of text, each as long as the templates (predicate, source, …)
    metadata   what the sidecar .json says: corpus, topic, parser, …
    merged     how many repeated templates were merged into their first appearance: counts are
               added, extra columns keep the first value

    The order of the rows changes neither `sha256` nor `draw`.

    >>> said = ContextSet("said", ["The [X] said that [Y]", "The [X] felt that [Y]"], [3, 1])
    >>> said.weights.tolist(), said.n_eff
    ([0.75, 0.25], 1.6)
    """

    name: str
    templates: Sequence[str]
    counts: Sequence[float]
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
    metadata: SetMetadata = field(default_factory=SetMetadata)
    merged: int = field(default=0, compare=False)

    def __post_init__(self) -> None:
        templates = tuple(self.templates)
        counts = tuple(self.counts)
        if not isinstance(self.name, str) or not self.name:
            raise ContextError(f"context set: expected a name, found {self.name!r}")
        where = f"context set {self.name!r}"
        extra = {
            column: _checked_column(column, values, where=where)
            for column, values in self.extra.items()
        }
        if not templates:
            raise ContextError(f"{where}: expected at least one template, found none")
        for label, values in {"counts": counts, **extra}.items():
            if len(values) != len(templates):
                raise ContextError(
                    f"{where}: {label}: expected {len(templates)} values, one for each template, "
                    f"found {len(values)}"
                )
        added: dict[str, float] = {}
        first: list[int] = []
        for row, (template, count) in enumerate(zip(templates, counts, strict=True)):
            cleaned, number = _checked(template, count, row=row, where=where)
            if cleaned not in added:
                first.append(row)
            added[cleaned] = added.get(cleaned, 0.0) + number
        if not math.isfinite(sum(added.values())):
            raise ContextError(
                f"{where}: counts: expected a finite sum, found infinity"
            )
        object.__setattr__(self, "templates", tuple(added))
        object.__setattr__(self, "counts", tuple(added.values()))
        firsts = {
            column: tuple(values[row] for row in first)
            for column, values in extra.items()
        }
        object.__setattr__(self, "extra", firsts)
        object.__setattr__(self, "merged", self.merged + len(templates) - len(added))

    def __len__(self) -> int:
        return len(self.templates)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return (
            f"ContextSet({self.name!r}, {len(self)} contexts, n_eff {self.n_eff:.1f})"
        )

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """A stable name for each context; see `context_ids`."""
        return context_ids(self.templates)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """w_c, in the order of the templates, summing to one."""
        weights = np.array(self.counts)
        weights /= weights.sum()
        weights.flags.writeable = False
        return weights

    @cached_property
    def n_eff(self) -> float:
        """1 / sum of w_c²: how many equally weighted contexts the set is worth."""
        return float(1 / np.square(self.weights).sum())

    @cached_property
    def sha256(self) -> str:
        """Of the lines "template TAB count", in the order of the templates' code points."""
        rows = sorted(zip(self.templates, self.counts, strict=True))
        lines = "".join(
            f"{template}\t{write_count(count)}\n" for template, count in rows
        )
        return hashlib.sha256(lines.encode()).hexdigest()

    def draw(self, n: int, *, seed: int) -> ContextSet:
        """n contexts by weight, without replacement: a priority sample (Duffield et al. 2007).

        The priority of a context is count/u with u uniform between 0 and 1. The n highest are
        taken; those with a count above the next priority keep their count, each of the others
        stands for as much as that priority. With n of at least the number of contexts there is
        nothing to save, and the set itself is returned. With the same seed a larger sample
        contains the smaller one.
        """
        COUNT.check("draw: n", n)
        SEED.check("draw: seed", seed)
        n, seed = int(n), int(seed)  # numpy's too
        if n >= len(self):
            return self
        order = sorted(range(len(self)), key=self.templates.__getitem__)
        counts = np.array(self.counts)
        uniform = 1.0 - np.random.default_rng(seed).random(len(self))  # above 0
        priority = np.empty(len(self))
        priority[order] = counts[order] / uniform
        ranked = np.argsort(-priority, kind="stable")
        rows, cut = np.sort(ranked[:n]), priority[ranked[n]]
        standing_for = np.maximum(counts[rows], cut)
        about = DrawRecord(
            n=n,
            seed=seed,
            source=self.sha256,
            design="priority",
        )
        return self._rows(
            rows.tolist(), counts=standing_for.tolist(), about={"drawn": about}
        )

    def top(self, n: int) -> ContextSet:
        """The n most frequent contexts, most frequent first; ties in alphabetical order."""
        COUNT.check("top: n", n)
        n = int(n)
        order = sorted(
            range(len(self)), key=lambda row: (-self.counts[row], self.templates[row])
        )
        about = TopRecord(n=n, source=self.sha256)
        rows = order[:n]
        return self._rows(
            rows, counts=[self.counts[r] for r in rows], about={"top": about}
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ContextSet:
        """Read a .csv, .csv.gz or .txt file and its sidecar .json, if there is one."""
        return read_set(Path(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .csv or .csv.gz file, then its sidecar .json, each atomically."""
        path = Path(path)
        sidecar = _sidecar(path, shown=os.fspath(path))
        buffer = io.StringIO(newline="")
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([*COLUMNS, *map(no_formula, self.extra)])
        counts = map(write_count, self.counts)
        rows = zip(self.templates, counts, *self.extra.values(), strict=True)
        writer.writerows([no_formula(value) for value in row] for row in rows)
        content = buffer.getvalue().encode()
        if path.suffix == ".gz":
            content = gzip.compress(
                content, mtime=0
            )  # the same content gives the same file
        about = {"schema_version": 1, "name": self.name, "sha256": self.sha256}
        about |= {"n": len(self), "n_eff": self.n_eff, **self.metadata.to_dict()}
        try:
            described = (
                json.dumps(about, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
            )
        except (TypeError, ValueError) as exc:
            raise ContextError(
                f"{sidecar}: the metadata cannot be written as JSON: {exc}"
            ) from exc
        for file, data in ((path, content), (sidecar, described.encode())):
            with output_file(file, error=ContextError) as beside:
                beside.write_bytes(data)

    def _rows(
        self,
        rows: Sequence[int],
        *,
        counts: Sequence[float],
        about: Mapping[str, object],
    ) -> ContextSet:
        return replace(
            self,
            templates=tuple(self.templates[row] for row in rows),
            counts=tuple(counts),
            extra={
                column: tuple(v[row] for row in rows)
                for column, v in self.extra.items()
            },
            metadata=self.metadata.model_copy(update=dict(about)),
        )


def context_ids(texts: Sequence[str]) -> tuple[str, ...]:
    """A stable name for each context: 12 hexadecimal digits of the sha256 of its text.

    Should two texts have the same digits, the later one gets "-2" (then "-3", …).
    """
    seen: dict[str, int] = {}
    ids = []
    for text in texts:
        digits = hashlib.sha256(text.encode()).hexdigest()[:12]
        seen[digits] = number = seen.get(digits, 0) + 1
        ids.append(digits if number == 1 else f"{digits}-{number}")
    return tuple(ids)


def _checked(
    template: object, count: object, *, row: int, where: str
) -> tuple[str, float]:
    if not isinstance(template, str):
        raise ContextError(
            f"{where}: template {row + 1}: expected a text, found {template!r}"
        )
    cleaned = clean_template(template)
    if problem := template_problem(cleaned):
        raise ContextError(f"{where}: template {row + 1}: {problem}")
    where = f"{where}: template {row + 1}: count: expected a number above 0, found"
    try:
        number = (
            float(count) if isinstance(count, (float, int, np.number)) else math.nan
        )
    except OverflowError:
        raise ContextError(f"{where} one of more than 308 digits") from None
    if isinstance(count, bool) or not (math.isfinite(number) and number > 0):
        raise ContextError(f"{where} {count!r}")
    return cleaned, number


def _checked_column(
    column: str, values: Sequence[str], *, where: str
) -> tuple[str, ...]:
    if column in COLUMNS or not column.strip():
        raise ContextError(
            f"{where}: extra: expected a new column name, found {column!r}"
        )
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise ContextError(f"{where}: extra.{column}: expected a list of texts")
    return tuple(" ".join(value.split()) for value in values)


def read_set(path: Path, *, shown: str | None = None) -> ContextSet:
    """Read a .csv, .csv.gz or .txt file and its sidecar; `shown` begins every error message."""
    shown = shown or os.fspath(path)
    sidecar = _sidecar(path, shown=shown, endings=READ)
    content = read_text(path, shown=shown, kind=".csv or .txt", error=ContextError)
    rows = _lines(content) if path.suffix == ".txt" else _rows(content, shown=shown)
    columns: dict[str, list[str]] = {column: [] for column in next(rows)[1]}
    lines, counts = [], []
    for line, row in rows:
        lines.append(line)
        for cells, text in zip(columns.values(), row, strict=True):
            cells.append(without_quote(text))
        said = columns["count"][-1] if "count" in columns else "1"
        if (count := _count(said)) is None:
            raise ContextError(
                f"{shown}: line {line}: count: expected a number above 0, found {said[:40]!r}"
            )
        counts.append(count)
    templates, extra = (
        columns["template"],
        {c: v for c, v in columns.items() if c not in COLUMNS},
    )
    if not templates:
        raise ContextError(f"{shown}: expected at least one template, found none")
    numeric = [c for c, values in extra.items() if all(map(_count, values))]
    if "count" not in columns and numeric:
        raise ContextError(
            f"{shown}: expected a column count beside numbers, found {numeric[0]}; rename it to "
            "count, or add a column count of 1 if it is something else"
        )
    about = Sidecar()
    if sidecar.exists():
        with reading(sidecar, ContextError):
            data = read_bytes(sidecar, most=MOST_RECORD)
        about = Sidecar.from_json(data, sidecar, error=ContextError)
    of_content = Sidecar.model_fields.keys() - SetMetadata.model_fields.keys()
    metadata = SetMetadata(
        **{k: v for k, v in about.to_dict().items() if k not in of_content}
    )
    try:
        contexts = ContextSet(
            about.name or sidecar.stem, templates, counts, extra, metadata
        )
    except ContextError as exc:
        # The set checks its templates; only a failure is traced back to its line.
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


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """The same as `_rows` of a text with one template per line."""
    yield 0, ["template"]
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, [line]


def _rows(text: str, *, shown: str) -> Iterator[tuple[int, list[str]]]:
    """The header, then every row that is not blank, each with the line it begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    next_line = 1
    try:
        for row in reader:
            line, next_line = next_line, reader.line_num + 1
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
    except csv.Error as exc:
        raise ContextError(f"{shown}: line {next_line}: not valid CSV: {exc}") from exc
    if not header:
        raise ContextError(f"{shown}: expected a column template, found an empty file")


def _header(row: list[str], *, where: str) -> list[str]:
    header = [without_quote(column.strip()) for column in row]
    if "count" not in header:
        header = ["count" if column in _AS_COUNT else column for column in header]
    try:
        check_columns(header)
    except ValueError as error:
        raise ContextError(f"{where}: {error}") from error
    if "template" not in header:
        raise ContextError(
            f"{where}: expected the columns template and (if known) count, found "
            f"{', '.join(header)}; rename the column that holds the template to template, or put "
            "one sentence on each line of a .txt file"
        )
    if "" in header:
        raise ContextError(
            f"{where}: expected a name for every column, found none for one"
        )
    return header


def _count(text: str) -> float | None:
    """The number, or None if it is not a finite number above 0."""
    count = float(text) if is_number(text) and "_" not in text else 0.0
    return count if count > 0 else None


def _sidecar(path: Path, *, shown: str, endings: tuple[str, ...] = WRITTEN) -> Path:
    for ending in endings:
        if path.name.endswith(ending) and path.name != ending:
            return path.with_name(path.name.removesuffix(ending) + ".json")
    raise ContextError(f"{shown}: expected a file that ends in {' or '.join(endings)}")
