"""Coverage of the interval of a statement's COBIAS, with 4, 12, 20 and 40 versions.

Changes of tau are drawn from laws whose context variance is known: normal around no change, normal
with a shift that differs by statement, with heavy tails, skewed, skewed around no change, from two
normal laws; and, with --published FILE … (scores of the COBIAS authors), from the 35 published
changes of each statement, drawn with replacement. The constants of the intervals were chosen on the
first four laws and bert-base's scores.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

import numpy as np

from clinometer.reliability.sampling import SamplingDistribution
from clinometer.statistics.arrays import FloatArray

SIZES = (4, 12, 20, 40)
LAWS = (
    "normal",
    "normal, shifted",
    "Student, 5 degrees",
    "exponential",
    "exponential, centred",
    "two normal laws",
)


def changes(
    law: str, many: int, n: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Changes [many, n] and their true mean squares [many]."""
    scale = np.exp(rng.normal(0, 0.5, (many, 1)))
    if law == "normal":
        drawn, square = rng.normal(size=(many, n)), np.ones((many, 1))
    elif law == "normal, shifted":
        shift = rng.normal(0, 1, (many, 1))
        drawn, square = shift + rng.normal(size=(many, n)), 1 + shift**2
    elif law == "Student, 5 degrees":
        drawn, square = rng.standard_t(5, size=(many, n)), np.full((many, 1), 5 / 3)
    elif law == "exponential":
        drawn, square = rng.exponential(size=(many, n)), np.full((many, 1), 2.0)
    elif law == "exponential, centred":
        drawn, square = rng.exponential(size=(many, n)) - 1.0, np.ones((many, 1))
    else:
        wide = np.where(rng.random((many, n)) < 0.2, 2.0, 1.0)
        drawn, square = wide * rng.normal(size=(many, n)), np.full((many, 1), 1.6)
    return scale * drawn, (scale**2 * square)[:, 0]


def published(file: Path) -> FloatArray:
    """[S, 35] changes of tau; statements whose versions all have the same score are left out."""
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    found = np.array([np.array(row["variants"]) - row["original"] for row in rows])
    return np.asarray(found[found.std(axis=1) > 0])


def covered(drawn: FloatArray, square: FloatArray) -> float:
    """The share of statements with an interval that holds the truth; NaN is a version less."""
    tau = np.full(len(drawn), 100.0)  # so that cv is the mean square
    of_one_model = SamplingDistribution.of(tau[None], (tau[:, None] + drawn)[None])
    low, high = of_one_model.intervals(level=0.95)
    return float(np.mean(((low <= square) & (square <= high))[of_one_model.usable]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--published", type=Path, nargs="*", default=[])
    parser.add_argument("--statements", type=int, default=500)
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    real = {file.name.split(".")[0]: published(file) for file in given.published}
    print("| changes | " + " | ".join(f"{n} versions" for n in SIZES) + " |")
    print("|---|" + "---|" * len(SIZES))
    for law in [*LAWS, *real]:
        row = []
        for n in SIZES:
            found = []
            for _ in range(given.runs):
                if law in real:
                    every = real[law]
                    which = rng.integers(len(every), size=given.statements)
                    drawn = every[
                        which[:, None], rng.integers(35, size=(given.statements, n))
                    ]
                    square = (every[which] ** 2).mean(axis=1)
                else:
                    drawn, square = changes(law, given.statements, n, rng)
                found.append(covered(drawn, square))
            row.append(f"{100 * np.mean(found):.1f} %")
        print(f"| {law} | " + " | ".join(row) + " |")


if __name__ == "__main__":
    main()
