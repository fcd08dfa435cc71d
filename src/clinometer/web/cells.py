"""From a group to its contexts, from a cell to its words: the last steps of the drill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clinometer.errors import ClinometerError
from clinometer.report.derived import Reading
from clinometer.runs import Run
from clinometer.runs.folder.partial import CellWord, cell_prompt, cell_words


@dataclass(frozen=True)
class CellPage:
    """One answer of a model.

    before, after   the text around the slot; exact says whether it is the very text asked
    preferences     (category, p, reference, words) of each category
    words           every word with its probability, [] where the run did not store them
    """

    before: str
    after: str
    exact: bool
    flag: str
    coverage: float | None
    preferences: list[dict[str, Any]]
    words: list[CellWord]


def group_rows(reading: Reading, x: int) -> list[dict[str, Any]]:
    """Every context of one group."""
    run = reading.run
    return [
        {**_cell(reading, x, c), "sentence": " ".join(_sentence(run, x, c)), "weight": float(w)}
        for c, w in enumerate(reading.cell_weights[x])
    ]


def context_rows(reading: Reading, c: int) -> list[dict[str, Any]]:
    """Every group in one context."""
    groups = reading.run.preferences.groups
    return [{**_cell(reading, x, c), "group": group} for x, group in enumerate(groups)]


def cell_page(run: Run, x: int, c: int) -> CellPage:
    p = run.preferences
    values = p.values[x, c]
    words = cell_words(run, x, c)
    before, after = _sentence(run, x, c)
    reference = _reference(run, x, c)
    return CellPage(
        before=before,
        after=after,
        exact=_exact(run, x, c),
        flag=str(p.flags()[x, c]),
        coverage=None if p.coverage is None else _number(p.coverage[x, c]),
        preferences=[
            {
                "category": category,
                "p": _number(values[y]),
                "reference": float(reference[y]),
                "words": sum(category in w.categories for w in words),
            }
            for y, category in enumerate(p.categories)
        ],
        words=words,
    )


def _cell(reading: Reading, x: int, c: int) -> dict[str, Any]:
    p = reading.run.preferences
    j = _number(reading.strength[x, c])
    return {
        "context": p.contexts[c],
        "strength": j,
        "favours": None if not j else p.categories[int(reading.favoured[x, c])],
        "p": [_number(v) for v in p.values[x, c]],
        "coverage": None if p.coverage is None else _number(p.coverage[x, c]),
        "flag": "missing" if j is None else "low-coverage" if _low(reading, x, c) else "ok",
    }


def _low(reading: Reading, x: int, c: int) -> bool:
    p = reading.run.preferences
    return p.coverage is not None and bool(p.coverage[x, c] < p.coverage_threshold)


def _template(run: Run, c: int) -> str:
    return (run.preferences.templates or run.preferences.contexts)[c]


def _sentence(run: Run, x: int, c: int) -> tuple[str, str]:
    try:
        prompt, _ = cell_prompt(run, run.preferences.groups[x], _template(run, c))
    except ClinometerError:
        return _template(run, c), ""
    return prompt.before, prompt.after


def _exact(run: Run, x: int, c: int) -> bool:
    try:
        return cell_prompt(run, run.preferences.groups[x], _template(run, c))[1]
    except ClinometerError:
        return False


def _reference(run: Run, x: int, c: int) -> Any:
    p = run.preferences
    if p.reference is None:
        return np.full(len(p.categories), 1 / len(p.categories))
    shape = p.reference.shape
    return (
        p.reference if len(shape) == 1 else p.reference[x] if len(shape) == 2 else p.reference[x, c]
    )


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None
