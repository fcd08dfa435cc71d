"""Can small models tell a good version from a bad one? A judge of fillings, fitted and tested.

    python benchmarks/version_judge.py DATA [--statements 300] [--model pocket:gpt2-l …] [--seed 0]

DATA is the folder with statements.csv and variants_cobias.jsonl.gz. Good versions are the COBIAS
authors'; bad ones have the same blanks filled with random words, with the version's own added words
in random order, or with the fillings of another statement (which are often English all the same).
Features: likelihoods of the added words, at both edges and against the statement without them and
against the same words in another order; parts of speech across the edges; whole words. A logistic
regression is fitted on half of the statements, with the threshold that keeps 80 % (or 90 %) of
their good versions; acceptance and ROC areas are of the other half.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clinometer.models import open_model
from clinometer.reliability import load_statements, read_variants
from clinometer.reliability.check import FUNCTION_WORDS
from clinometer.reliability.parsing import parse
from clinometer.reliability.statement import Blanks, Refused
from clinometer.reliability.variants.make import accept_version
from clinometer.statistics.arrays import FloatArray

GOOD, RANDOM, ORDER, OTHER = "authors", "random words", "words in random order", "other statement's"
KINDS = (GOOD, RANDOM, ORDER, OTHER)
NAMES = (
    "mean log-probability of added tokens",
    "lowest log-probability of an added token",
    "first added token of each filling",
    "the two tokens after, against without",
    "the worst such edge",
    "all of the text per added token, against without",
    "added tokens, against their frequency",
    "against three other orders of the words",
    "tokens per added word",
)


@dataclass(frozen=True)
class Version:
    """One filled statement: `spans` are the fillings in `text`."""

    kind: str
    statement: int
    blanks: Blanks
    fills: tuple[str, ...]

    @property
    def text(self) -> str:
        return self.blanks.fill(self.fills)

    @property
    def spans(self) -> list[tuple[int, int]]:
        _, starts = self.blanks._written(self.fills)
        return [(a, a + len(f)) for a, f in zip(starts, self.fills, strict=True) if f]


def versions(data: Path, many: int, seed: int) -> list[Version]:
    rng = np.random.default_rng(seed)
    every = [s for s in load_statements(data / "statements.csv") if s.blanks and len(s.blanks)]
    theirs = read_variants(data / "variants_cobias.jsonl.gz")
    good: list[Version] = []
    for i in rng.permutation(len(every)).tolist():
        blanks = every[i].blanks
        usable = []
        for text in theirs.of(every[i]):
            try:
                fills = accept_version(blanks, text)[1] if blanks else ()
            except Refused:
                continue
            if not any("," in f for f in fills):
                usable.append(fills)
        if usable and blanks is not None:
            good.append(Version(GOOD, len(good), blanks, usable[rng.integers(len(usable))]))
        if len(good) == many:
            break
    words = [w for v in good for f in v.fills for w in f.split()]
    pool = [f for v in good for f in v.fills if f]
    found = list(good)
    for v in good:
        own = [w for f in v.fills for w in f.split()]
        made = {
            RANDOM: _cut(rng.choice(words, len(own)).tolist(), v.fills),
            ORDER: _cut(rng.permutation(own).tolist(), v.fills),
            OTHER: tuple(str(rng.choice(pool)) if f else "" for f in v.fills),
        }
        found += [replace(v, kind=k, fills=f) for k, f in made.items() if f != v.fills]
    return found


def _cut(words: Sequence[str], like: Sequence[str]) -> tuple[str, ...]:
    """The words in fillings as long as these."""
    left = list(words)
    return tuple(" ".join(left.pop(0) for _ in f.split()) for f in like)


class Likelihoods:
    """Log-probabilities of the tokens of texts by a causal model, with their offsets."""

    def __init__(self, name: str) -> None:
        self.scorer: Any = open_model(name)
        self.known: dict[str, tuple[FloatArray, list[tuple[int, int]], list[int]]] = {}
        self.first = self._first()

    def _first(self) -> FloatArray:
        import torch

        ids = torch.tensor([[self.scorer.tokenizer.bos_token_id]])
        with torch.inference_mode():
            return np.asarray(self.scorer.model(input_ids=ids).logits[0, -1].log_softmax(-1))

    def read(self, texts: Sequence[str], batch: int = 64) -> None:
        import torch

        missing = sorted(set(texts) - set(self.known), key=len)
        for k in range(0, len(missing), batch):
            some = missing[k : k + batch]
            coded = self.scorer.tokenizer(
                some, add_special_tokens=False, return_offsets_mapping=True
            )
            rows = [[self.scorer.tokenizer.bos_token_id, *ids] for ids in coded["input_ids"]]
            width = max(map(len, rows))
            ids = torch.tensor([row + [0] * (width - len(row)) for row in rows])
            with torch.inference_mode():
                found = self.scorer.model(input_ids=ids).logits.float().log_softmax(-1)
            own = found[:, :-1].gather(-1, ids[:, 1:, None])[..., 0].double().numpy()
            for text, row, values, offsets in zip(
                some, rows, own, coded["offset_mapping"], strict=True
            ):
                self.known[text] = (values[: len(row) - 1], offsets, row[1:])

    def features(self, version: Version, rng: np.random.Generator) -> list[float]:
        text, plain = version.text, version.blanks.plain
        values, offsets, ids = self.known[text]
        bare = self.known[plain][0]
        inside = np.zeros(len(values), dtype=bool)
        firsts, edges = [], []
        added = 0
        for a, b in version.spans:
            at = [t for t, (_, end) in enumerate(offsets) if a < end <= b]
            if not at:
                continue
            inside[at] = True
            added += len(at)
            firsts.append(values[at[0]])
            # The same tokens without the fillings so far; they line up from there on.
            after = list(range(at[-1] + 1, min(at[-1] + 3, len(values))))
            before = [t - added for t in after if 0 <= t - added < len(bare)]
            edges.append(values[after[: len(before)]].sum() - bare[before].sum())
        if not added:
            return [0.0] * len(NAMES)
        orders = [
            values.sum() - self.known[other][0].sum()
            for other in other_orders(version, rng)
            if other in self.known
        ]
        words = sum(len(f.split()) for f in version.fills)
        frequency = self.first[np.asarray(ids)[inside]]
        return [
            float(values[inside].mean()),
            float(values[inside].min()),
            float(np.mean(firsts)),
            float(np.mean(edges)),
            float(np.min(edges)),
            float((values.sum() - bare.sum()) / added),
            float((values[inside] - frequency).mean()),
            float(np.mean(orders)) / added if orders else 0.0,
            added / words,
        ]


def other_orders(version: Version, rng: np.random.Generator) -> list[str]:
    """The version with the words of each filling in three other orders."""
    found = []
    for seed in range(3):
        chance = np.random.default_rng(seed)
        fills = tuple(" ".join(chance.permutation(f.split()).tolist()) for f in version.fills)
        if fills != version.fills:
            found.append(replace(version, fills=fills).text)
    return found


def tag_patterns(some: Sequence[Version]) -> list[list[tuple[str, ...]]]:
    """Trigrams of parts of speech around and in every filling."""
    found = []
    for version, doc in zip(some, parse([v.text for v in some]), strict=True):
        tags = ["^", *(t.tag_ for t in doc), "$"]
        spans = version.spans
        at = {
            t.i + 1
            for t in doc
            for a, b in spans
            if t.idx < b + 1 and t.idx + len(t) > a - 1  # the words beside it too
        }
        found.append([tuple(tags[i - 1 : i + 2]) for i in sorted(at)])
    return found


def tag_scores(patterns: Sequence[list[tuple[str, ...]]], good: NDArray[np.bool_], fit: Any) -> Any:
    """Mean log-odds of the trigrams of each version, counted where `fit`; a version's own count is
    taken out of the counts that judge it."""
    counts = {True: Counter[Any](), False: Counter[Any]()}
    for row, is_good, used in zip(patterns, good, fit, strict=True):
        if used:
            counts[bool(is_good)].update(row)
    total = {k: sum(c.values()) for k, c in counts.items()}
    values = []
    for row, is_good, used in zip(patterns, good, fit, strict=True):
        own = Counter(row) if used else Counter[Any]()
        odds = []
        for gram in row:
            n = {k: counts[k][gram] - (own[gram] if k == is_good else 0) for k in counts}
            odds.append(
                np.log((n[True] + 0.5) / total[True]) - np.log((n[False] + 0.5) / total[False])
            )
        values.append([np.mean(odds) if odds else 0.0, np.min(odds) if odds else 0.0])
    return np.array(values)


def logistic(x: FloatArray, y: FloatArray, weights: FloatArray, ridge: float = 1.0) -> FloatArray:
    """Coefficients with the intercept first, by Newton's method."""
    design = np.column_stack([np.ones(len(x)), x])
    found = np.zeros(design.shape[1])
    penalty = ridge * np.r_[0.0, np.ones(x.shape[1])]
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ found))
        slope = design.T @ (weights * (y - p)) - penalty * found
        curve = (design * (weights * p * (1 - p))[:, None]).T @ design + np.diag(penalty)
        found = found + np.linalg.solve(curve, slope)
    return found


def area(good: FloatArray, bad: FloatArray) -> float:
    """ROC area: the chance that a good version has the higher score."""
    return float(np.mean((good[:, None] > bad) + 0.5 * (good[:, None] == bad)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--statements", type=int, default=300)
    parser.add_argument("--model", action="append")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=0, help="Print so many of each kind.")
    given = parser.parse_args()
    every = versions(given.data, given.statements, given.seed)
    rng = np.random.default_rng(given.seed)
    columns: list[FloatArray] = []
    for name in given.model or ["pocket:gpt2-l"]:
        model = Likelihoods(name)
        orders = [text for v in every for text in other_orders(v, rng)]
        model.read([*(v.text for v in every), *(v.blanks.plain for v in every), *orders])
        columns.append(np.array([model.features(v, rng) for v in every]))
    good = np.array([v.kind == GOOD for v in every])
    half = np.array([v.statement % 2 == 0 for v in every])
    columns.append(tag_scores(tag_patterns(every), good, half))
    ends = [
        np.mean([f.split()[-1].casefold() in FUNCTION_WORDS for f in v.fills if f]) for v in every
    ]
    columns.append(np.array(ends)[:, None])
    x = np.column_stack(columns)
    x = (x - x[half].mean(axis=0)) / np.maximum(x[half].std(axis=0), 1e-9)
    weights = np.where(good, 3.0, 1.0)
    score = np.column_stack([np.ones(len(x)), x]) @ logistic(
        x[half], good[half].astype(float), weights[half]
    )
    kinds = np.array([v.kind for v in every])
    test = ~half
    print(f"{given.statements} statements, models {given.model or ['pocket:gpt2-l']}")
    print("| versions | n | ROC area | kept, 80 % | kept, 90 % |\n|---|---|---|---|---|")
    cuts = [np.quantile(score[half & good], q) for q in (0.2, 0.1)]
    for kind in KINDS:
        mine = score[test & (kinds == kind)]
        roc = "" if kind == GOOD else f"{area(score[test & good], mine):.3f}"
        kept = " | ".join(f"{100 * np.mean(mine >= cut):.0f} %" for cut in cuts)
        print(f"| {kind} | {len(mine)} | {roc} | {kept} |")
    for kind in KINDS:
        for i in np.flatnonzero(test & (kinds == kind))[: given.show]:
            verdict = "kept   " if score[i] >= cuts[0] else "refused"
            print(f"{kind:24s} {verdict} {every[i].text}")


if __name__ == "__main__":
    main()
