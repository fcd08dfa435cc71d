"""Do three ways give the same pseudo-log-likelihood? Prints one JSON object.

Real statements (a csv with a column `sentence`), pocket:bert, the corrected and the original
variant: Clinometer, a loop of one masked sequence at a time, and minicons, which loads the model
from its folder by itself. Slow: the loop reads every copy alone.

    PYTHONPATH=src python3 benchmarks/pll_agreement.py STATEMENTS.csv --statements 200
"""

from __future__ import annotations

import argparse
import csv
import json
import random
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch

from clinometer.models import ModelSpec, open_model
from clinometer.models.likelihood import score_texts
from clinometer.models.local.base import light_kernels
from clinometer.models.whole_texts import MarkedText, Masking, TextOptions


def loop(model: Any, tokenizer: Any, text: str, *, whole_word: bool) -> float:
    """One masked sequence at a time, logits of the whole sequence."""
    encoded = tokenizer(text)
    ids, words = encoded["input_ids"], encoded.word_ids()
    total = 0.0
    for p, word in enumerate(words):
        if word is None:
            continue
        hidden = [
            q == p or (whole_word and q > p and words[q] == word)
            for q in range(len(ids))
        ]
        row = [
            tokenizer.mask_token_id if h else i
            for h, i in zip(hidden, ids, strict=True)
        ]
        with torch.inference_mode(), light_kernels():
            logits = (
                model(input_ids=torch.tensor([row], device=model.device))
                .logits[0, p]
                .double()
            )
        total += float(logits.log_softmax(-1)[ids[p]])
    return total


def minicons(folder: str, texts: list[str], metric: str) -> list[float]:
    """minicons on the same folder; encoded by hand, because 0.3.39 calls a method that
    transformers 5 no longer has."""
    from minicons.scorer import MaskedLMScorer

    scorer = MaskedLMScorer(folder, "cpu")
    found: list[float] = []
    for text in texts:
        encoded = scorer.tokenizer([text], return_tensors="pt")
        with light_kernels():
            found += scorer.sequence_score(
                encoded, reduction=lambda x: x.sum().item(), PLL_metric=metric
            )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", type=Path)
    parser.add_argument("--statements", type=int, default=200)
    parser.add_argument("--words", type=int, default=1000, help="none longer than this")
    parser.add_argument(
        "--double", action="store_true", help="float64 weights, without minicons"
    )
    settings = parser.parse_args()
    with settings.table.open(encoding="utf-8") as stream:
        texts = [row["sentence"] for row in csv.DictReader(stream)]
    texts = [text for text in texts if len(text.split()) <= settings.words]
    texts = random.Random(0).sample(texts, settings.statements)  # noqa: S311
    scorer: Any = open_model("pocket:bert")
    if settings.double:
        scorer.model.double()
    folder = ModelSpec.parse("pocket:bert").target
    record: dict[str, Any] = {
        "benchmark": "pll_agreement",
        "statements": len(texts),
        "longest_in_words": max(len(t.split()) for t in texts),
    }
    for masking in get_args(Masking):
        options = TextOptions(masking=masking, targets="scored")
        ours = score_texts(scorer, [MarkedText(t) for t in texts], options).log_prob
        slow = [
            loop(scorer.model, scorer.tokenizer, t, whole_word=masking != "original")
            for t in texts
        ]
        off = np.abs(ours - np.array(slow))
        record[masking] = {
            "largest_difference_to_loop": float(off.max()),
            "statements_off_by_more_than_1e-4": int((off > 1e-4).sum()),
            "mean_log_prob": float(ours.mean()),
        }
        if not settings.double:
            theirs = minicons(folder, texts, masking)
            record[masking]["largest_difference_to_minicons"] = float(
                np.abs(ours - theirs).max()
            )
    print(json.dumps(record))


if __name__ == "__main__":
    main()
