"""Logs of Inspect by Inspect itself, of a model whose replies are made up."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from clinometer.models.sampled import seed_for
from clinometer.models.server.request import INSTRUCTION

REPLIES = (" he left", "She said", "I'm sorry, but", " they", "her hands", " the man")
GROUPS = "nurse,engineer"
N = 8


def answered(text: str, epoch: int) -> str:
    """The reply to a text in an epoch."""
    return _chosen(INSTRUCTION.format(text), seed_for(0, epoch - 1, text))


def _chosen(asked: str, seed: int | None) -> str:
    digest = hashlib.sha256(f"{asked}{seed}".encode()).digest()
    return REPLIES[digest[0] % len(REPLIES)]


def made_model() -> Any:
    """Answers by the question and the seed."""
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def reply(messages: Any, tools: Any, choice: Any, config: Any) -> Any:
        text = _chosen(messages[-1].text, config.seed)
        output = ModelOutput.from_content("mockllm/made", text)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/made", custom_outputs=reply, memoize=False)


def audit_log(folder: Path, model: str | None = None, **arguments: Any) -> Path:
    """A log of clinometer/audit, of this model or of one that is made up; by a process of its own,
    as Inspect leaves warnings behind."""
    given = {"model": model, "arguments": {"groups": GROUPS, "replies": N, **arguments}}
    command = [sys.executable, __file__, str(folder), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return Path(done.stdout.splitlines()[-1])


def main(folder: str, given: str) -> None:
    from inspect_ai import eval as evaluate

    wanted = json.loads(given)
    (log,) = evaluate(
        "clinometer/audit",
        task_args=wanted["arguments"],
        model=wanted["model"] or made_model(),
        log_dir=folder,
        display="none",
    )
    if log.status != "success":
        sys.exit(str(log.error and log.error.message))
    print(log.location.removeprefix("file://"))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
