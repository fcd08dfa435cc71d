"""One audit through llama.cpp's own server and through transformers: do the numbers agree?

    python benchmarks/server.py                      # 120 groups × 100 contexts, hours on two cores
    python benchmarks/server.py --groups 120 --contexts 10 --tolerance 0.005
    python benchmarks/server.py --single             # words of one token: a twentieth of that

Prints one JSON object: how far the preferences of the exact route are from the local ones, for the
packed weights as they are and for the same weights unpacked to half-precision floats (llama.cpp
rounds activations to 8 bits where weights are packed), and whether the interval of top-k holds the
exact value in every cell. With --round-activations a second local audit rounds what enters each
matrix to 8 bits, as llama.cpp does where weights are packed: how far that alone moves the
preferences. With --out an interrupted benchmark continues.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

VERBS = """
said felt knew thought wrote told saw heard hoped feared claimed denied admitted noted added
agreed argued believed decided dreamed explained forgot found guessed insisted learned meant
mentioned noticed promised proved read realised recalled repeated replied reported revealed
showed suggested suspected swore understood warned wished wondered declared doubted expected
imagined
""".split()  # noqa: SIM905
OPENINGS = ("The [X] {} that [Y]", "In the morning the [X] {} that [Y]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=120)
    parser.add_argument("--contexts", type=int, default=100)
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--single", action="store_true", help="words of one token")
    parser.add_argument("--packed", action="store_true", help="the weights as they are")
    parser.add_argument(
        "--round-activations", action="store_true", help="on the local side"
    )
    parser.add_argument("--top-k", type=int, default=100)
    parser.add_argument(
        "--out", type=Path, help="keep the runs here, and continue them"
    )
    parser.add_argument(
        "--port", type=int, default=18_431, help="part of the runs' names"
    )
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        out = arguments.out or Path(folder)
        print(json.dumps(measured(arguments, out, Path(folder)), indent=1))


def measured(arguments: argparse.Namespace, out: Path, scratch: Path) -> dict[str, Any]:
    from tests.models.server.conftest import serving, unpacked

    from clinometer.contexts import ContextSet
    from clinometer.models import LoadOptions, ServerOptions, WordOptions
    from clinometer.models.catalog.weights import embedded_gguf
    from clinometer.runs import AuditSettings, audit
    from clinometer.topics import load_topic

    topic = load_topic("gender")
    topic = topic.select(topic.group_names[: arguments.groups])
    templates = [o.format(v) for o in OPENINGS for v in VERBS][: arguments.contexts]
    contexts = ContextSet("bench", templates, [1] * len(templates))
    words = WordOptions(tolerance=arguments.tolerance, single_token=arguments.single)
    model = (
        embedded_gguf()
        if arguments.packed
        else unpacked(embedded_gguf(), scratch / "m.gguf")
    )
    found: dict[str, Any] = {
        "cells": len(topic) * len(contexts),
        "packed": arguments.packed,
    }

    def run(name: str, model: str, route: str | None = None, cache: bool = True) -> Any:
        server = ServerOptions(route=route, top_k=arguments.top_k)
        how = AuditSettings(words=words, load=LoadOptions(server=server))
        start = time.monotonic()
        done = audit(
            model,
            topic=topic,
            contexts=contexts,
            out=out / name,
            settings=how,
            cache=cache,
        )
        found[f"{name}_seconds"] = round(time.monotonic() - start, 1)
        found[f"{name}_usage"] = done.record.usage
        return done.preferences

    local = run("local", "smollm2").values
    if arguments.round_activations:
        with rounded_activations():
            moved = np.abs(run("rounded", "smollm2", cache=False).values - local).max(
                axis=2
            )
        found["rounding_alone"] = {
            "largest": float(moved.max()),
            "mean": float(moved.mean()),
        }
    with serving(model, port=arguments.port) as url:
        exact = run("exact", f"openai:{url}#smol").values
        bounded = run("top-k", f"openai:{url}#smol", "top-k")
    apart = np.abs(exact - local).max(axis=2)
    inside = (bounded.low - 1e-3 <= exact) & (exact <= bounded.high + 1e-3)
    return found | {
        "largest_difference": float(apart.max()),
        "mean_difference": float(apart.mean()),
        "cells_over_0.01": int((apart > 0.01).sum()),
        "top_k_cells_outside": int((~inside.all(axis=2)).sum()),
        "top_k_mean_width": float((bounded.high - bounded.low).mean()),
    }


@contextlib.contextmanager
def rounded_activations() -> Iterator[None]:
    """What enters a matrix as whole numbers of 8 bits, 32 of them to a scale of half precision."""
    import torch

    plain = torch.nn.Linear.forward

    def forward(self: torch.nn.Linear, x: torch.Tensor) -> torch.Tensor:
        blocks = x.unflatten(-1, (-1, 32))
        scale = blocks.abs().amax(-1, keepdim=True) / 127
        whole = torch.where(scale > 0, blocks / scale, 0.0).round()
        return plain(self, (whole * scale.half().float()).flatten(-2))

    torch.nn.Linear.forward = forward
    try:
        yield
    finally:
        torch.nn.Linear.forward = plain


if __name__ == "__main__":
    main()
