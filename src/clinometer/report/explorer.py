"""What the explorer shows of a run, as JSON: names and sentences, and columns of numbers.

`assets/explorer.js` reads it, fetched from the viewer or held by an interactive report. Columns are
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
from clinometer.report.cell_statistics import RunSummary, is_answered
from clinometer.report.figures import decision, distances, measured_from_mean, unit_of
from clinometer.runs import Run
from clinometer.runs.folder.record import find_topic
from clinometer.runs.folder.recover import cell_words
from clinometer.runs.nouns import context_noun, noun_of
from clinometer.topics.prompt import english_article

#: A missing share; shares run from 0 to one less.
MISSING = 65535
_WORST = 50  # sentences on the list of the strongest
_LONGEST = 4000  # characters of a label; longer ones are cut


def explorer_data(summary: RunSummary, *, words: int = 0) -> str:
    """The JSON. `words`: for how many of the strongest answers it holds the words too (0 for a page
    that can ask a server for them)."""
    run, cells = summary.run, summary.cells
    report, p = run.risks, run.preferences
    worst = worst_cells(summary)
    columns: dict[str, NDArray[Any]] = {
        "share": cells.share,
        "low": cells.share_range[0],
        "high": cells.share_range[1],
        "favoured": np.where(cells.side < 0, 255, cells.side).astype("<u1"),
        "clear": cells.clear.astype("<u1"),
        "context_mean": cells.context_mean,
        "influence": p.influence(),
        "faint": np.packbits(p.low_coverage.ravel(), bitorder="little"),
        "strength": _quantised(cells.depth, 255, "<u1"),
        "p": _quantised(p.values[:, :, :-1], MISSING, "<u2"),
    }
    if measured_from_mean(run):
        away = distances(run).set_index("group").reindex(list(p.groups))
        for name in ("share", "mean_low", "mean_high"):
            columns[name.replace("mean", "away").replace("share", "away")] = away[name].to_numpy()
        star = np.broadcast_to(p.grid.reference, p.values.shape)[0]
        columns["mean_share"] = star.astype(float)
    for name in ("r", "r_bias", "r_volatility"):
        columns[name] = getattr(report, name)
        if report.intervals is not None:
            columns[f"{name}_ends"] = getattr(report.intervals, name)
    content = {
        **_about(summary),
        "worst": worst,
        "compared": int((~np.isnan(cells.trusted)).sum()),
        "words": {f"{x},{c}": answer_words(run, x, c) for x, c, _ in worst[:words]},
        "columns": {name: _packed(values) for name, values in columns.items()},
    }
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def worst_cells(summary: RunSummary, n: int = _WORST) -> list[tuple[int, int, float]]:
    """(group, context, strength) of the strongest answers, each sentence once; answers whose words
    carry hardly any probability come last."""
    cells = summary.cells
    strength = np.where(cells.cell_weights > 0, cells.strength, np.nan)
    score = np.nan_to_num(strength, nan=-1.0) - 2.0 * np.isnan(cells.trusted)
    answered = (cell for cell in cells.ordered(score, 10 * n) if not np.isnan(strength[cell]))
    return [(*cell, round(float(strength[cell]), 4)) for cell in cells.one_a_sentence(answered, n)]


def answer_words(run: Run, x: int, c: int) -> list[tuple[str, float, list[int]]]:
    """The words of one answer: (word, probability, categories), the likeliest first."""
    categories = run.preferences.categories
    return [
        (
            visible(w.word),
            w.probability,
            [categories.index(k) for k in w.categories if k in categories],
        )
        for w in cell_words(run, x, c)
        if w.probability > 0
    ]


def _about(summary: RunSummary) -> dict[str, Any]:
    """Everything but the columns."""
    run = summary.run
    p = run.preferences
    topic = find_topic(run.record)
    english = run.record.topic.language.lower().startswith("en")
    texts, articles = [], []
    for group in p.groups:
        if topic is not None and group in topic.group_names:
            text, article = topic.written(group)
        else:
            text, article = group, english_article(group) if english else None
        texts.append(visible(text))
        articles.append(article)
    even = p.reference is None or np.asarray(p.reference).ndim != 1
    return {
        "model": visible(summary.opened.name),
        "state": summary.opened.state,
        "noun": noun_of(run)[0],
        "context": context_noun(run),
        "asked": is_answered(run),
        "points": list(run.risks.criterion.points),
        "unit": unit_of(run),
        "decides": decision(run),
        "categories": ["lower", "higher"]
        if run.risks.criterion.points
        else [proper(visible(c)) for c in p.categories],
        "reference": [1 / len(p.categories)] * len(p.categories) if even else plain(p.reference),
        "groups": [proper(brief(g, _LONGEST)) for g in p.groups],
        "texts": texts,
        "articles": articles,
        "contexts": [brief(c, _LONGEST) for c in p.contexts],
        "templates": [visible(t) for t in (p.templates or p.contexts)],
    }


def _quantised(values: NDArray[np.float64], missing: int, kind: str) -> NDArray[Any]:
    levels = np.rint(np.clip(np.nan_to_num(values), 0, 1) * (missing - 1))
    return np.where(np.isnan(values), missing, levels).astype(kind)


def _packed(values: NDArray[Any]) -> dict[str, str]:
    column = values.astype("<f4") if values.dtype.kind == "f" else values
    return {
        "type": f"{column.dtype.kind}{column.dtype.itemsize}",
        "data": base64.b64encode(np.ascontiguousarray(column).tobytes()).decode(),
    }
