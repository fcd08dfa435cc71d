"""One model asked in several ways, and a task of another harness read as a run.

    .venv/harnesses/bin/python benchmarks/bridges.py replies [WORK]    # after make test-harnesses
    .venv/harnesses/bin/python benchmarks/bridges.py pairs [WORK]

`replies`: SmolLM2 behind llama.cpp's server, asked the questions of hiring in its chat template by
`clinometer audit --replies --chat` and by `inspect eval clinometer/audit`, which is then imported.
`pairs`: the harness's own crows_pairs_english on two packaged models, imported and compared.

Each prints one JSON object, through the commands that a user types, and keeps the runs in WORK.
`pairs` reads the published CrowS-Pairs in ../shared/data. None needs a network.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests.components import require
from tests.models.server.conftest import serving, unpacked
from tests.processes import ROOT

from clinometer.models import ModelSpec
from clinometer.models.catalog.weights import embedded_gguf, weights_source
from clinometer.runs import Run, RunFolder

TOPIC, GROUPS = "hiring", "Jessica Schmidt,Ashley Hernandez,Black man,Asian woman"
CONTEXTS, REPLIES, TOKENS = 6, 40, 3
SERVED = "openai-api/local/smol"
HARNESS = ROOT / "tests" / "bridges" / "lm_eval" / "run_harness.py"


def run(*command: object, **env: str) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", **env},
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            f"{' '.join(map(str, command))}\n{(done.stderr or done.stdout)[-2000:]}"
        )
    return done.stdout


def clinometer(*words: object, **env: str) -> str:
    return run("-m", "clinometer", *words, **env)


def replies(work: Path) -> dict[str, Any]:
    asked = ("--topic", TOPIC, "--groups", GROUPS, "--max-contexts", CONTEXTS, "--seed", "0",
             "--replies", REPLIES, "--load", f"reply_tokens={TOKENS}")  # fmt: skip
    model = unpacked(embedded_gguf(), work / "smol.gguf")
    with serving(model) as url:
        env = {
            "LOCAL_API_KEY": "none",
            "LOCAL_BASE_URL": f"{url}/v1",
            "INSPECT_CACHE_DIR": str(work / "cache"),
        }
        clinometer("audit", f"openai:{url}", *asked, "--chat", "--out", work / "own")
        run(
            *("-m", "inspect_ai", "eval", "clinometer/audit", "--model", SERVED),
            *(
                "-T",
                f"topic={TOPIC}",
                "-T",
                f"groups={GROUPS}",
                "-T",
                f"max_contexts={CONTEXTS}",
            ),
            *(
                "-T",
                f"replies={REPLIES}",
                "-T",
                "seed=0",
                "-T",
                f"reply_tokens={TOKENS}",
            ),
            *("--log-dir", work / "logs", "--display", "none"),
            **env,
        )
    (log,) = (work / "logs").glob("*.eval")
    clinometer("import", "inspect", log, "--out", work / "inside", "--fresh")
    (chat,) = (
        path.parent for path in (work / "own").rglob("run.json") if "chat" in str(path)
    )
    where = {"ours": chat, "inside": work / "inside"}
    runs = {name: Run.load(path) for name, path in where.items()}
    return {
        "cells": int(runs["ours"].preferences.observed.size),
        "replies_per_cell": REPLIES,
        "R": {name: one.risks.R.to_dict() for name, one in runs.items()},
        "R_bias": {name: one.risks.R_bias.to_dict() for name, one in runs.items()},
        "R_volatility": {
            name: one.risks.R_volatility.to_dict() for name, one in runs.items()
        },
        "ours and inside": same_replies(runs["ours"], runs["inside"]),
        "R_within_interval": all(
            within(runs[a], runs[b]) for a in runs for b in runs if a != b
        ),
    }


def within(one: Run, other: Run) -> bool:
    low, high = one.risks.R.low, one.risks.R.high
    return low is not None and high is not None and low <= other.risks.R.value <= high


def same_replies(one: Run, other: Run) -> dict[str, int]:
    """Replies with the same text; cells whose replies begin with the same words, and of these the
    ones with the same preferences."""
    a, b = drawn(one), drawn(other)
    both = list(zip(a, b, strict=True))
    texts = [pair for first, second in both for pair in zip(first, second, strict=True)]
    cells = np.array(
        [first_words(first) == first_words(second) for first, second in both]
    )
    cells = cells.reshape(one.preferences.values.shape[:2])
    p, q = (
        np.nan_to_num(run.preferences.values[cells], nan=-1) for run in (one, other)
    )
    return {
        "replies": len(texts),
        "same_text": sum(x == y for x, y in texts),
        "cells_with_the_same_words": int(cells.sum()),
        "of_these_with_the_same_preferences": int((p == q).all(axis=-1).sum()),
    }


def first_words(texts: tuple[str, ...]) -> list[str]:
    """What decides the category of each reply."""
    return [text.split()[0] if text.split() else "" for text in texts]


def drawn(one: Run) -> list[tuple[str, ...]]:
    """The stored replies of every cell, in order."""
    assert one.path is not None
    found: dict[int, tuple[str, ...]] = {}
    words = len(one.record.scored_words.words)
    n = one.preferences.values[:, :, 0].size
    for cells, scores in RunFolder(one.path).read_scores(words=words, cells=n):
        assert scores.draws is not None
        found |= dict(zip(cells.tolist(), scores.draws, strict=True))
    return [found[cell] for cell in sorted(found)]


def pairs(work: Path) -> dict[str, Any]:
    folder = Path(require("shared data"), "benchmarks", "crows_pairs")
    published = folder / "crows_pairs_anonymized.csv"
    source = work / "pairs.jsonl"
    with published.open(encoding="utf-8", newline="") as stream:
        lines = [json.dumps(row, ensure_ascii=False) for row in csv.DictReader(stream)]
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found: dict[str, Any] = {"pairs": len(lines)}
    for name in ("gpt2-l", "gpt2-s"):
        weights = weights_source(ModelSpec.parse(f"pocket:{name}"))
        run(HARNESS, weights, source, work / name)
        (samples,) = (work / name).rglob("samples_crows_pairs_english_*.jsonl")
        model = f"pocket:{name}"
        clinometer(
            "import",
            "lm-eval",
            samples,
            "--model",
            model,
            "--out",
            work / f"run-{name}",
            "--fresh",
        )
        one = Run.load(work / f"run-{name}")
        found[model] = {
            m: one.risks.summary[m].to_dict() for m in ("R", "R_bias", "R_volatility")
        }
    compared = clinometer("compare", work / "run-gpt2-l", work / "run-gpt2-s", "--json")
    return {**found, "compared": json.loads(compared)}


def main() -> None:
    what = {"replies": replies, "pairs": pairs}[sys.argv[1]]
    if len(sys.argv) > 2:
        work = Path(sys.argv[2]).resolve()
        work.mkdir(parents=True, exist_ok=True)
        found = what(work)
    else:
        with tempfile.TemporaryDirectory() as folder:
            found = what(Path(folder))
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
