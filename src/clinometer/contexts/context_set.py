"""A context set: templates with the slots [X] and [Y], and how often each was seen."""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from clinometer.contexts.metadata import DrawRecord, SetMetadata, TopRecord
from clinometer.contexts.set_file import (
    COLUMNS,
    READ,
    read_sidecar,
    read_table,
    sidecar_of,
    write_count,
    write_set,
)
from clinometer.contexts.template import (
    clean_template,
    context_ids,
    template_problem,
)
from clinometer.errors import ContextError
from clinometer.settings import COUNT, SEED


@dataclass(frozen=True, repr=False)
class ContextSet:
    """Contexts c with weights w_c = count(c) / sum of counts.

    The order of the rows changes neither `sha256` nor `draw`.

    >>> said = ContextSet("said", ["The [X] said that [Y]", "The [X] felt that [Y]"], [3, 1])
    >>> said.weights.tolist(), said.n_eff
    ([0.75, 0.25], 1.6)
    """

    name: str
    """What reports show."""

    templates: Sequence[str]
    """Each with [X] and [Y] once; whitespace is collapsed. Or messages, as they are."""

    counts: Sequence[float]
    """One positive finite number for each template."""

    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further columns of text, each as long as the templates (predicate, source, …)."""

    metadata: SetMetadata = field(default_factory=SetMetadata)
    """What the sidecar .json says: corpus, topic, parser, …"""

    merged: int = field(default=0, compare=False)
    """How many repeated templates were merged into their first appearance.

    Counts are added, extra columns keep the first value.
    """

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ContextError(f"context set: expected a name, found {self.name!r}")
        place = f"context set {self.name!r}"
        templates = tuple(self.templates)
        counts = tuple(self.counts)
        extra = {
            column: _checked_column(column, values, place=place)
            for column, values in self.extra.items()
        }
        if not templates:
            raise ContextError(f"{place}: expected at least one template, found none")
        _check_lengths(len(templates), {"counts": counts, **extra}, place=place)
        sums: dict[str, float] = {}
        first_rows: list[int] = []
        for row, (template, count) in enumerate(zip(templates, counts, strict=True)):
            row_name = f"{place}: template {row + 1}"
            cleaned = _checked_template(template, place=row_name)
            number = _checked_count(count, place=row_name)
            if cleaned not in sums:
                first_rows.append(row)
                sums[cleaned] = 0.0
            sums[cleaned] += number
        if not math.isfinite(sum(sums.values())):
            raise ContextError(
                f"{place}: counts: expected a finite sum, found infinity"
            )
        merged_extra = {
            column: tuple(values[row] for row in first_rows)
            for column, values in extra.items()
        }
        merged = self.merged + len(templates) - len(sums)
        object.__setattr__(self, "templates", tuple(sums))
        object.__setattr__(self, "counts", tuple(sums.values()))
        object.__setattr__(self, "extra", merged_extra)
        object.__setattr__(self, "merged", merged)

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
        """The hash of the lines "template TAB count", in the order of the code points."""
        rows = sorted(zip(self.templates, self.counts, strict=True))
        lines = [f"{template}\t{write_count(count)}\n" for template, count in rows]
        return hashlib.sha256("".join(lines).encode()).hexdigest()

    def draw(self, n: int, *, seed: int) -> ContextSet:
        """Return n contexts by weight, without replacement, as a priority sample.

        See Duffield et al. 2007. The priority of a context is count/u with u uniform between 0 and
        1. The n highest are taken; those with a count above the next priority keep their count,
        each of the others stands for as much as that priority. With n of at least the number of
        contexts there is nothing to save, and the set itself is returned. With the same seed a
        larger sample contains the smaller one.
        """
        COUNT.check("draw: n", n)
        SEED.check("draw: seed", seed)
        n = int(n)  # numpy's integers too
        seed = int(seed)
        if n >= len(self):
            return self
        counts = np.array(self.counts)
        priority = counts / self._uniform(seed)
        ranked = np.argsort(-priority, kind="stable")
        rows = np.sort(ranked[:n])
        next_priority = priority[ranked[n]]
        standing_for = np.maximum(counts[rows], next_priority)
        drawn = DrawRecord(n=n, seed=seed, source=self.sha256, design="priority")
        return self._rows(
            rows.tolist(), counts=standing_for.tolist(), about={"drawn": drawn}
        )

    def _uniform(self, seed: int) -> NDArray[np.float64]:
        """Return a number above 0, at most 1, for each context, whatever the order of the rows."""
        alphabetical = sorted(range(len(self)), key=self.templates.__getitem__)
        uniform = np.empty(len(self))
        uniform[alphabetical] = 1.0 - np.random.default_rng(seed).random(len(self))
        return uniform

    def top(self, n: int) -> ContextSet:
        """Return the n most frequent contexts, most frequent first; ties in alphabetical order."""
        COUNT.check("top: n", n)
        n = int(n)
        order = sorted(
            range(len(self)), key=lambda row: (-self.counts[row], self.templates[row])
        )
        rows = order[:n]
        counts = [self.counts[row] for row in rows]
        top = TopRecord(n=n, source=self.sha256)
        return self._rows(rows, counts=counts, about={"top": top})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ContextSet:
        """Read a .csv, .csv.gz or .txt file and its sidecar .json, if there is one."""
        return read_set(Path(path))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .csv or .csv.gz file, then its sidecar .json, each atomically."""
        path = Path(path)
        sidecar = sidecar_of(path, label=os.fspath(path))
        columns = {
            "template": self.templates,
            "count": [write_count(count) for count in self.counts],
            **self.extra,
        }
        about = {
            "schema_version": 1,
            "name": self.name,
            "sha256": self.sha256,
            "n": len(self),
            "n_eff": self.n_eff,
            **self.metadata.to_dict(),
        }
        write_set(path, sidecar, columns=columns, about=about)

    def _rows(
        self,
        rows: Sequence[int],
        *,
        counts: Sequence[float],
        about: Mapping[str, object],
    ) -> ContextSet:
        """Return the set of these rows, with other counts and what is to be said about it."""
        return replace(
            self,
            templates=tuple(self.templates[row] for row in rows),
            counts=tuple(counts),
            extra={
                column: tuple(values[row] for row in rows)
                for column, values in self.extra.items()
            },
            metadata=self.metadata.model_copy(update=dict(about)),
        )


def _check_lengths(n: int, columns: Mapping[str, Sequence[object]], place: str) -> None:
    for label, values in columns.items():
        if len(values) != n:
            raise ContextError(
                f"{place}: {label}: expected {n} values, one for each template, "
                f"found {len(values)}"
            )


def _checked_template(template: object, *, place: str) -> str:
    """Return a template, cleaned; one without its slots is refused."""
    if not isinstance(template, str):
        raise ContextError(f"{place}: expected a text, found {template!r}")
    cleaned = clean_template(template)
    problem = template_problem(cleaned)
    if problem is not None:
        raise ContextError(f"{place}: {problem}")
    return cleaned


def _checked_count(count: object, *, place: str) -> float:
    """Return a count as a float; what is not a finite number above 0 is refused."""
    expected = f"{place}: count: expected a number above 0, found"
    number = math.nan
    if isinstance(count, (float, int, np.number)):
        try:
            number = float(count)
        except OverflowError:
            raise ContextError(f"{expected} one of more than 308 digits") from None
    if isinstance(count, bool) or not (math.isfinite(number) and number > 0):
        raise ContextError(f"{expected} {count!r}")
    return number


def _checked_column(
    column: str, values: Sequence[str], *, place: str
) -> tuple[str, ...]:
    """Return a further column with single spaces; what is not a list of texts is refused."""
    if column in COLUMNS or not column.strip():
        raise ContextError(
            f"{place}: extra: expected a new column name, found {column!r}"
        )
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise ContextError(f"{place}: extra.{column}: expected a list of texts")
    return tuple(" ".join(value.split()) for value in values)


def read_set(path: Path, *, label: str | None = None) -> ContextSet:
    """Read a .csv, .csv.gz or .txt file and its sidecar; `label` begins every error message."""
    label = label or os.fspath(path)
    sidecar = sidecar_of(path, label=label, endings=READ)
    table = read_table(path, label=label)
    about = read_sidecar(sidecar)
    try:
        contexts = ContextSet(
            about.name or sidecar.stem,
            table.templates,
            table.counts,
            table.extra,
            about.metadata(),
        )
    except ContextError as exc:
        # The set checks its templates; only a failure is traced back to its line.
        for line, template in zip(table.lines, table.templates, strict=True):
            problem = template_problem(clean_template(template))
            if problem is not None:
                raise ContextError(f"{label}: line {line}: {problem}") from exc
        raise ContextError(f"{label}: {exc}") from exc
    if about.sha256 not in (None, contexts.sha256):
        raise ContextError(
            f"{label}: the content does not match {sidecar.name} (sha256 differs); "
            f"restore it, or remove sha256 from {sidecar.name} if the change is intended"
        )
    return contexts
