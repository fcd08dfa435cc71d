"""What words of several tokens cost at each tolerance, and how far they move the risks.

    python benchmarks/words.py [MODEL ...] [--contexts 20] [--tolerance 1e-4 ...]

One JSON line for words of one token, for every word exactly (tolerance 0) and for each tolerance:
processor seconds (and their ratio to words of one token), the bounds that are reported (of a cell
and of R), the largest and the mean difference of a preference from exact, and how far R, R^b and
R^v move, as a share of the width of their 95 % intervals. Ratios inside one run can be compared;
times of different machines cannot. Needs the extra `models`.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import numpy as np

import clinometer as cm
from clinometer.models.options import WordOptions
from clinometer.runs import AuditSettings

MEASURES = ("R", "R_bias", "R_volatility")


def asked(model: str, options: argparse.Namespace, words: WordOptions) -> tuple[float, cm.Run]:
    """Processor seconds of an audit without a cache, and its run."""
    settings = AuditSettings(max_contexts=options.contexts, words=words)
    start = time.process_time()
    run = cm.audit(model, contexts=options.set, settings=settings, cache=False)
    return time.process_time() - start, run


def main() -> None:
    """Compare the tolerances."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=["smollm2"])
    parser.add_argument("--contexts", type=int, default=20)
    parser.add_argument("--set", default="wikipedia")
    parser.add_argument(
        "--tolerance", type=float, nargs="+", default=[1e-4, 3e-4, 1e-3, 3e-3, 1e-2]
    )
    options = parser.parse_args()
    for model in options.models:
        compared(model, options)


def compared(model: str, options: argparse.Namespace) -> None:
    """The lines of one model."""
    asked(model, options, WordOptions(single_token=True))  # imports, first kernels
    base, _ = asked(model, options, WordOptions(single_token=True))
    line: dict[str, Any] = {"model": model, "words": "one token", "seconds": round(base, 2)}
    print(json.dumps(line), flush=True)
    exact: cm.Run | None = None
    for tolerance in (0.0, *options.tolerance):
        seconds, run = asked(model, options, WordOptions(tolerance=tolerance))
        exact = exact or run
        far = np.abs(run.preferences.values - exact.preferences.values)
        line = {
            "model": model,
            "tolerance": tolerance,
            "seconds": round(seconds, 2),
            "times one token": round(seconds / base, 2),
            "bound": run.record.preference_bound,
            "bound of R": run.record.risk_bound,
            "largest difference": float(far.max()),
            "mean difference": float(far.mean()),
        }
        for name in MEASURES:
            here, there = getattr(run.risks, name), getattr(exact.risks, name)
            width = there.high - there.low
            line[f"{name} moves, of its interval"] = round(abs(here.value - there.value) / width, 5)
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
