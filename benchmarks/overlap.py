"""Which of the BVF authors' most frequent templates stand among ours.

    python benchmarks/overlap.py ours.csv theirs.csv.gz [--top 100]

Theirs is `template_mining_n2n_10000.csv.gz` of their release (count column `proportion`).
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json

from clinometer.contexts import load_contexts


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("ours")
    arguments.add_argument("theirs")
    arguments.add_argument("--top", type=int, default=100)
    options = arguments.parse_args()
    ours = load_contexts(options.ours)
    known = {plain(t) for t in ours.templates}
    with gzip.open(options.theirs, "rt", encoding="utf-8", newline="") as file:
        rows = [(r["template"], float(r["proportion"])) for r in csv.DictReader(file)]
    top = sorted(rows, key=lambda r: -r[1])[: options.top]
    found = [t for t, _ in top if plain(t) in known]
    weight = sum(n for _, n in top)
    print(
        json.dumps(
            {
                "ours": len(ours),
                "top": len(top),
                "among_ours": len(found),
                "share_of_their_weight": round(
                    sum(n for t, n in top if plain(t) in known) / weight, 4
                ),
                "missing": [t for t, _ in top if plain(t) not in known],
            }
        )
    )


def plain(template: str) -> str:
    """Without articles, and with one spelling: as near-duplicates are merged when mining."""
    words = [w for w in template.split() if w not in ("a", "an", "the")]
    spelt = {"realised": "realized", "learnt": "learned"}
    return " ".join(spelt.get(w, w) for w in words)


if __name__ == "__main__":
    main()
