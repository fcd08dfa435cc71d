"""A context set: templates, and how often each was seen."""

from __future__ import annotations

import hashlib
import math
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from clinometer.contexts import files
from clinometer.contexts.files import DrawRecord, SetMetadata, TopRecord
from clinometer.contexts.template import clean_template, template_problem, write_count
from clinometer.display.notebook import titled_html
from clinometer.errors import ContextError

if TYPE_CHECKING:
    from clinometer.measure.correction import Sampling


@dataclass(frozen=True, repr=False)
class ContextSet:
    """Contexts c with weights w_c = count(c) / sum of counts.

    name       what reports show
    templates  each with [X] and [Y] once; whitespace is collapsed
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
            raise ContextError(f"{where}: counts: expected a finite sum, found infinity")
        object.__setattr__(self, "templates", tuple(added))
        object.__setattr__(self, "counts", tuple(added.values()))
        kept = {column: tuple(values[row] for row in first) for column, values in extra.items()}
        object.__setattr__(self, "extra", kept)
        object.__setattr__(self, "merged", self.merged + len(templates) - len(added))

    def __len__(self) -> int:
        return len(self.templates)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __repr__(self) -> str:
        return f"ContextSet({self.name!r}, {len(self)} contexts, n_eff {self.n_eff:.1f})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the most frequent contexts."""
        order = sorted(range(len(self)), key=lambda row: -self.counts[row])
        rows = [[self.templates[row], f"{self.weights[row]:.2%}"] for row in order]
        note = f"{len(self):,} contexts, {self.n_eff:,.1f} effective"
        return titled_html(f"Contexts {self.name}", ["template", "weight"], rows, note)

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
        lines = "".join(f"{template}\t{write_count(count)}\n" for template, count in rows)
        return hashlib.sha256(lines.encode()).hexdigest()

    def draw(self, n: int, *, seed: int | np.random.Generator) -> ContextSet:
        """n contexts by weight, without replacement: a priority sample (Duffield et al. 2007).

        The priority of a context is count/u with u uniform between 0 and 1. The n highest are
        taken; those with a count above the next priority keep their count, each of the others
        stands for as much as that priority. With n of at least the number of contexts there is
        nothing to save, and the set itself is returned. With the same integer seed a larger
        sample contains the smaller one.
        """
        n = _number(n, where="draw")
        if n >= len(self):
            return self
        order = sorted(range(len(self)), key=self.templates.__getitem__)
        counts = np.array(self.counts)
        try:
            uniform = 1.0 - np.random.default_rng(seed).random(len(self))  # above 0
        except (TypeError, ValueError) as exc:
            raise ContextError(f"seed: expected a valid seed, found {seed!r}: {exc}") from exc
        priority = np.empty(len(self))
        priority[order] = counts[order] / uniform
        ranked = np.argsort(-priority, kind="stable")
        rows, cut = np.sort(ranked[:n]), priority[ranked[n]]
        standing_for = np.maximum(counts[rows], cut)
        # Of values that vary alike in all contexts the error has this times their variance.
        moved = -self.weights
        moved[rows] += standing_for / standing_for.sum()
        noise = np.square(moved).sum()
        about = DrawRecord(
            n=n,
            seed=seed if isinstance(seed, int) else None,
            source=self.sha256,
            design="priority",
            noise=float(noise),
            corpus_noise=self.sampling.corpus_noise,
        )
        kept = rows.tolist()
        return self._rows(kept, counts=standing_for.tolist(), about={"drawn": about})

    @cached_property
    def sampling(self) -> Sampling:
        """What the set is a sample of. Occurrences in one article are one draw of the corpus,
        where a column `articles` or the sidecar says in how many articles it was seen."""
        if self.metadata.drawn is not None:
            return self.metadata.drawn.sampling
        articles = _whole_numbers(self.extra.get("articles", ()))
        known = self.metadata.articles_by_context
        if articles is None and known and all(id in known for id in self.ids):
            articles = np.array([max(1.0, len(set(known[id]))) for id in self.ids])
        from clinometer.measure.correction import Sampling  # loads scipy

        return Sampling.of_counts(np.array(self.counts), articles)

    def top(self, n: int) -> ContextSet:
        """The n most frequent contexts, most frequent first; ties in alphabetical order."""
        n = _number(n, where="top")
        order = sorted(range(len(self)), key=lambda row: (-self.counts[row], self.templates[row]))
        about = TopRecord(n=n, source=self.sha256)
        rows = order[:n]
        return self._rows(rows, counts=[self.counts[r] for r in rows], about={"top": about})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ContextSet:
        """Read a .csv or .csv.gz file and its sidecar .json, if there is one."""
        return files.read(Path(path), cls)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a .csv or .csv.gz file and its sidecar .json, each atomically."""
        files.write(self, Path(path))

    def _rows(
        self, rows: Sequence[int], *, counts: Sequence[float], about: Mapping[str, object]
    ) -> ContextSet:
        return replace(
            self,
            templates=tuple(self.templates[row] for row in rows),
            counts=tuple(counts),
            extra={column: tuple(v[row] for row in rows) for column, v in self.extra.items()},
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


def _checked(template: object, count: object, *, row: int, where: str) -> tuple[str, float]:
    if not isinstance(template, str):
        raise ContextError(f"{where}: template {row + 1}: expected a text, found {template!r}")
    cleaned = clean_template(template)
    if problem := template_problem(cleaned):
        raise ContextError(f"{where}: template {row + 1}: {problem}")
    number = float(count) if isinstance(count, (float, int, np.number)) else math.nan
    if isinstance(count, bool) or not (math.isfinite(number) and number > 0):
        raise ContextError(
            f"{where}: template {row + 1}: count: expected a number above 0, found {count!r}"
        )
    return cleaned, number


def _checked_column(column: str, values: Sequence[str], *, where: str) -> tuple[str, ...]:
    if column in ("template", "count") or not column.strip():
        raise ContextError(f"{where}: extra: expected a new column name, found {column!r}")
    if isinstance(values, str) or not all(isinstance(value, str) for value in values):
        raise ContextError(f"{where}: extra.{column}: expected a list of texts")
    return tuple(clean_template(value) for value in values)


def _whole_numbers(column: Sequence[str]) -> NDArray[np.float64] | None:
    """A column of whole numbers above 0 as numbers; None where it is not one."""
    if not column or not all(text.isdecimal() and int(text) > 0 for text in column):
        return None
    return np.array([float(text) for text in column])


def _number(n: int, *, where: str) -> int:
    try:
        number = operator.index(n)
    except TypeError:
        number = 0
    if number < 1 or isinstance(n, bool):
        raise ContextError(f"{where}: n: expected a whole number of at least 1, found {n!r}")
    return number
