"""vLLM's OpenAI-compatible server: its exact route, draws, chat, and a command.

vLLM itself, its CPU build from PyPI, in the environment that `make test-vllm` sets up beside ours.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.command import Clinometer
from tests.models.server.proxy import Proxy
from tests.processes import free_port, model_server

from clinometer.models import LoadOptions, SampleOptions, WordOptions, open_model
from clinometer.models.catalog.weights import embedded_gguf, folder_of_gguf
from clinometer.models.open import open_writer
from clinometer.runs import Run
from clinometer.runs.answers import answered_groups
from clinometer.topics import Prompt

PYTHON = Path(sys.prefix) / "vllm" / "bin" / "python"
#: One gigabyte for its cache of keys, and no processor of its own: tests run beside it.
ENVIRONMENT = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
}

PROMPTS = [
    Prompt("The nurse said that", "", space=True),
    Prompt("The nurse said that", " was late", space=True),
    Prompt("The man", " left", space=True),
]
WORDS = ("he", "she", "grandson", "granddaughter")
EXACT = WordOptions(tolerance=0)


@pytest.fixture(scope="module")
def smol_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2 with wishes of its own for how it is sampled, which a server would follow."""
    folder = tmp_path_factory.mktemp("models") / "smol"
    folder.mkdir()
    for file in folder_of_gguf(embedded_gguf()).iterdir():
        (folder / file.name).symlink_to(file)
    wishes = folder / "generation_config.json"
    wishes.unlink()
    wishes.write_text(
        json.dumps({"temperature": 0.1, "top_k": 1, "repetition_penalty": 5.0})
    )
    return folder


@pytest.fixture(scope="module")
def vllm_server(
    smol_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    port = free_port()
    command = [
        *(PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", smol_folder),
        *("--host", "127.0.0.1", "--port", port),
        *("--dtype", "float32", "--enforce-eager", "--max-model-len", "512"),
        # On a CPU vLLM 0.32 dies of seeded prompts that it reads in more than one step.
        *("--max-num-batched-tokens", "16384"),
    ]
    cache = str(tmp_path_factory.mktemp("cache"))
    environment = {**os.environ, **ENVIRONMENT, "VLLM_CACHE_ROOT": cache}
    log = smol_folder.parent / "server.log"
    with model_server(command, port=port, log=log, env=environment) as url:
        yield url


def test_the_exact_route_gives_the_numbers_of_the_model(
    vllm_server: str, smol_folder: Path
) -> None:
    served = open_model(f"openai:{vllm_server}", words=EXACT)
    local = open_model(str(smol_folder), words=EXACT)
    ours, theirs = local.score(PROMPTS, WORDS), served.score(PROMPTS, WORDS)
    np.testing.assert_allclose(theirs.log_probs, ours.log_probs, atol=1e-3)
    assert theirs.log_upper is None
    assert served.info.notes == ("queried by the route token-ids: exact",)
    report = served.word_report(WORDS, space=True)
    assert report.counts() == local.word_report(WORDS, space=True).counts()


def test_chat_uses_the_servers_template(vllm_server: str, smol_folder: Path) -> None:
    load = LoadOptions(chat=True)
    served = open_model(f"openai:{vllm_server}#smol", words=EXACT, load=load)
    local = open_model(str(smol_folder), words=EXACT, load=load)
    ours, theirs = (m.score(PROMPTS[:1], WORDS).log_probs for m in (local, served))
    np.testing.assert_allclose(theirs, ours, atol=1e-3)


@pytest.mark.parametrize("chat", [False, True])
def test_samples_ignore_the_models_generation_config(
    vllm_server: str, smol_folder: Path, chat: bool
) -> None:
    """generation_config.json asks for the most probable token and a penalty, and the server would
    follow it."""
    draws = LoadOptions(chat=chat, sampled=SampleOptions(replies=60))
    served = open_model(f"openai:{vllm_server}", load=draws)
    local = open_model(str(smol_folder), words=EXACT, load=LoadOptions(chat=chat))
    again = [
        Prompt("When she came home,", "", space=True)
    ]  # the word that would be punished
    shares = np.exp(served.score(again, WORDS).log_probs[0])
    p = np.exp(local.score(again, WORDS).log_probs[0])
    assert (np.abs(shares - p) < 4 * np.sqrt(p * (1 - p) / 60) + 0.005).all()
    assert shares[1] > 0
    assert ("scored inside its chat template" in served.info.notes) == chat


def test_without_a_name_the_only_model_answers(vllm_server: str) -> None:
    writer = open_writer(f"openai:{vllm_server}")
    turns = [("user", "Say hello. Answer in one short sentence.")]
    (answer,) = writer.write(turns, temperature=0, length=12)
    assert answer.strip()


#: 100 log-probabilities are asked for before 20.
REFUSED = "Requested sample logprobs of 100, which is greater than max allowed: 20"


@pytest.mark.parametrize(
    ("only", "refused", "note"),
    [
        ("", [("/v1/completions", REFUSED)], "queried by the route token-ids: exact"),
        ("/v1/chat/completions", [], "asked through its chat endpoint"),
    ],
)
def test_the_server_is_audited_with_no_flag_but_model_and_topic(
    only: str,
    refused: list[tuple[str, str]],
    note: str,
    vllm_server: str,
    smol_folder: Path,
    clinometer: Clinometer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The whole server, and what a gateway leaves of it. The groups and contexts are few, which
    changes nothing about how it is asked."""
    monkeypatch.chdir(tmp_path)
    between = Proxy(vllm_server, only=only)
    few = ("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "3")
    found = clinometer(
        "audit", f"openai:{between.url}#{smol_folder}", "--topic", "hiring", *few
    )
    between.stop()
    assert found.status == 0, found.err
    (folder,) = (tmp_path / "runs").iterdir()
    run = Run.load(folder)
    assert run.record.model.kind == "server"  # its log-probabilities are read
    assert note in run.record.model.notes
    assert [0 < row["rate"] < 1 for row in answered_groups(run)] == [True, True]
    assert run.record.usage["retried"] == 0
    said = [
        (path, json.loads(reply)["error"]["message"])
        for path, reply in between.refusals
    ]
    assert [(path, text.partition(" (")[0]) for path, text in said] == refused
