"""The constants of the miner's confidence, fitted on annotated text, and their calibration.

    python benchmarks/link_confidence.py GAP --gum GUM --litbank LITBANK --held-out DEV

GAP is the folder with gap-development.tsv and gap-validation.tsv, GUM the folder
not-to-release/sources of UD_English-GUM (commit afb41ee), LITBANK the folder coref/conll of LitBank
(commit 3e50db0), DEV a list of the documents of GUM that benchmarks/coreference.py measures on.

Ridge logistic regression over names and nouns, with a constant for each source: GAP's, the lowest,
is kept. Every figure of precision is out of fold: ten folds of documents, five times. Prints the
tables of confidence.toml.

GAP says whether he, she, his or her refers to one of two names; GUM and LitBank annotate whole
documents, so that links from pronouns (he … he) can be judged as well. A case is a pair of subject
and pronoun that the rules do not forbid.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from benchmarks.coreference import PERSONS, Sentence, around, head_entities, parse_words
from numpy.typing import NDArray
from scipy.stats import beta

from clinometer.contexts.mining.languages import Dropped, Parsed, SpacyParser
from clinometer.contexts.mining.languages.english.confidence import LinkFacts, facts_of
from clinometer.contexts.mining.languages.english.links import (
    Link,
    clause_link,
    word_link,
)
from clinometer.contexts.mining.languages.english.parser import open_parser
from clinometer.contexts.mining.languages.english.vocabulary import (
    POSSESSIVES,
    SUBJECT_PRONOUNS,
)
from clinometer.statistics.arrays import FloatArray

#: Of the squared coefficients; those of the sources are hardly shrunk.
PENALTY, PENALTY_OF_SOURCE = 3.0, 0.3
SOURCES = ("gum", "litbank")
FOLDS, REPEATS = 10, 5


_PRONOUNS = frozenset(SUBJECT_PRONOUNS | POSSESSIVES)


@dataclass(frozen=True)
class Case:
    """source: gap, gum or litbank; document: the unit of cross-validation."""

    source: str
    document: str
    facts: LinkFacts
    right: bool


def links(parsed: Parsed) -> Iterator[tuple[Link, LinkFacts]]:
    """The links that the rules do not forbid."""
    for token in parsed.doc:
        clause = token.lower_ in SUBJECT_PRONOUNS
        if not token.i or not (
            clause or (token.lower_ in POSSESSIVES and token.dep_ == "poss")
        ):
            continue
        try:
            link = clause_link(token) if clause else word_link(token)
            yield link, facts_of(link, parsed, PERSONS)
        except Dropped:
            continue


def gap_cases(parser: SpacyParser, path: Path) -> Iterator[Case]:
    """The links of GAP's pronouns whose subject is one of its two names."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    rows = [row for row in rows if row["Pronoun"].lower() in _PRONOUNS]
    cut = [around(row["Text"], int(row["Pronoun-offset"])) for row in rows]
    parsed = parser.parse(text for text, _ in cut)
    for row, (_, begin), one in zip(rows, cut, parsed, strict=True):
        at = int(row["Pronoun-offset"]) - begin
        for link, facts in links(one):
            for name in "AB" if link.y.idx == at else "":
                start = int(row[f"{name}-offset"]) - begin
                if (
                    0 <= start <= link.subject.idx < start + len(row[name])
                    and start < at
                ):
                    yield Case(
                        "gap", row["URL"], facts, row[f"{name}-coref"].upper() == "TRUE"
                    )


def document_cases(parser: SpacyParser, source: str, path: Path) -> Iterator[Case]:
    """The links of one document of GUM (.conllu) or LitBank (.conll)."""
    wanted = []
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [
            line.split("\t") for line in block.splitlines() if line and line[0] != "#"
        ]
        sentence = _gum(rows) if source == "gum" else _litbank(rows)
        if not _PRONOUNS.isdisjoint(word.lower() for word in sentence.words):
            wanted.append(sentence)
    parsed = parse_words(parser, [sentence.words for sentence in wanted])
    for sentence, one in zip(wanted, parsed, strict=True):
        if not sentence.heads:
            sentence.heads = [t.head.i if t.head.i != t.i else -1 for t in one.doc]
        for link, facts in links(one):
            meant = {e for e, begin, end in sentence.spans if begin == end == link.y.i}
            if meant:
                right = bool(head_entities(sentence, link.subject.i) & meant)
                yield Case(source, path.stem, facts, right)


def _gum(rows: list[list[str]]) -> Sentence:
    rows = [row for row in rows if row[0].isdigit()]
    marks = [re.search(r"Entity=([^|]*)", row[9]) for row in rows]
    pieces = [
        re.findall(r"\([^()]+\)?|[^()]+\)", mark[1]) if mark else [] for mark in marks
    ]
    heads = [int(row[6]) - 1 for row in rows]
    return _with_mentions([row[1] for row in rows], heads, pieces)


def _litbank(rows: list[list[str]]) -> Sentence:
    pieces = [[p for p in row[-1].split("|") if re.search(r"\d", p)] for row in rows]
    return _with_mentions([row[3] for row in rows], [], pieces)


def _with_mentions(
    words: list[str], heads: list[int], pieces: list[list[str]]
) -> Sentence:
    """The mentions within a sentence: "(3" opens, "3)" closes, "(3)" does both."""
    sentence = Sentence(words, [True] * len(words), [], heads, [set() for _ in words])
    opened: list[tuple[str, int]] = []
    for i, marks in enumerate(pieces):
        for mark in marks:
            entity = re.findall(r"\d+", mark)[0]
            if mark[0] == "(":
                opened.append((entity, i))
            at = [k for k, (other, _) in enumerate(opened) if other == entity]
            if mark[-1] == ")" and at:
                _, begin = opened.pop(at[-1])
                sentence.spans.append((entity, begin, i))
                for word in sentence.entities[begin : i + 1]:
                    word.add(entity)
    return sentence


def read(options: argparse.Namespace) -> Iterator[Case]:
    parser = open_parser()
    held_out = set(options.held_out.read_text().split()) if options.held_out else set()
    for split in ("development", "validation"):
        yield from gap_cases(parser, options.gap / f"gap-{split}.tsv")
    for source in SOURCES:
        folder = getattr(options, source)
        for path in sorted(folder.glob("*.conll*")) if folder else ():
            if path.stem not in held_out:
                yield from document_cases(parser, source, path)


def design(cases: list[Case]) -> FloatArray:
    rows = []
    for case in cases:
        constant, *others = case.facts.features().values()
        rows.append([constant, *(float(case.source == s) for s in SOURCES), *others])
    return np.array(rows)


def fit(x: FloatArray, y: FloatArray) -> FloatArray:
    """The coefficients, by Newton's method; the first constant is not shrunk."""
    ridge = np.diag(
        [0, *[PENALTY_OF_SOURCE] * len(SOURCES)] + [PENALTY] * (x.shape[1] - 3)
    )
    found = np.zeros(x.shape[1])
    for _ in range(50):
        p = predict(x, found)
        hessian = (x * (p * (1 - p))[:, None]).T @ x + ridge
        found += np.linalg.solve(hessian, x.T @ (y - p) - ridge @ found)
    return found


def predict(x: FloatArray, weights: FloatArray) -> FloatArray:
    return 1 / (1 + np.exp(-x @ weights))


def out_of_fold(
    x: FloatArray, y: FloatArray, documents: list[str], repeat: int
) -> FloatArray:
    """What a model says that saw no case of the document, as if every case were of GAP."""
    names = sorted(set(documents))
    folds = np.random.default_rng(repeat).permutation(len(names)) % FOLDS
    of = dict(zip(names, folds.tolist(), strict=True))
    fold = np.array([of[document] for document in documents])
    said = np.zeros(len(y))
    plain = x.copy()
    plain[:, 1 : 1 + len(SOURCES)] = 0
    for k in range(FOLDS):
        said[fold == k] = predict(plain[fold == k], fit(x[fold != k], y[fold != k]))
    return said


def counted(right: NDArray[np.bool_]) -> str:
    """Right, number, share, and the lower bound of its 80 % interval (Clopper and Pearson)."""
    n, good = len(right), int(right.sum())
    low = float(beta.ppf(0.1, good, n - good + 1)) if good else 0.0
    return f"{good:6.0f} of {n:4.0f} = {good / max(n, 1):.3f} (from {low:.3f})"


def show(cases: list[Case]) -> None:
    pronouns = [case for case in cases if case.facts.kind == "pronoun"]
    print("# he … he: right, counted")
    for key, n in sorted(Counter(_pronoun_kind(case) for case in pronouns).items()):
        good = sum(case.right for case in pronouns if _pronoun_kind(case) == key)
        print(f"{key} = {(good + 1) / (n + 2):.3f}  # {good} of {n}")
    cases = [case for case in cases if case.facts.kind != "pronoun"]
    x, y = design(cases), np.array([float(case.right) for case in cases])
    names = ["constant", *SOURCES, *list(cases[0].facts.features())[1:]]
    print(
        f"# {len(cases)} pairs:", Counter((case.source, case.right) for case in cases)
    )
    for name, weight in zip(names, fit(x, y).tolist(), strict=True):
        print(f'"{name}" = {weight:.3f}')
    documents = [case.document for case in cases]
    gap = np.array([case.source == "gap" for case in cases])
    word = np.array([case.facts.word for case in cases])
    said = [out_of_fold(x, y, documents, repeat) for repeat in range(REPEATS)]
    p, right = np.mean(said, axis=0), y > 0
    print("# out of fold, pairs of GAP")
    for low, high in (
        (0, 0.6),
        (0.6, 0.75),
        (0.75, 0.82),
        (0.82, 0.86),
        (0.86, 0.89),
        (0.89, 1),
    ):
        inside = gap & (p >= low) & (p < high)
        if inside.any():
            print(
                f"# {low}-{high}: said {p[inside].mean():.3f}, {counted(right[inside])}"
            )
    for least in (0.8, 0.82, 0.84, 0.85, 0.86, 0.87, 0.88):
        kept = p >= least
        parts = {
            "he/she": gap & ~word,
            "his/her": gap & word,
            "GAP": gap,
            "GUM, LitBank": ~gap,
        }
        print(
            f"# at least {least}:",
            *(f"{k} {counted(right[kept & m])};" for k, m in parts.items()),
        )


def _pronoun_kind(case: Case) -> str:
    facts = case.facts
    rivals = (
        "leading"
        if facts.leading
        else "rival"
        if facts.persons + facts.nouns
        else "alone"
    )
    return f"{'word' if facts.word else 'clause'}.{rivals}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("gap", type=Path, help="the folder with gap-development.tsv")
    arguments.add_argument(
        "--gum", type=Path, help="the folder of the .conllu files of GUM"
    )
    arguments.add_argument(
        "--litbank", type=Path, help="the folder of the .conll files of LitBank"
    )
    arguments.add_argument(
        "--held-out", type=Path, help="a list of documents to leave out"
    )
    show(list(read(arguments.parse_args())))


if __name__ == "__main__":
    main()
