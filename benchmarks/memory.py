"""Peak memory of an audit as its grid grows to 120 × 32,000: one JSON object.

A GPT-2 of two narrow layers with random weights, so that what grows is the grid and not the model:
3.84 million prompts pass through tokenising, scoring, the store and the intervals. Each size is a
process of its own. Some ten minutes on one core.

    python benchmarks/memory.py
    python benchmarks/memory.py --contexts 500 4000
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

VERBS = "said wrote felt knew heard saw hoped feared told showed proved meant".split()  # noqa: SIM905


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contexts", type=int, nargs="+", default=[500, 8_000, 32_000])
    parser.add_argument("--one", nargs=2, metavar=("MODEL", "CONTEXTS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measured(Path(arguments.one[0]), int(arguments.one[1]))
        return
    with tempfile.TemporaryDirectory() as folder:
        model = small_model(Path(folder) / "model")
        results = []
        for n in arguments.contexts:
            asked = [sys.executable, __file__, "--one", str(model), str(n)]
            alone = {**os.environ, "CLINOMETER_CACHE_LIMIT": "0"}
            done = subprocess.run(asked, check=True, stdout=subprocess.PIPE, text=True, env=alone)
            results.append(json.loads(done.stdout))
            print(results[-1], file=sys.stderr)
    print(json.dumps({"benchmark": "memory", "groups": 120, "results": results}))


def measured(model: Path, n_contexts: int) -> None:
    """One audit in this process; what it imports is there before it."""
    import pandas  # noqa: F401
    import pyarrow.parquet  # noqa: F401
    import scipy.stats  # noqa: F401
    import torch  # noqa: F401
    import transformers

    _ = transformers.AutoModelForCausalLM, transformers.GPT2LMHeadModel
    from clinometer.contexts import ContextSet
    from clinometer.models import WordOptions
    from clinometer.runs import AuditSettings, audit

    contexts = ContextSet("many", templates(n_contexts), [1.0] * n_contexts)
    before = peak_mb()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as out:
        settings = AuditSettings(words=WordOptions(single_token=True))
        run = audit(str(model), topic="gender", contexts=contexts, out=Path(out), settings=settings)
        stored = sum(f.stat().st_size for f in Path(out).rglob("*") if f.is_file())
        cells = run.record.counts["cells"]
    found = {
        "contexts": n_contexts,
        "cells": cells,
        "seconds": round(time.monotonic() - start, 1),
        "peak_mb": peak_mb(),
        "before_the_audit_mb": before,
        "preferences_mb": round(cells * 2 * 8 / 1e6, 1),
        "run_folder_mb": round(stored / 1e6, 1),
    }
    print(json.dumps(found))


def templates(n: int) -> list[str]:
    """Short contexts, all different."""
    numbers = [f"{a} {b} {c}" for a in VERBS for b in VERBS for c in VERBS]
    found = [f"The [X] {a} and {b} that [Y]" for a in numbers for b in numbers[:32]]
    return found[:n]


def small_model(folder: Path) -> Path:
    """Random weights, and a tokenizer in which most words are one token."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    from clinometer.topics import load_topic

    topic = load_topic("gender")
    words = [w for some in topic.attributes.values() for w in some]
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2_000,
        special_tokens=["<|endoftext|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    text = " ".join(["The", *VERBS, "and that", *topic.group_names, *words])
    made.train_from_iterator([text] * 3, trainer)
    end = "<|endoftext|>"
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, bos_token=end, eos_token=end
    )
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    config = transformers.GPT2Config(
        vocab_size=len(tokenizer), n_embd=16, n_layer=2, n_head=2, n_positions=128, **ends
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def peak_mb() -> float:
    """Of this process; Linux counts in kilobytes."""
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3, 1)


if __name__ == "__main__":
    main()
