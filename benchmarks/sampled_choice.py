"""Sampled replies against exact probabilities: how often do their intervals hold the exact value?

    python benchmarks/sampled_choice.py [--topic hiring] [--groups 24] [--contexts 10]
                                        [--replies 400] [--tokens 3] [--raw] [--out FOLDER]

SmolLM2 on llama.cpp's own server, in half precision, asked the questions of a topic inside its
chat template (--raw: without). One audit reads the probability of every option, the other samples
replies and reads them. In each cell the 95 % interval of the favourable option is Wilson's, from
the replies that chose an option: `as_read`, those that the readout recognises, and `at_once`, those
that begin with an option, which is what the probabilities are of (a reply may also begin with an
empty line or a quotation mark). Prints one JSON object. With --out an interrupted benchmark
continues.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binomtest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--topic", default="hiring")
    parser.add_argument("--groups", type=int, default=24)
    parser.add_argument("--contexts", type=int, default=10)
    parser.add_argument("--replies", type=int, default=400)
    parser.add_argument("--tokens", type=int, default=3, help="of a reply")
    parser.add_argument("--raw", action="store_true", help="without the chat template")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--out", type=Path, help="keep the runs here, and continue them"
    )
    parser.add_argument(
        "--port", type=int, default=18_433, help="part of the runs' names"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        print(
            json.dumps(
                measured(given, given.out or Path(scratch), Path(scratch)), indent=1
            )
        )


def measured(given: argparse.Namespace, out: Path, scratch: Path) -> dict[str, Any]:
    """Both audits, and how they compare."""
    from tests.models.server.conftest import serving, unpacked

    from clinometer.models import LoadOptions, SampleOptions
    from clinometer.models.catalog.weights import embedded_gguf
    from clinometer.runs import AuditSettings, audit
    from clinometer.topics import load_topic

    topic = load_topic(given.topic)
    topic = topic.select(
        topic.group_names[:: max(1, len(topic) // given.groups)][: given.groups]
    )
    log, weights = (
        scratch / "server.log",
        unpacked(embedded_gguf(), scratch / "smol.gguf"),
    )
    seconds = {}
    runs: dict[str, Any] = {}
    with serving(weights, port=given.port, log=log) as url:
        for name, sampled in (
            ("exact", None),
            (
                "sampled",
                SampleOptions(
                    replies=given.replies, reply_tokens=given.tokens, seed=given.seed
                ),
            ),
        ):
            load = LoadOptions(chat=not given.raw, sampled=sampled)
            settings = AuditSettings(max_contexts=given.contexts, load=load)
            began = time.monotonic()
            runs[name] = audit(
                f"openai:{url}",
                topic=topic,
                out=out / name,
                settings=settings,
                cache=False,
                progress=_report(name),
            )
            seconds[name] = round(time.monotonic() - began)
    exact, drawn = (runs[name].preferences for name in ("exact", "sampled"))
    y = exact.categories.index(topic.readout.favourable)
    return {
        "topic": given.topic,
        "chat": not given.raw,
        "replies": given.replies,
        "as_read": compared(exact, _shares(drawn, y), drawn.answers, y),
        "at_once": compared(exact, *_at_once(runs["sampled"], topic, y), y),
        "exact_shares": np.round(
            np.quantile(exact.values[..., y], [0, 0.25, 0.5, 0.75, 1]), 3
        ).tolist(),
        "other": {
            name: round(float(1 - np.nanmean(p.coverage)), 4)
            for name, p in (("exact", exact), ("sampled", drawn))
        },
        "seconds": seconds,
        "usage": {name: run.record.usage for name, run in runs.items()},
    }


def compared(
    exact: Any, shares: np.ndarray, answers: np.ndarray, y: int
) -> dict[str, Any]:
    """How often the interval of a cell, from shares [X, C] of so many answers, holds the exact
    share."""
    held, too_high, too_low, off = 0, 0, 0, []
    cells = np.argwhere(exact.observed & (answers > 0))
    for x, c in cells:
        n = round(float(answers[x, c]))
        found = binomtest(round(float(shares[x, c]) * n), n).proportion_ci(
            0.95, method="wilson"
        )
        true = float(exact.values[x, c, y])
        held += int(found.low <= true <= found.high)
        too_high += int(true < found.low)
        too_low += int(true > found.high)
        off.append(float(shares[x, c]) - true)
    return {
        "cells": len(cells),
        "answers": round(float(answers.mean()), 1),
        "held": round(held / len(cells), 4),
        "too_high": too_high,
        "too_low": too_low,
        "mean_difference": round(float(np.mean(off)), 5),
        "largest_difference": round(float(np.abs(off).max()), 4),
    }


def _shares(drawn: Any, y: int) -> np.ndarray:
    return np.asarray(drawn.values[..., y])


def _at_once(run: Any, topic: Any, y: int) -> tuple[np.ndarray, np.ndarray]:
    """Shares of the option among replies that begin with one, and how many these are [X, C]."""
    from clinometer.runs.folder.folder import RunFolder

    texts = [
        tuple(t.casefold() for t in spelled) for spelled in topic.attributes.values()
    ]
    X, C = run.preferences.values.shape[:2]
    counts = np.zeros((X, C, len(texts)))
    stored = RunFolder(run.path).read_scores(
        words=len(run.record.words.words), cells=X * C, repair=False
    )
    for cells, scores in stored:
        for x, c, said in zip(cells // C, cells % C, scores.draws, strict=True):
            for reply in said:
                for k, spelled in enumerate(texts):
                    counts[x, c, k] += reply.casefold().startswith(spelled)
    total = counts.sum(axis=2)
    return counts[..., y] / np.maximum(total, 1), total


def _report(name: str) -> Any:
    def told(*counts: Any) -> None:
        print(
            f"\r{name} {' '.join(map(str, counts))}",
            end="",
            file=sys.stderr,
            flush=True,
        )

    return told


if __name__ == "__main__":
    main()
