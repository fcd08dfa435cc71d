"""Blanks by rule against the verified blanks of the COBIAS dataset, beside simple baselines.

    python benchmarks/points.py ../shared/data/cobias/statements.csv [MORE.csv …]

Prints one JSON object: precision, recall and F1 of positions for every file. The rules were chosen
by looking at statements.csv; files of other benchmarks show how they do elsewhere.
"""

from __future__ import annotations

import json
import sys
import time

from clinometer.reliability import load_statements
from clinometer.reliability.blanks import places, point_score, with_blanks
from clinometer.reliability.parsing import parse


def every_gap(doc):  # type: ignore[no-untyped-def]
    return [t.idx + len(t) for t in doc if t.whitespace_ or t.i + 1 == len(doc)]


def every_noun(doc):  # type: ignore[no-untyped-def]
    return [t.idx for t in doc if t.pos_ in ("NOUN", "PROPN") and t.i]


def every_phrase(doc):  # type: ignore[no-untyped-def]
    return [c.root.idx for c in doc.noun_chunks if c.root.i]


def phrases_and_end(doc):  # type: ignore[no-untyped-def]
    named = [c.root.idx for c in doc.noun_chunks if c.root.i and c.root.pos_ != "PRON"]
    words = [t for t in doc if t.is_alpha]
    return [*named, words[-1].idx + len(words[-1])] if words else named


PROPOSERS = {
    "rules": lambda doc, s: places(doc, s.target_spans()),
    "every gap": lambda doc, s: every_gap(doc),
    "every noun": lambda doc, s: every_noun(doc),
    "head of every noun phrase": lambda doc, s: every_phrase(doc),
    "noun phrases and end": lambda doc, s: phrases_and_end(doc),
}


def measured(path: str) -> dict[str, object]:
    statements = [s for s in load_statements(path, format="table") if s.points]
    texts = [s.text for s in statements]
    verified = [s.points or "" for s in statements]
    started = time.perf_counter()
    docs = list(parse(texts))
    rate = round(len(texts) / (time.perf_counter() - started))
    scores = {}
    for name, propose in PROPOSERS.items():
        points = [
            with_blanks(t, propose(d, s)) for t, d, s in zip(texts, docs, statements, strict=True)
        ]
        scores[name] = point_score(points, verified, texts).to_dict()
    return {"statements": len(texts), "parsed_per_second": rate, "scores": scores}


if __name__ == "__main__":
    print(json.dumps({path: measured(path) for path in sys.argv[1:]}, indent=1))
