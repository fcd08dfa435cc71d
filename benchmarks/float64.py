"""Preferences of an audit with default settings against float64, for 23 small architectures.

    PYTHONPATH=. python benchmarks/float64.py [ARCHITECTURE ...] [--groups 6] [--seed 0]

One JSON line per architecture (random weights, real classes and tokenizers; causal, masked and
sequence-to-sequence models; transformers cannot compute XLNet in float64). The reference is the
same model in float64, one prompt and one word at a time by plain transformers calls
(`tests/models/direct.py`), every word in full. Reported are the bounds that the audit states (of a
preference and of R), the largest difference of a preference and of R, and the most by which any
cell exceeds its own bound: what is left of it is float32's rounding. The last line sums up. Needs
the extra `models`.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from tests.models import direct, zoo

import clinometer as cm
from clinometer.contexts import ContextSet
from clinometer.runs import RunFolder
from clinometer.topics import Group, Topic

GROUPS = ("nurse", "doctor", "engineer", "pilot", "teacher", "woman", "man", "girl")
TEMPLATES = (
    "The [X] said that [Y]",
    "The [X] in the house told [Y]",
    "The [X] liked the [Y]",
    "The [X] saw the man and the [Y]",
    "The [X] said that [Y] was late",
)
AUTO = {"masked": "MaskedLM", "seq2seq": "Seq2SeqLM"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "architectures", nargs="*", default=[f for f in zoo.FAMILIES if f != "xlnet"]
    )
    parser.add_argument(
        "--groups", type=int, default=6, choices=range(1, len(GROUPS) + 1)
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random weights")
    options = parser.parse_args()
    transformers.utils.logging.disable_progress_bar()
    lines = []
    for family in options.architectures:
        with tempfile.TemporaryDirectory() as folder:
            zoo.make(family, Path(folder), seed=options.seed)
            lines.append(compared(family, Path(folder), options.groups))
            print(json.dumps(lines[-1]), flush=True)
    summary = {
        "architectures": len(lines),
        "cells": sum(line["cells"] for line in lines),
        "largest difference": max(line["largest difference"] for line in lines),
        "largest bound": max(line["bound"] for line in lines),
        "beyond its bound": max(line["beyond its bound"] for line in lines),
        "R beyond its bound": max(line["R beyond its bound"] for line in lines),
    }
    print(json.dumps(summary))


def compared(family: str, folder: Path, groups: int = len(GROUPS)) -> dict[str, Any]:
    """The line of one architecture, whose model is in `folder`."""
    kind = zoo.FAMILIES[family].kind
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    topic = asked_topic(tokenizer, groups)
    contexts = ContextSet("few", TEMPLATES, range(1, len(TEMPLATES) + 1))
    run, bounds = audited(folder, topic, contexts)
    exact = replace(run.preferences, values=in_float64(kind, folder, tokenizer, topic))
    moved = np.abs(run.preferences.values - exact.values).max(axis=2)
    moved_R = abs(run.risks.R.value - exact.decompose().R.value)
    return {
        "architecture": family,
        "kind": kind,
        "words": len(topic.words),
        "cells": int(moved.size),
        "cells with skipped words": int(np.count_nonzero(bounds)),
        "bound": run.record.preference_bound,
        "largest difference": float(moved.max()),
        "beyond its bound": float((moved - bounds).max()),
        "bound of R": run.record.risk_bound,
        "difference of R": float(moved_R),
        "R beyond its bound": float(moved_R - (run.record.risk_bound or 0.0)),
    }


def asked_topic(tokenizer: Any, groups: int) -> Topic:
    """Groups, and words that the tokenizer can write, none of whose tokens begin another's."""
    chosen: dict[str, list[int]] = {}
    for word in zoo.CANDIDATES:
        ids = direct.word_ids(tokenizer, word)
        clash = any(ids[: len(o)] == o or o[: len(ids)] == ids for o in chosen.values())
        if ids and tokenizer.unk_token_id not in ids and not clash:
            chosen[word] = ids
    words = tuple(chosen)
    return Topic(
        "float64",
        groups=tuple(Group(name) for name in GROUPS[:groups]),
        attributes={"one": words[::2], "other": words[1::2]},
    )


def audited(folder: Path, topic: Topic, contexts: ContextSet) -> tuple[cm.Run, Any]:
    """An audit with default settings on the CPU, and the bound of every cell [X, C]."""
    with tempfile.TemporaryDirectory() as out:
        run = cm.audit(
            str(folder),
            topic=topic,
            contexts=contexts,
            out=out,
            cache=False,
            device="cpu",
        )
        bounds = np.empty(len(topic) * len(contexts))
        for cells, scores in RunFolder(Path(out)).read_scores(
            words=len(topic.words), cells=len(bounds)
        ):
            bounds[cells] = scores.skipped / np.exp(scores.log_coverage)
    return run, bounds.reshape(len(topic), len(contexts))


def in_float64(kind: str, folder: Path, tokenizer: Any, topic: Topic) -> Any:
    """Preferences [X, C, 2] by plain calls of the model in float64."""
    auto = getattr(transformers, f"AutoModelFor{AUTO.get(kind, 'CausalLM')}")
    model = auto.from_pretrained(folder, dtype=torch.float64).eval()
    values = np.empty((len(topic), len(TEMPLATES), 2))
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)  # masks are made in it
    try:
        for x, group in enumerate(topic.groups):
            for c, template in enumerate(TEMPLATES):
                p = topic.render(template, group)
                mass = [
                    sum(
                        np.exp(
                            direct.log_prob(
                                kind, model, tokenizer, p.before, p.after, word
                            )
                        )
                        for word in words
                    )
                    for words in topic.attributes.values()
                ]
                values[x, c] = np.array(mass) / sum(mass)
    finally:
        torch.set_default_dtype(before)
    return values


if __name__ == "__main__":
    main()
