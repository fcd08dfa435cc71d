"""Blanks by rule against the verified blanks of the COBIAS dataset, beside simple baselines.

    python benchmarks/points.py ../shared/data/cobias/statements.csv [MORE.csv …]

Prints one JSON object: precision, recall and F1 of positions for every file. The rules were chosen
by looking at statements.csv; files of other benchmarks show how they do elsewhere.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from itertools import accumulate

import numpy as np

from clinometer.reliability import load_statements
from clinometer.reliability.blank_rules import parse, places
from clinometer.reliability.blanks import with_blanks
from clinometer.reliability.statement import Blanks


@dataclass(frozen=True)
class PointScore:
    """Precision: share of proposed blanks that are verified; recall: share of verified ones met;
    f1: their harmonic mean, 0 if nothing matched."""

    proposed: int
    verified: int
    both: int
    precision: float
    recall: float
    f1: float


def positions(points: str, text: str) -> frozenset[int]:
    """The position of each blank: the number of letters and digits before it.

    Punctuation and spaces do not count: "office ___." and "office. ___" are the same position. If
    the wording of the points differs from the text, letters are aligned first.

    >>> sorted(positions("The ___ nurse is tired ___.", "The nurse is tired"))
    [3, 15]
    """
    blanks = Blanks.parse(points)
    own, letters = _letters(text), [_letters(part) for part in blanks.parts]
    before = list(accumulate(len(part) for part in letters[:-1]))
    theirs = "".join(letters)
    if theirs == own:
        return frozenset(before)
    meets = {0: 0}
    for a, b, size in SequenceMatcher(
        None, theirs, own, autojunk=False
    ).get_matching_blocks():
        meets |= {a + k: b + k for k in range(1, size + 1)}
    return frozenset(meets[max(n for n in meets if n <= place)] for place in before)


def point_score(
    proposed: Iterable[str], verified: Iterable[str], texts: Sequence[str]
) -> PointScore:
    """Compare statement by statement; counts are summed, so long statements weigh more."""
    counts = np.zeros(3, dtype=np.int64)
    for mine, theirs, text in zip(proposed, verified, texts, strict=True):
        a, b = positions(mine, text), positions(theirs, text)
        counts += len(a), len(b), len(a & b)
    n_a, n_b, n_both = counts.tolist()
    shares = [(n_both, n_a), (n_both, n_b), (2 * n_both, n_a + n_b)]
    return PointScore(
        n_a, n_b, n_both, *(part / n if n else math.nan for part, n in shares)
    )


def _letters(text: str) -> str:
    return "".join(c for c in text.lower() if c.isalnum())


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


def measured(path: str, every: int = 1) -> dict[str, object]:
    """The scores of each of `PROPOSERS` on the statements of a file, or on every so-many-th."""
    statements = [s for s in load_statements(path, format="table") if s.points][::every]
    texts = [s.text for s in statements]
    verified = [s.points or "" for s in statements]
    started = time.perf_counter()
    docs = list(parse(texts))
    rate = round(len(texts) / (time.perf_counter() - started))
    scores = {}
    for name, propose in PROPOSERS.items():
        points = [
            with_blanks(t, propose(d, s))
            for t, d, s in zip(texts, docs, statements, strict=True)
        ]
        scores[name] = asdict(point_score(points, verified, texts))
    return {"statements": len(texts), "parsed_per_second": rate, "scores": scores}


if __name__ == "__main__":
    print(json.dumps({path: measured(path) for path in sys.argv[1:]}, indent=1))
