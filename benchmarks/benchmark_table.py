"""Table 2 of the COBIAS paper again: the five benchmarks with intervals and ranks.

    python benchmarks/benchmark_table.py DATA --out FOLDER [--statements 150] [--versions 20]

DATA is the folder with processed/, statements.csv and the two files of the authors' versions. A
random sample of each benchmark's statements for which the authors published versions is scored with
those versions and printed beside the paper's figures. Statements of CrowS-Pairs and StereoSet are
found in the COBIAS dataset by their text. The same command resumes.
"""

from __future__ import annotations

import argparse
import csv
import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from clinometer.reliability import (
    ReliabilitySettings,
    Statement,
    load_statements,
    read_variants,
    score_reliability,
)
from clinometer.reliability.benchmark_table import benchmark_tables

#: File, and the paper's figure.
PRINTED = {
    "WinoGender": ("winogender", 0.697113),
    "WinoBias": ("winobias", 0.711033),
    "CrowS-Pairs": ("crows_pairs", 0.716705),
    "StereoSet intrasentence": ("stereoset_intra", 0.750100),
    "RedditBias": ("redditbias", 0.787767),
}


def sample(
    data: Path, many: int, seed: int
) -> tuple[list[Statement], dict[str, tuple[str, ...]]]:
    """Statements with their benchmark as source, and the authors' versions of them."""
    cobias = {_letters(s.text): s for s in load_statements(data / "statements.csv")}
    theirs = {
        **read_variants(data / "variants_cobias.jsonl.gz"),
        **read_variants(data / "variants_other_datasets.jsonl.gz"),
    }
    rng = np.random.default_rng(seed)
    chosen, versions = [], {}
    for name, (file, _) in PRINTED.items():
        known = []
        with (data / f"processed/{file}.csv").open(
            encoding="utf-8", newline=""
        ) as stream:
            for row in csv.DictReader(stream):
                same = cobias.get(_letters(row["sentence"]))
                key = (
                    row["id"]
                    if row["id"] in theirs
                    else same.id
                    if same is not None
                    else ""
                )
                if theirs.get(key) and row["sentence"].strip():  # some rows are empty
                    terms = (row["target_term"],) if row["target_term"] else ()
                    known.append(
                        (Statement(row["id"], row["sentence"], terms), theirs[key])
                    )
        for i in rng.permutation(len(known))[:many].tolist():
            statement, some = known[i]
            chosen.append(replace(statement, source=name))
            versions[statement.id] = some
    return chosen, versions


def _letters(text: str) -> str:
    return re.sub(r"\W", "", text.casefold())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--statements", type=int, default=150)
    parser.add_argument("--versions", type=int, default=20)
    parser.add_argument("--model", action="append")
    given = parser.parse_args()
    statements, versions = sample(given.data, given.statements, 0)
    run = score_reliability(
        statements,
        versions,
        models=given.model or ["pocket:bert", "pocket:gpt2-l"],
        out=given.out,
        settings=ReliabilitySettings(versions=given.versions),
    )
    table = benchmark_tables(run.statements)[0].sort_values("rank")
    printed = sorted(PRINTED, key=lambda name: -PRINTED[name][1])
    print("| benchmark | statements | COBIAS | rank | printed | rank |")
    print("|---|---|---|---|---|---|")
    for row in table.to_dict(orient="records"):
        name = row["source"]
        score = (
            f"{row['cobias']:.3f} ({row['cobias_low']:.3f} to {row['cobias_high']:.3f})"
        )
        rank = f"{row['rank']:g} ({row['rank_low']:g} to {row['rank_high']:g})"
        theirs = f"{PRINTED[name][1]:.3f} | {printed.index(name) + 1}"
        print(f"| {name} | {row['scored']} | {score} | {rank} | {theirs} |")


if __name__ == "__main__":
    main()
