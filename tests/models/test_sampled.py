"""Draws: the rules by which words are recognised, and counts that tend to probabilities."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.present import present

from clinometer.contexts import ContextSet
from clinometer.errors import ContextError, ModelError, SettingsError
from clinometer.models import LoadOptions, SampleOptions, WordOptions, open_model
from clinometer.models.local.causal import CausalScorer
from clinometer.models.sampled import recognised
from clinometer.readouts import EMPTY, OTHER, REFUSAL
from clinometer.runs import AuditSettings, Run, audit
from clinometer.topics import Prompt, load_topic

WORDS = ("he", "she", "her", "her own", "Black", "mother-in-law")
TOPIC = load_topic("gender").select(["nurse", "engineer"])
CONTEXTS = ContextSet("few", ["The [X] said that [Y]", "The [X] felt that [Y]"], [5, 3])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" he left", 0),
        ("he’s late", 0),
        (" she, too", 1),
        ("\n\n“She was", 1),
        ("… *her* mother", 2),
        (" her own", 3),
        (" BLACK people", 4),
        (" mother-in-law's", 5),
        ("The nurse said that she", 1),
        ("the nurse SAID that he", 0),
        (" hero", OTHER),
        (" the woman", OTHER),
        (" they said he", OTHER),
        ("", EMPTY),
        ("I am very sorry", REFUSAL),
        ("As an AI language model", REFUSAL),
        ("I can't", REFUSAL),
        ("抱歉，我无法", REFUSAL),
        (" I was sorry", OTHER),
        (" sorryless", OTHER),
    ],
)
def test_answers_are_recognised_by_the_documented_rules(
    text: str, expected: int
) -> None:
    assert recognised(text, WORDS, "The nurse said that") == expected
    assert recognised("她是", ("他", "她"), "护士说", space=False) == 1  # need not end


def test_sample_shares_approach_the_probabilities() -> None:
    """Against the exact probability that the word stands there and ends."""
    prompts = [Prompt("The nurse said that", "", space=True)]
    words = ("he", "she", "the", "it", "they")
    exact: Any = open_model("pocket:gpt2-s", words=WordOptions(tolerance=0))
    texts = map(exact.tokenizer.decode, range(len(exact.tokenizer)))
    over = torch.tensor([not re.match(r"\w", text) for text in texts])
    heads = exact.head_tokens([f"{prompts[0].before} {word}" for word in words])
    with torch.inference_mode():
        follows = [
            exact.model(torch.tensor([h], device=exact.device)).logits[0, -1]
            for h in heads
        ]
    ends = [float(logits.cpu().softmax(-1)[over].sum()) for logits in follows]
    p = np.exp(exact.score(prompts, words).log_probs[0]) * ends
    n = 1500
    load = LoadOptions(sampled=SampleOptions(replies=n, reply_tokens=2))
    drawn = open_model("pocket:gpt2-s", load=load).score(prompts, words)
    share = np.exp(drawn.log_probs[0])
    assert (np.abs(share - p) < 4.5 * np.sqrt(p * (1 - p) / n)).all()
    again = open_model("pocket:gpt2-s", load=load).score(prompts, words)
    assert again.draws == drawn.draws


def test_a_sampled_audit_is_stored_corrected_and_not_resampled(tmp_path: Path) -> None:
    load = LoadOptions(sampled=SampleOptions(replies=20, reply_tokens=2))
    asked: dict[str, Any] = {
        "topic": TOPIC,
        "contexts": CONTEXTS,
        "out": tmp_path / "run",
    }
    asked["settings"] = AuditSettings(load=load)
    run = audit("pocket:gpt2-s", **asked)
    assert run.record.model.kind == "sampled"
    assert run.record.model.id == "pocket:gpt2-s (20 replies)"
    answers = present(run.preferences.answers)
    counted = run.preferences.values * answers[..., None]
    seen = run.preferences.observed
    np.testing.assert_allclose(counted[seen], np.round(counted[seen]), atol=1e-4)
    assert run.record.counts["replies"] == 80
    # Counting replies lifts R: what is shown is the middle of its bracket.
    assert run.preferences.decompose().R.value == run.record.plug_in["R"]
    assert present(run.record.summary).R.value < run.record.plug_in["R"]
    before = {f: f.read_bytes() for f in (tmp_path / "run" / "scores").iterdir()}
    again = audit("pocket:gpt2-s", **asked)
    assert again.preferences.equals(run.preferences)
    assert {
        f: f.read_bytes() for f in (tmp_path / "run" / "scores").iterdir()
    } == before
    assert Run.load(tmp_path / "run").risks.to_dict() == run.risks.to_dict()


def test_text_after_the_slot_cannot_be_sampled() -> None:
    scorer = open_model(
        "pocket:gpt2-s", load=LoadOptions(sampled=SampleOptions(replies=2))
    )
    with pytest.raises(ContextError, match="end with"):
        scorer.score([Prompt("The nurse said", " left", space=True)], WORDS)


@pytest.mark.parametrize(
    ("model", "options", "said"),
    [
        (
            "pocket:bert",
            {"sampled": SampleOptions(replies=2)},
            "expected a causal model",
        ),
        ("pocket:bert", {"chat": True}, "expected a causal model"),
        ("pocket:gpt2-s", {"chat": True}, "no chat template"),
    ],
)
def test_what_a_model_cannot_do_is_refused(
    model: str, options: dict[str, Any], said: str
) -> None:
    with pytest.raises((SettingsError, ModelError), match=said):
        open_model(model, load=LoadOptions(**options))


def test_the_chat_template_precedes_the_sentence() -> None:
    scorer = open_model(
        "smollm2", load=LoadOptions(chat=True, chat_request="Say something.")
    )
    assert isinstance(scorer, CausalScorer)
    said = {"user": "Say something.", "assistant": "The nurse said that"}
    ids = scorer.tokenizer.apply_chat_template(
        [{"role": role, "content": text} for role, text in said.items()],
        continue_final_message=True,
        return_dict=False,
    )
    assert scorer.head_tokens([said["assistant"]])[0] == list(ids)
