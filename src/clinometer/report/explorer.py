"""What the explorer shows of a run, as JSON: names and sentences, and columns of numbers.

`assets/explorer.js` reads it, fetched from the viewer or held by an interactive page. Columns are
little-endian typed arrays in base64: 240,000 shares take a megabyte, and a browser has them in a
moment.
"""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.display.text import brief, plain, proper, visible
from clinometer.report.cell_statistics import is_answered
from clinometer.report.figures.distances import distances
from clinometer.report.summary import RunSummary
from clinometer.runs import Run
from clinometer.runs.folder.cells import cell_words
from clinometer.runs.folder.record import find_topic
from clinometer.runs.names import context_noun, groups_noun
from clinometer.topics.prompt import english_article

MISSING = 65535
"""A missing share; shares run from 0 to one less."""

_MISSING_STRENGTH = 255
"""A missing strength; strengths run from 0 to one less."""

_WORST = 50
"""Sentences on the list of the strongest."""

_LONGEST = 4000
"""Characters of a label; longer ones are cut."""


def explorer_data(summary: RunSummary, *, words: int = 0) -> str:
    """Return the JSON. `words`: for how many of the strongest answers it holds the words too (0 for
    a page that can ask a server for them)."""
    worst = worst_cells(summary)
    content = {
        **_about(summary),
        "worst": worst,
        "compared": int((~np.isnan(summary.cells.trusted)).sum()),
        "words": {
            f"{x},{c}": answer_words(summary.run, x, c) for x, c, _ in worst[:words]
        },
        "columns": {name: _packed(array) for name, array in _columns(summary).items()},
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def worst_cells(summary: RunSummary, n: int = _WORST) -> list[tuple[int, int, float]]:
    """Return (group, context, strength) of the strongest answers, each sentence once; answers whose
    words carry hardly any probability come last."""
    cells = summary.cells
    strength = np.where(cells.cell_weights > 0, cells.strength, np.nan)
    score = np.nan_to_num(strength, nan=-1.0) - 2.0 * np.isnan(cells.trusted)
    strongest = cells.ordered(score, 10 * n)
    answered = (cell for cell in strongest if not np.isnan(strength[cell]))
    return [
        (*cell, round(float(strength[cell]), 4))
        for cell in cells.one_a_sentence(answered, n)
    ]


def answer_words(run: Run, x: int, c: int) -> list[tuple[str, float, list[int]]]:
    """Return the words of one answer: (word, probability, categories), the likeliest first."""
    index = {name: y for y, name in enumerate(run.preferences.categories)}
    words = []
    for word in cell_words(run, x, c):
        if word.probability > 0:
            categories = [index[name] for name in word.categories if name in index]
            words.append((visible(word.word), word.probability, categories))
    return words


def _columns(summary: RunSummary) -> dict[str, NDArray[Any]]:
    """Return the numbers of groups, contexts and cells by the names that the explorer reads."""
    run = summary.run
    cells = summary.cells
    report = run.risks
    p = run.preferences
    columns: dict[str, NDArray[Any]] = {
        "share": cells.share,
        "low": cells.share_range[0],
        "high": cells.share_range[1],
        "favoured": np.where(cells.side < 0, 255, cells.side).astype("<u1"),
        "clear": cells.clear.astype("<u1"),
        "context_mean": cells.context_mean,
        "influence": p.influence(),
        "faint": np.packbits(p.low_coverage.ravel(), bitorder="little"),
        "strength": _quantised(cells.depth, _MISSING_STRENGTH, "<u1"),
        "p": _quantised(p.values[:, :, :-1], MISSING, "<u2"),
    }
    if run.outcome.chart == "distances":
        by_group = distances(run).set_index("group").reindex(list(p.groups))
        for name in ("away", "away_low", "away_high"):
            columns[name] = by_group[name].to_numpy()
        reference = np.broadcast_to(p.grid.reference, p.values.shape)
        columns["mean_share"] = reference[0].astype(float)
    for name in ("r", "r_bias", "r_volatility"):
        columns[name] = getattr(report, name)
        if report.intervals is not None:
            columns[f"{name}_ends"] = getattr(report.intervals, name)
    return columns


def _about(summary: RunSummary) -> dict[str, Any]:
    """Return everything but the columns."""
    run = summary.run
    p = run.preferences
    names = run.outcome.end_names or [proper(visible(name)) for name in p.categories]
    written = [_written(run, group) for group in p.groups]
    return {
        "model": visible(summary.opened.name),
        "state": summary.opened.state,
        "noun": groups_noun(run),
        "context": context_noun(run),
        "asked": is_answered(run),
        "points": list(run.risks.criterion.points),
        "unit": run.outcome.unit.name,
        "decides": run.outcome.coloured,
        "categories": list(names),
        "reference": _reference(run),
        "groups": [proper(brief(group, _LONGEST)) for group in p.groups],
        "texts": [visible(text) for text, _ in written],
        "articles": [article for _, article in written],
        "contexts": [brief(context, _LONGEST) for context in p.contexts],
        "templates": [visible(template) for template in p.templates or p.contexts],
    }


def _written(run: Run, group: str) -> tuple[str, str | None]:
    """Return a group as sentences name it, and its article; None where it has none."""
    topic = find_topic(run.record)
    if topic is not None and group in topic.group_names:
        return topic.written(group)
    is_english = run.record.topic.language.lower().startswith("en")
    return group, english_article(group) if is_english else None


def _reference(run: Run) -> Any:
    """Return the shares from which leans are measured; even ones where contexts have their own."""
    p = run.preferences
    if p.reference is None or np.asarray(p.reference).ndim != 1:
        return [1 / len(p.categories)] * len(p.categories)
    return plain(p.reference)


def _quantised(values: NDArray[np.float64], missing: int, kind: str) -> NDArray[Any]:
    """Return values from 0 to 1 as whole numbers below `missing`, which stands for NaN."""
    levels = np.rint(np.clip(np.nan_to_num(values), 0, 1) * (missing - 1))
    return np.where(np.isnan(values), missing, levels).astype(kind)


def _packed(values: NDArray[Any]) -> dict[str, str]:
    """Return an array as its type and its bytes in base64."""
    column = values.astype("<f4") if values.dtype.kind == "f" else values
    data = np.ascontiguousarray(column).tobytes()
    return {
        "type": f"{column.dtype.kind}{column.dtype.itemsize}",
        "data": base64.b64encode(data).decode(),
    }
