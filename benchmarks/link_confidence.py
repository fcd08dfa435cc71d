"""The constants of the miner's confidence, fitted on GAP's development split.

    python benchmarks/link_confidence.py ../shared/data/parsing/gap

Every pair of a subject and he, she, his or her that the rules do not forbid, if its subject is one
of GAP's two names, is a case: right if GAP says that the pronoun refers to that name. Ridge
logistic regression (Newton's method; the constant is not shrunk). Prints the [logistic] table of
confidence.toml, and how right pairs of each confidence are.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from benchmarks.coreference import PERSONS, around

from clinometer.contexts.mining.decision import Dropped
from clinometer.contexts.mining.languages.english.coreference.confidence import LinkFacts
from clinometer.contexts.mining.languages.english.coreference.dependency_paths import (
    clause_link,
    word_link,
)
from clinometer.contexts.mining.languages.english.coreference.rules import facts_of
from clinometer.contexts.mining.languages.english.lexicon import POSSESSIVES, SUBJECT_PRONOUNS
from clinometer.contexts.mining.languages.english.parse import Parsed, Parser

#: Of the squared coefficients.
PENALTY = 3.0
Names = list[tuple[int, int, bool]]


def rows(path: Path) -> Iterator[tuple[str, int, Names]]:
    """Sentence, position of the pronoun, and begin, end and truth of the names before it."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            if row["Pronoun"].lower() not in SUBJECT_PRONOUNS | POSSESSIVES:
                continue
            text, begin = around(row["Text"], int(row["Pronoun-offset"]))
            at = int(row["Pronoun-offset"]) - begin
            starts = {name: int(row[f"{name}-offset"]) - begin for name in "AB"}
            names = [
                (start, start + len(row[name]), row[f"{name}-coref"].upper() == "TRUE")
                for name, start in starts.items()
                if 0 <= start < at
            ]
            if names:
                yield text, at, names


def cases(
    parsed: Iterable[Parsed], marks: Iterable[tuple[int, Names]]
) -> Iterator[tuple[LinkFacts, bool]]:
    """LinkFacts and truth of the pairs whose subject is one of the names."""
    for one, (at, names) in zip(parsed, marks, strict=True):
        for token in one.doc:
            if token.idx != at or not token.i:
                continue
            clause = token.lower_ in SUBJECT_PRONOUNS
            if not clause and token.dep_ != "poss":
                continue
            try:
                link = clause_link(token) if clause else word_link(token)
                facts = facts_of(link, one, PERSONS)
            except Dropped:
                continue
            for start, end, true in names:
                if start <= link.subject.idx < end:
                    yield facts, true


def fit(found: list[tuple[LinkFacts, bool]]) -> dict[str, float]:
    """The coefficients, by feature."""
    names = list(found[0][0].features())
    x = np.array([list(facts.features().values()) for facts, _ in found])
    y = np.array([true for _, true in found], dtype=float)
    ridge = PENALTY * np.eye(len(names))
    ridge[0, 0] = 0
    beta = np.zeros(len(names))
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        hessian = (x * (p * (1 - p))[:, None]).T @ x + ridge
        beta += np.linalg.solve(hessian, x.T @ (y - p) - ridge @ beta)
    return dict(zip(names, beta.tolist(), strict=True))


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path, help="the folder with gap-development.tsv")
    read = list(rows(arguments.parse_args().folder / "gap-development.tsv"))
    parsed = Parser().parse(text for text, _, _ in read)
    show(list(cases(parsed, [(at, names) for _, at, names in read])))


def show(found: list[tuple[LinkFacts, bool]]) -> None:
    weights = fit(found)
    print(f"# {len(found)} pairs, {sum(true for _, true in found)} right")
    for name, weight in weights.items():
        print(f'"{name}" = {weight:.3f}')
    scores = [sum(weights[n] * v for n, v in facts.features().items()) for facts, _ in found]
    shown = 1 / (1 + np.exp(-np.array(scores)))
    truth = np.array([true for _, true in found])
    for low, high in ((0, 0.5), (0.5, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 0.95), (0.95, 1)):
        inside = (shown >= low) & (shown < high)
        if inside.any():
            print(f"# {low}-{high}: {inside.sum()} pairs, {truth[inside].mean():.3f} right")
    for low in (0.7, 0.75, 0.8, 0.85, 0.9):
        kept = shown >= low
        if kept.any():
            print(f"# at least {low}: {kept.sum()} pairs, {truth[kept].mean():.3f} right")


if __name__ == "__main__":
    main()
