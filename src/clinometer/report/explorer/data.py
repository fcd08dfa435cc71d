"""One file per run for the explorer: columns, quantised, the small ones first.

    "CLV1"   4 bytes
    length   of the header, unsigned 32 bits, little endian
    header   JSON; `arrays` names each column with its type, shape and byte offset
    columns  little endian, each at a multiple of 8 bytes from the start of the file

Preferences come last, group by group, as 16-bit shares: a page draws what it has while the rest is
fetched in ranges. `static/data.js` reads it.
"""

from __future__ import annotations

import json
import math
import re
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.display.text import plain, visible
from clinometer.errors import ClinometerError
from clinometer.report.charts.style import brief
from clinometer.report.derived import context_weights
from clinometer.report.summary.examples import sentence
from clinometer.report.summary.headline import noun_of
from clinometer.report.summary.screen import RunSummary, chips, lede
from clinometer.runs import Run
from clinometer.runs.folder.recover import cell_prompt, cell_words, find_topic
from clinometer.topics.prompt import Articles

# --- One file per run for the explorer: columns, quantised, the small ones first -----------------


MAGIC = b"CLV1"
#: A missing share; shares run from 0 to one less.
MISSING = 65535
WORST = 50
_LONGEST = 4000  # characters of a label; longer ones are cut
_TYPES = {"f4": "f32", "u2": "u16", "u1": "u8"}


def view_file(summary: RunSummary, *, words: int = 0) -> bytes:
    """The file. `words`: how many of the worst sentences to include with their words (0 for a page
    that can query a server)."""
    run, leans, reading = summary.run, summary.leans, summary.reading
    report, p = run.risks, run.preferences
    worst = worst_cells(summary)
    ends = report.intervals
    columns: dict[str, NDArray[Any]] = {
        "share": _f4(leans.share),
        "low": _f4(leans.low),
        "high": _f4(leans.high),
        "favoured": np.where(leans.favoured < 0, 255, leans.favoured).astype("<u1"),
        "clear": leans.clear.astype("<u1"),
        "context_weight": _f4(context_weights(run)),
        "context_mean": _f4(reading.context_mean),
        "influence": _f4(p.influence(**report.scaling)),
    }
    for name in ("r", "r_bias", "r_volatility"):
        columns[name] = _f4(getattr(report, name))
        if ends is not None:
            columns[f"{name}_ends"] = _f4(getattr(ends, name))
    columns["faint"] = np.packbits(p.low_coverage.ravel(), bitorder="little")
    columns["strength"] = _quantised(_depth(summary), 255, "<u1")
    columns["p"] = _quantised(p.values[:, :, :-1], MISSING, "<u2")
    header = {
        **_about(summary),
        "worst": worst,
        "words": {f"{x},{c}": cell_answer(run, x, c)["words"] for x, c, _ in worst[:words]},
    }
    return _packed(header, columns)


def worst_cells(summary: RunSummary, n: int = WORST) -> list[tuple[int, int, float]]:
    """(group, context, strength) of the strongest answers, each sentence once; answers whose words
    carry hardly any probability come last."""
    run = summary.run
    strength = np.where(summary.reading.cell_weights > 0, summary.reading.strength, np.nan)
    faint = run.preferences.low_coverage
    score = np.nan_to_num(strength, nan=-1.0) - 2.0 * faint
    found: list[tuple[int, int, float]] = []
    seen: set[tuple[str, str]] = set()
    for at in np.argsort(-score, axis=None, kind="stable")[: 10 * n]:
        x, c = (int(i) for i in np.unravel_index(at, score.shape))
        if np.isnan(strength[x, c]) or len(found) == n:
            continue
        text = sentence(run, x, c)
        if text not in seen:
            seen.add(text)
            found.append((x, c, round(float(strength[x, c]), 4)))
    return found


def cell_answer(run: Run, x: int, c: int) -> dict[str, Any]:
    """One answer with its words: [word, probability, categories], the likeliest first."""
    p = run.preferences
    before, after = sentence(run, x, c)
    known = cell_words(run, x, c)
    return {
        "before": visible(before),
        "after": visible(after),
        "exact": _exact(run, x, c),
        "shares": plain(p.values[x, c]),
        "coverage": None if p.coverage is None else plain(p.coverage[x, c]),
        "words": [
            [visible(w.word), w.probability, [p.categories.index(k) for k in w.categories]]
            for w in known
            if w.probability > 0
        ],
        "skipped": sum(w.probability <= 0 for w in known),
    }


def _about(summary: RunSummary) -> dict[str, Any]:
    """The header's description of the run."""
    run, one = summary.run, summary.opened
    report, p = run.risks, run.preferences
    topic = find_topic(run.record)
    english = run.record.topic.language.lower().startswith("en")
    choose = Articles().choose
    texts, articles = [], []
    for group in p.groups:
        if topic is not None and group in topic.group_names:
            text, article = topic.written(group)
        else:
            text, article = group, choose(group) if english else None
        texts.append(visible(text))
        articles.append(article)
    given = p.reference
    even = given is None or np.asarray(given).ndim != 1
    return {
        "model": visible(one.name),
        "topic": visible(run.record.topic.title or run.record.topic.name),
        "topic_sha256": run.record.topic.sha256,
        "headline": summary.title,
        "lede": list(lede(run)),
        "chips": [[c.name, c.value, c.interval, c.kind, c.about] for c in chips(run)],
        "state": one.state,
        "notice": visible(one.notice),
        "noun": noun_of(run)[0],
        "categories": [visible(c) for c in p.categories],
        "reference": [1 / len(p.categories)] * len(p.categories) if even else plain(given),
        "even": given is None,
        "groups": [brief(g, _LONGEST) for g in p.groups],
        "texts": texts,
        "articles": articles,
        "contexts": [brief(c, _LONGEST) for c in p.contexts],
        "templates": [visible(t) for t in (p.templates or p.contexts)],
        "whole_range": summary.leans.whole_range,
        "n_contexts": report.n_contexts,
        "n_eff": report.n_eff,
        **{name: estimate.to_dict() for name, estimate in report.summary.items()},
    }


def _packed(header: dict[str, Any], columns: dict[str, NDArray[Any]]) -> bytes:
    """Magic, length, header, columns."""
    at, arrays = 0, []
    for name, values in columns.items():
        arrays.append(
            {
                "name": name,
                "type": _TYPES[values.dtype.str[1:]],
                "shape": list(values.shape),
                "at": at,
            }
        )
        at += math.ceil(values.nbytes / 8) * 8
    # Offsets count from the end of the header, whose length they would otherwise change.
    text = json.dumps({**header, "arrays": arrays}, ensure_ascii=False, allow_nan=False).encode()
    text += b" " * (-(8 + len(text)) % 8)
    body = b"".join(values.tobytes() + b"\0" * (-values.nbytes % 8) for values in columns.values())
    return MAGIC + len(text).to_bytes(4, "little") + text + body


def _depth(summary: RunSummary) -> NDArray[np.float64]:
    strength = summary.reading.strength
    if summary.run.risks.normalized:
        return strength
    return np.asarray(strength / max(1e-12, float(np.nanmax(strength))))


def _quantised(values: NDArray[np.float64], missing: int, kind: str) -> NDArray[Any]:
    levels = np.rint(np.clip(np.nan_to_num(values), 0, 1) * (missing - 1))
    return np.ascontiguousarray(np.where(np.isnan(values), missing, levels).astype(kind))


def _f4(values: Any) -> NDArray[Any]:
    return np.ascontiguousarray(np.asarray(values, dtype="<f4"))


def _exact(run: Run, x: int, c: int) -> bool:
    templates = run.preferences.templates or run.preferences.contexts
    try:
        return cell_prompt(run, run.preferences.groups[x], templates[c])[1]
    except ClinometerError:
        return False


# --- The explorer's modules: as files for a server, or as one script for a page in a single file


#: In the order in which they depend on each other.
MODULES = ("format", "data", "state", "groups", "heat", "sentence", "explorer")
_IMPORT = re.compile(r"^import .*;\n", flags=re.M)
_EXPORT = re.compile(r"^export ", flags=re.M)


@cache
def explorer_file(name: str) -> str:
    """A file of the explorer as it stands."""
    return (resources.files("clinometer.report.explorer") / "static" / name).read_text("utf-8")


@cache
def explorer_script() -> str:
    """All modules as one script: names at the top of the modules differ, so they can share a
    scope."""
    bodies = (_EXPORT.sub("", _IMPORT.sub("", explorer_file(f"{m}.js"))) for m in MODULES)
    return '"use strict";\n(() => {\n' + "\n".join(bodies) + "})();\n"
