"""Asks vLLM's offline engine all that the tests want to know, in one start of it; prints JSON.

python engine.py FOLDER   (in vLLM's own environment)
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from tests.models.vllm.questions import CHAT, EXACT, PROMPTS, WORDS

from clinometer.errors import ModelError
from clinometer.models import SampleOptions, open_model
from clinometer.models.vllm import VllmSampler, VllmScorer
from clinometer.topics import Prompt

DRAWS = SampleOptions(replies=100)


def main() -> None:
    scorer = open_model(f"vllm:{sys.argv[1]}", words=EXACT)
    assert isinstance(scorer, VllmScorer)
    found: dict[str, Any] = {
        "info": scorer.info.to_dict(),
        "by_ids": scorer.score(PROMPTS, WORDS).log_probs.tolist(),
        "reads_ids": scorer._reads_ids,
    }
    scorer._reads_ids = False  # as before vLLM knew logprob_token_ids
    found["by_prompt"] = scorer.score(PROMPTS, WORDS).log_probs.tolist()
    found["draws"] = VllmSampler(scorer, DRAWS).score(PROMPTS[:1], WORDS).log_probs.tolist()
    scorer.chat = CHAT
    found["inside"] = scorer.score(PROMPTS[:1], WORDS).log_probs.tolist()
    for child in children():
        os.kill(child, signal.SIGKILL)
    try:
        scorer.score([Prompt("Another prompt, never asked before", "", space=True)], WORDS)
    except ModelError as error:
        found["killed"] = str(error)
    scorer.close()
    print(json.dumps(found))  # noqa: T201


def children() -> list[int]:
    """The engine's processes."""
    told = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(os.getpid())],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line.split()[0]) for line in told.stdout.splitlines() if "EngineCore" in line]


if __name__ == "__main__":
    main()
