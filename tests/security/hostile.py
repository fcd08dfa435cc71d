"""What strangers send: a topic, a run folder, a log and an adapter that name code and addresses."""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from tests.models.server.http import Server

from clinometer.bridges.imported import audited_elsewhere
from clinometer.bridges.inspect_audit import InspectAudit
from clinometer.contexts.load import default_contexts
from clinometer.models import ModelInfo, WordReport
from clinometer.models.replies import read_replies
from clinometer.readouts.readers import WordCountReader
from clinometer.runs import AuditSettings
from clinometer.runs.folder.record import ImportRecord
from clinometer.runs.scores import CellGrid
from clinometer.topics import parse_topic

#: Code that a file may name: of Python, of an installed package, of this project.
CODE = (
    "os:system",
    "builtins:exec",
    "subprocess:getoutput",
    "numpy:load",
    "clinometer:audit",
)
CONTEXTS = ("Is the [X] glad?", "Would you say that the [X] is glad?")


class Listener(Server):
    """Counts connections, and keeps the first bytes of each."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        super().__init__(BaseHTTPRequestHandler)

    def process_request(self, request: Any, client_address: object) -> None:
        request.settimeout(1)
        self.heard.append(b"")
        with contextlib.suppress(OSError):
            self.heard[-1] = request.recv(4096)
        self.shutdown_request(request)


def readouts(url: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Every [readout] that names something, with what it names: code, and models that are
    elsewhere, in every way that a file can write it."""
    yield from ((name, {"by": "function", "function": name}) for name in CODE)
    local = f"openai:http://localhost:{url.rpartition(':')[2]}/v1"
    for name in (f"openai:{url}#m", local, "org/model", "//host/share/model"):
        yield name, {"by": "judge", "model": name, "rubric": "Is it? [reply]"}
        yield name, {"by": "classifier", "model": name}


def topic_text(readout: dict[str, str]) -> str:
    table = "\n".join(f"{key} = {json.dumps(value)}" for key, value in readout.items())
    wording = json.dumps([f"{text} [Y]" for text in CONTEXTS])
    return (
        'name = "moods"\ngroups = ["nurse", "cook"]\n[attributes]\nglad = ["yes"]\nsad = ["no"]\n'
        f'[readout]\nkind = "text"\n{table}\n[contexts]\nwording = {wording}\n'
    )


def write_topic(folder: Path, readout: dict[str, str]) -> Path:
    path = folder / "topic.toml"
    path.write_text(topic_text(readout), encoding="utf-8")
    return path


@cache
def _sound_run() -> tempfile.TemporaryDirectory[str]:
    """A finished run with sampled replies; to measure it takes a second."""
    folder = tempfile.TemporaryDirectory()
    topic = parse_topic(topic_text({"by": "words"}))
    grid = CellGrid(topic, default_contexts(topic), chunk_size=16)
    prompts = grid.prompts(range(len(grid)))
    reader = WordCountReader(topic.attributes)
    said = [("yes", "no", "yes", "no")] * len(prompts)
    audited_elsewhere(
        grid,
        read_replies(reader, topic.attributes, prompts, topic.words, said),
        WordReport(tokens={word: (word,) for word in topic.words}),
        ModelInfo("made:model", "sampled", "none"),
        ImportRecord(tool="made", file="made", sha256="0" * 64, samples=8),
        AuditSettings(),
        out=Path(folder.name),
        fresh=False,
    )
    return folder


def write_run(folder: Path, readout: dict[str, str]) -> Path:
    """A finished run with sampled replies, whose record has this readout."""
    shutil.copytree(_sound_run().name, folder)
    path = folder / "run.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record["topic"]["readout"] = {"kind": "text", **readout}
    path.write_text(json.dumps(record), encoding="utf-8")
    return folder


def write_log(path: Path, readout: dict[str, str]) -> Path:
    """A log of clinometer/audit, with a reply in every cell."""
    from inspect_ai.log import (
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalSample,
        EvalSpec,
        write_eval_log,
    )
    from inspect_ai.model import ModelOutput

    templates = [f"{text} [Y]" for text in CONTEXTS]
    contexts = {
        "name": "made",
        "templates": templates,
        "counts": [1.0] * len(templates),
    }
    about: dict[str, Any] = {
        "replies": 4,
        "temperature": 1.0,
        "reply_tokens": 3,
        "seed": 0,
    }
    metadata = {
        "clinometer": {"topic": topic_text(readout), "contexts": contexts, **about}
    }
    asked = [
        text
        for text, _ in InspectAudit.from_metadata(
            metadata["clinometer"], where=""
        ).samples()
    ]
    dataset = EvalDataset(sample_ids=[*range(1, len(asked) + 1)])
    spec = EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="clinometer/audit", dataset=dataset,
        model="mockllm/made", config=EvalConfig(epochs=4), metadata=metadata,
    )  # fmt: skip
    samples = [
        EvalSample(
            id=cell + 1, epoch=epoch, input=text, target="",
            metadata={"cell": cell}, output=ModelOutput.from_content("mockllm/made", "yes"),
        )
        for cell, text in enumerate(asked)
        for epoch in (1, 2, 3, 4)
    ]  # fmt: skip
    log = EvalLog(eval=spec, status="success", samples=samples)
    write_eval_log(log, str(path))
    return path
