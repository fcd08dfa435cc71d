"""What the faults of faults.py strike: real commands that write, and every number they must give.

Models and parsers are opened once, before the commands are forked; what is struck is how results
reach the disk.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.report.made import made_run

from clinometer.runs import Run, audit
from clinometer.samples import write_samples

TOPIC = """
name = "few"
title = "Few"
language = "en"
groups = ["nurse", "pilot"]
[attributes]
first = ["a"]
second = ["b"]
"""
JUDGED = """
name = "moods"
groups = ["nurse", "pilot"]
[attributes]
glad = ["glad"]
sad = ["sad"]
[readout]
kind = "text"
by = "judge"
model = "pocket:gpt2-s"
rubric = "How does this sound? [reply]"
[contexts]
wording = ["How was the day of the [X]? [Y]", "Tell me of the [X]. [Y]", "A line on the [X]: [Y]"]
"""
(SAMPLES,) = (Path(__file__).parents[1] / "tests" / "data" / "lm_eval").glob(
    "samples_*.jsonl"
)
VERBS = ("said", "knew", "felt")


def answer(asked: object) -> str:
    """An application, whose replies a judge reads."""
    return f"It was {hashlib.sha256(json.dumps(asked).encode()).hexdigest()}."


def score(asked: object) -> str:
    """An application that gives points."""
    return str(hashlib.sha256(json.dumps(asked).encode()).digest()[0] % 101)


@dataclass(frozen=True)
class Subject:
    """A command that writes below a folder, and what it must have written in the end."""

    words: Callable[[Path], list[str]]
    outcome: Callable[[Path], Any]
    prepare: Callable[[], None] = lambda: None


def subjects(folder: Path, url: str, other: str, sampled: str) -> dict[str, Subject]:
    """By name; `url` and `other` are servers with a small model, `sampled` is one that replies."""
    run = folder / "finished"
    made_run(run, groups=3, contexts=8)
    write_samples(folder / "samples")
    topic = folder / "topic.toml"
    topic.write_text(TOPIC)
    for name, verbs in (("contexts", VERBS), ("others", VERBS[::-1])):
        rows = "".join(
            f"The [X] {verb} that [Y],{n}\n" for n, verb in enumerate(verbs, 1)
        )
        (folder / f"{name}.csv").write_text(f"template,count\n{rows}")
    judged, scored = folder / "judged.toml", folder / "scored.toml"
    judged.write_text(JUDGED)
    head, _, tail = JUDGED.partition("[attributes]")
    contexts = tail.partition("[contexts]")[2]
    scored.write_text(
        f'{head}reference = "group-mean"\n[readout]\nkind = "number"\n'
        f"scale = [0, 100]\n[contexts]{contexts}"
    )
    model = f"openai:{url}#toy"
    given = folder / "samples"
    return {
        "audit": Subject(
            lambda out: [
                "audit", model, "--topic", str(topic), "--contexts", str(folder / "contexts.csv"),
                "--out", str(out),
            ],
            _audited,
            _small_parts,
        ),
        "reliability": Subject(
            lambda out: [
                "reliability", "audit", str(given / "statements.csv"), "--variants",
                str(given / "versions.jsonl"), "--out", str(out), "--limit", "4", "-n", "3",
            ],
            _scored,
            _open_models_once,
        ),
        "reliability audit": Subject(
            lambda out: [
                "reliability", "audit", str(given / "statements.csv"), "--limit", "2", "--versions",
                "2", "--out", str(out),
            ],
            _benchmarked,
            _open_models_once,
        ),
        "mining": Subject(
            lambda out: [
                "mine", str(given / "articles.jsonl"), "--topic", "gender", "--out",
                str(_made(out) / "contexts.csv"),
            ],
            lambda out: [(out / f"contexts{end}").read_bytes() for end in (".csv", ".json")],
            _parse_once,
        ),
        "study": Subject(
            lambda out: [
                "study", "sources", model, f"openai:{other}#toy", "--topic", str(topic),
                "--source", f"one={folder / 'contexts.csv'}",
                "--source", f"two={folder / 'others.csv'}", "--out", str(out),
            ],
            _studied,
            _small_parts,
        ),
        "sampling": Subject(
            lambda out: [
                "audit", f"openai:{sampled}#toy", "--topic", str(topic), "--contexts",
                str(folder / "contexts.csv"), "--replies", "6", "--out", str(out),
            ],
            _sampled,
            _small_parts,
        ),
        "application": Subject(
            lambda out: [
                "audit", "app:fault_subjects:score", "--topic", str(scored), "--replies", "5",
                "--out", str(out),
            ],
            _audited,
            _small_parts,
        ),
        "judge": Subject(
            lambda out: [
                "audit", "app:fault_subjects:answer", "--topic", str(judged), "--replies", "3",
                "--out", str(out),
            ],
            _audited,
            _open_models_once,
        ),
        "import": Subject(
            lambda out: [
                "import", "lm-eval", str(SAMPLES), "--mapping", "crows_pairs", "--model", "made",
                "--out", str(out),
            ],
            _audited,
        ),
        "report": Subject(
            lambda out: [
                "report", str(run), "--out", str(out / "run.csv"),
            ],
            lambda out: sorted((file.name, file.read_bytes()) for file in out.iterdir()),
        ),
    }  # fmt: skip


def _made(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    return folder


def _audited(out: Path) -> Any:
    run = Run.load(out)
    return (
        run.to_pandas().to_csv(index=False),
        run.groups.to_csv(),
        run.risks.to_dict(),
        run.record.model.to_dict(),
    )


def _sampled(out: Path) -> Any:
    """Each of the six cells is paid for at least once: three tokens a request."""
    return _audited(out), min(18, Run.load(out).record.usage["tokens"])


def _scored(out: Path) -> Any:
    from clinometer.reliability.run import ReliabilityRun

    run = ReliabilityRun.load(out)
    # Short of memory, torch may take another kernel: the last digits are not the same.
    return [
        table.to_csv(float_format="%.5g") for table in (run.statements, run.versions)
    ]


def _benchmarked(out: Path) -> Any:
    """Every file of every step, the page apart: it says when it was written."""
    steps = [
        file for file in sorted(out.glob("*.*")) if file.suffix in (".csv", ".jsonl")
    ]
    return [file.read_text(encoding="utf-8") for file in steps], _scored(out / "run")


def _studied(out: Path) -> Any:
    tables = {
        file.name: file.read_bytes() for file in sorted((out / "tables").iterdir())
    }
    found = json.loads((out / "study.json").read_text(encoding="utf-8"))
    found["runs"] = [Path(run).name for run in found["runs"]]
    return found, tables


def _small_parts() -> None:
    """Several parts, each written at once."""
    module: Any = sys.modules[audit.__module__]
    module._chunk_size = lambda device: 2
    vars(sys.modules["clinometer.runs.scoring"])["FLUSH_S"] = 0.0


def _open_models_once() -> None:
    from clinometer.contexts.mining.languages.english.parser import open_parser
    from clinometer.models import open_model
    from clinometer.reliability import taus, variants

    open_parser()  # cached: the forks share it
    opened = {
        name: open_model(name)
        for name in ("pocket:bert", "pocket:gpt2-s", variants.CHOOSER)
    }
    module: Any
    for module in (taus, variants):
        module.open_model = lambda name, **_: opened[name]
    module = taus
    module.POOL_SIZES = {"cpu": 4}
    module.FLUSH_S = 0.0


def _parse_once() -> None:
    from clinometer.contexts.mining import run
    from clinometer.contexts.mining.languages.english.parser import open_parser

    open_parser()  # cached: the forks share it
    module: Any = run
    module.PIECE = 6
