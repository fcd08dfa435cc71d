"""vLLM's OpenAI-compatible server: every exact route, draws, chat, and a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.vllm.questions import EXACT, PROMPTS, WORDS

from clinometer.models import LoadOptions, SampleOptions, ServerOptions, open_model
from clinometer.models.catalog.open import open_writer
from clinometer.runs import Run
from clinometer.topics import Prompt


@pytest.mark.parametrize("route", [None, "token-ids", "prompt-logprobs", "echo", "force"])
def test_exact_routes_give_the_numbers_of_the_model(
    vllm_server: str, smol_folder: Path, route: str | None
) -> None:
    load = LoadOptions(server=ServerOptions(route=route))
    served = open_model(f"openai:{vllm_server}", words=EXACT, load=load)
    local = open_model(str(smol_folder), words=EXACT)
    ours, theirs = local.score(PROMPTS, WORDS), served.score(PROMPTS, WORDS)
    np.testing.assert_allclose(theirs.log_probs, ours.log_probs, atol=1e-3)
    assert theirs.log_upper is None
    assert served.info.notes == (f"queried by the route {route or 'token-ids'}: exact",)
    report = served.word_report(WORDS, space=True)
    assert report.counts() == local.word_report(WORDS, space=True).counts()


def test_top_k_intervals_contain_the_exact_values(vllm_server: str, smol_folder: Path) -> None:
    load = LoadOptions(server=ServerOptions(route="top-k"))
    served = open_model(f"openai:{vllm_server}", words=EXACT, load=load)
    found = served.score(PROMPTS[:1], WORDS)
    exact = open_model(str(smol_folder), words=EXACT).score(PROMPTS[:1], WORDS).log_probs
    assert found.log_upper is not None
    assert (found.log_probs - 1e-3 <= exact).all()
    assert (exact <= found.log_upper + 1e-3).all()


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
    again = [Prompt("When she came home,", "", space=True)]  # the word that would be punished
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


def test_the_command_audits_through_the_server(
    vllm_server: str, clinometer: Callable[..., Any], tmp_path: Path
) -> None:
    found = []
    for model, out in ((f"openai:{vllm_server}#smol", "served"), ("smollm2", "local")):
        groups = ("--topic", "gender", "--groups", "nurse,engineer", "--single-token")
        done = clinometer(
            "audit", model, *groups, "--contexts", "paper-gender", "--out", tmp_path / out
        )
        assert done.status == 0, done.err
        found.append(Run.load(tmp_path / out).preferences.values)
    np.testing.assert_allclose(found[0], found[1], atol=1e-3)
