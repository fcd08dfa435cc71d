"""The truth test of the defaults: COBIAS against the ratings of the COBIAS authors' annotators.

    python benchmarks/truth.py DATA --out FOLDER [--statements 160] [--rest] [--versions 40]

DATA is the folder with statements.csv, validation_ratings.csv and variants_cobias.jsonl.gz. Scores
the default versions and the authors' versions with the same models, both also with random words in
the place of context, and prints the table of docs/reliability.md. The sample: ids in rising order,
shuffled by numpy's default generator with seed 0, the first 160; --rest takes the others, which are
to be looked at once, when nothing will be changed any more. The same command resumes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from clinometer.measure import Estimate
from clinometer.reliability import (
    ReliabilityRun,
    ReliabilitySettings,
    Statement,
    load_statements,
    read_variants,
)
from clinometer.reliability.audit import BenchmarkSettings, audit_benchmark
from clinometer.reliability.random_words import random_control
from clinometer.reliability.ratings import read_ratings
from clinometer.reliability.statement_scores import StatementScores
from clinometer.reliability.validation import validate
from clinometer.reliability.variants import VariantSettings


def sample(data: Path, n: int, *, rest: bool) -> list[Statement]:
    rated = sorted(int(i) for i in read_ratings(data / "validation_ratings.csv").items)
    order = np.random.default_rng(0).permutation(rated)
    chosen = {str(i) for i in (order[n:] if rest else order[:n]).tolist()}
    every = load_statements(data / "statements.csv")
    return [s for s in every if s.id in chosen]


def shown(one: Estimate | None) -> str:
    return (
        "" if one is None else f"{one.value:+.3f} ({one.low:+.2f} to {one.high:+.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--statements", type=int, default=160)
    parser.add_argument("--rest", action="store_true")
    parser.add_argument("--versions", type=int, default=40)
    parser.add_argument("--filler", default=VariantSettings.filler)
    parser.add_argument("--model", action="append")
    given = parser.parse_args()
    models = given.model or ["pocket:bert", "pocket:gpt2-l"]
    statements = sample(given.data, given.statements, rest=given.rest)
    settings = BenchmarkSettings(
        variants=VariantSettings(n=given.versions, filler=given.filler),
        scoring=ReliabilitySettings(versions=given.versions),
    )
    theirs = read_variants(given.data / "variants_cobias.jsonl.gz")
    published = {s.id: theirs.get(s.id, ()) for s in statements}
    bare = [replace(s, points=None) for s in statements]
    runs: dict[str, ReliabilityRun] = {}
    for name, some, versions in (
        ("ours", bare, None),
        ("authors", statements, published),
    ):
        out = given.out / name
        audit_benchmark(some, out, models=models, variants=versions, settings=settings)
        runs[name] = ReliabilityRun.load(out)
    controls = {name: random_control(run) for name, run in runs.items()}
    ratings = read_ratings(given.data / "validation_ratings.csv")
    result = validate(ratings, StatementScores.of_runs(runs, controls), high="enough")
    print(f"{result.statements} statements, {', '.join(models)}")
    print("| | rho | given length | ours ahead by |\n|---|---|---|---|")
    for row in result.rows:
        print(
            f"| {row.name} | {shown(row.rho)} | {shown(row.given_length)} | {shown(row.ahead)} |"
        )
    for finding in result.findings:
        print(finding.text)


if __name__ == "__main__":
    main()
