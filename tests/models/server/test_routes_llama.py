"""The real llama.cpp server, asked and broken."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import Clinometer
from tests.models.server.proxy import Proxy
from tests.present import present
from tests.processes import PATIENCE_S

from clinometer.contexts import ContextSet
from clinometer.measure import membership, preference
from clinometer.models import (
    LoadOptions,
    SampleOptions,
    Scorer,
    ServerOptions,
    WordOptions,
    open_model,
)
from clinometer.models.client.failures import BudgetReached
from clinometer.models.server.words import ServerScorer
from clinometer.runs import AuditSettings, Run, audit
from clinometer.topics import Prompt, load_topic

Proxies = Callable[..., Proxy]
TOPIC = load_topic("gender").select(["nurse", "engineer"])
CONTEXTS = ContextSet("few", ["The [X] said that [Y]", "The [X] felt that [Y]"], [5, 3])
PROMPTS = [
    Prompt("The nurse said that", "", space=True),
    Prompt("The engineer was proud because", "", space=True),
]
FIVE = load_topic("gender").group_names[:5]
VERBS = ("said", "felt", "knew", "saw", "wrote", "thought", "feared", "hoped")
WORDS = (
    "he",
    "she",
    "man",
    "woman",
    "grandson",
    "granddaughter",
    "mother-in-law",
    "fiancée",
)
COUNTS = membership(
    WORDS, {"m": ["he", "man", "grandson"], "f": ["she", "woman", "fiancée"]}
)


@pytest.fixture
def cli(clinometer: Clinometer) -> Clinometer:
    """The command; a server that is asked may take its time."""
    return lambda *command: clinometer(*command, "--load", f"timeout={PATIENCE_S}")


def settings(**server: Any) -> AuditSettings:
    options = ServerOptions(**server)
    return AuditSettings(
        words=WordOptions(tolerance=0.02), load=LoadOptions(server=options)
    )


def test_the_exact_route_agrees_with_the_local_model(
    llama: str, smollm2: Scorer
) -> None:
    """Words of one and of several tokens, with and without text after the slot."""
    exact = WordOptions(tolerance=0)
    server = open_model(f"openai:{llama}", words=exact)
    assert "route boost: exact" in server.info.notes[0]
    local = open_model("smollm2", words=exact)
    prompts = [*PROMPTS, Prompt("The nurse said that", " was late.", space=True)]
    ours, theirs = local.score(prompts, WORDS), server.score(prompts, WORDS)
    np.testing.assert_allclose(theirs.log_probs, ours.log_probs, atol=0.03)
    np.testing.assert_allclose(theirs.log_coverage, ours.log_coverage, atol=0.01)
    p = [preference(s.log_probs, COUNTS).p for s in (ours, theirs)]
    np.testing.assert_allclose(p[0], p[1], atol=0.01)
    assert theirs.log_upper is None
    reports = [one.word_report(WORDS, space=True).counts() for one in (server, local)]
    assert reports[0] == reports[1]


def test_a_local_tokenizer_gives_the_same_tokens(llama: str) -> None:
    own = open_model(f"openai:{llama}")
    named = open_model(
        f"openai:{llama}", load=LoadOptions(server=ServerOptions(tokenizer="smollm2"))
    )
    assert isinstance(own, ServerScorer)
    assert isinstance(named, ServerScorer)
    lists = [s.word_list(WORDS, space=True).sequences for s in (own, named)]
    assert lists[0] == lists[1]
    texts = ["The nurse said that", "Ängste, “quoted”", ""]
    heads = [s.head_tokens(texts) for s in (own, named)]
    assert heads[0][:2] == heads[1][:2]


def test_top_k_is_recorded_in_run_and_table(
    llama: str, tmp_path: Path, cli: Clinometer, few: list[object]
) -> None:
    command = ("audit", f"openai:{llama}#smol", *few, "--load", "route=top-k")
    said = cli(*command, "--tolerance", "0.02", "--out", tmp_path / "run")
    assert said.status == 0
    assert "between" in said.out
    assert "Rare words are only bounded" in said.out
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    low, high = record["bounds"]["R"]
    assert low <= record["summary"]["R"]["value"] <= high
    run = Run.load(tmp_path / "run")
    assert run.preferences.low is not None
    again = present(run.preferences.bounds())
    assert pytest.approx((low, high)) == again.R


def test_faults_change_no_number_and_are_counted(
    llama: str, proxy: Proxies, tmp_path: Path
) -> None:
    how: dict[str, Any] = {"topic": TOPIC, "contexts": CONTEXTS, "settings": settings()}
    plain, bad = audit(f"openai:{llama}#smol", **how), proxy(each=0.1)
    run = audit(f"openai:{bad.url}#smol", **how, out=tmp_path / "run")
    np.testing.assert_allclose(
        run.preferences.values, plain.preferences.values, atol=1e-3
    )
    usage = run.record.usage
    assert set(bad.faults) == {"429", "500", "half", "nothing", "wrong"}
    # Requests that are called off while the server is probed may have met a fault unseen.
    assert 0 <= bad.faults.total() - usage["retried"] <= 8
    assert 0 <= usage["requests"] - len(bad.seen) <= 8
    assert plain.record.usage["retried"] == 0


def test_a_lost_server_gives_status_3_and_the_run_resumes(
    proxy: Proxies, tmp_path: Path, cli: Clinometer, monkeypatch: pytest.MonkeyPatch
) -> None:
    csv = tmp_path / "few.csv"
    templates = [f"The [X] {verb} that [Y]" for verb in VERBS]
    csv.write_text("template,count\n" + "".join(f"{t},1\n" for t in templates))
    server = proxy(each=0.0)
    command = ["audit", f"openai:{server.url}#smol", "--contexts", str(csv)]
    command += [
        "--groups",
        ",".join(FIVE),
        "--load",
        "route=top-k",
        "--tolerance",
        "0.02",
    ]
    command += ["--load", "patience=0.2", "--out", str(tmp_path / "run"), "--json"]
    original = server.draw
    monkeypatch.setattr(
        server, "draw", lambda: "500" if len(server.seen) > 290 else original()
    )
    lost = cli(*command)
    assert lost.status == 3
    assert lost.err.count("\n") == 1
    assert "status_500" in lost.err
    stored = list((tmp_path / "run" / "scores").glob("part-*.parquet"))
    assert stored
    asked = len(server.seen)
    monkeypatch.setattr(server, "draw", original)
    resumed = cli(*command)
    assert resumed.status == 0
    (result,) = json.loads(resumed.out)["runs"]
    assert result["counts"]["cells_missing"] == 0
    assert len(server.seen) - asked < asked


def test_an_unreachable_server_is_one_line_and_status_3(cli: Clinometer) -> None:
    said = cli("audit", "openai:http://127.0.0.1:9#x", "--groups", "nurse")
    assert said.status == 3
    assert said.err.count("\n") == 1
    assert "no_connection" in said.err


def test_a_budget_stops_cleanly_and_the_run_resumes(llama: str, tmp_path: Path) -> None:
    contexts = ContextSet(
        "many", [f"The [X] {v} that [Y]" for v in "abcdefghijklmnopqrst"], [1] * 20
    )
    asked: dict[str, Any] = {
        "topic": TOPIC,
        "contexts": contexts,
        "out": tmp_path / "run",
    }
    name = f"openai:{llama}#smol"
    with pytest.raises(BudgetReached, match="budget of 280 requests"):
        audit(name, settings=settings(route="top-k", max_requests=280), **asked)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["status"] == "running"
    assert record["usage"]["requests"] == 280
    assert list((tmp_path / "run" / "scores").glob("part-*.parquet"))
    with pytest.raises(BudgetReached, match="budget of 1 tokens"):
        audit(name, settings=settings(route="top-k", max_tokens=1), **asked)
    run = audit(name, settings=settings(route="top-k"), **asked)
    assert run.record.status == "finished"
    whole = audit(
        name, topic=TOPIC, contexts=contexts, settings=settings(route="top-k")
    )
    np.testing.assert_allclose(
        run.preferences.values, whole.preferences.values, atol=1e-3
    )
    assert run.record.usage["requests"] > 280


def test_chat_on_the_server_agrees_with_the_local_template(llama: str) -> None:
    load = LoadOptions(chat=True)
    words = WordOptions(tolerance=5e-3)
    local = open_model("smollm2", load=load, words=words).score(PROMPTS, WORDS)
    raw = open_model("smollm2", words=words).score(PROMPTS, WORDS)
    served = open_model(f"openai:{llama}", load=load, words=words).score(PROMPTS, WORDS)
    p = [preference(s.log_probs, COUNTS).p for s in (local, served, raw)]
    np.testing.assert_allclose(p[0], p[1], atol=0.01)
    assert np.abs(p[0] - p[2]).max() > 0.01


@pytest.mark.parametrize("chat", [False, True])
def test_server_samples_are_stored_and_not_resampled(
    llama: str, tmp_path: Path, chat: bool
) -> None:
    load = LoadOptions(sampled=SampleOptions(replies=16, reply_tokens=4), chat=chat)
    asked: dict[str, Any] = {
        "topic": TOPIC,
        "contexts": CONTEXTS,
        "out": tmp_path / "run",
    }
    asked["settings"] = AuditSettings(load=load)
    run = audit(f"openai:{llama}#smol", **asked)
    assert run.model.endswith("(chat, 16 replies)" if chat else "(16 replies)")
    draws = run.record.replies
    assert draws["replies"] == 64
    parts = ("replies_words", "replies_refusals", "replies_other")
    assert sum(draws[k] for k in parts) == 64
    assert run.record.usage["requests"] >= 4
    again = audit(f"openai:{llama}#smol", **asked)
    assert again.preferences.equals(run.preferences)
    assert again.record.replies == draws
    assert again.record.usage == run.record.usage
    loaded = Run.load(tmp_path / "run")
    assert loaded.risks.to_dict() == run.risks.to_dict()
