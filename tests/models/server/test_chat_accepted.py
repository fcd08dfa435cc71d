"""What hosted providers refuse is found out, remembered with the run, and never silent."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.command import Clinometer
from tests.models.server.providers import KINDS, ProviderServer, openai_error

from clinometer.errors import ModelError, SettingsError
from clinometer.runs import Run, audit
from clinometer.topics import load_topic

KEY = "sk-secret-5f1c9e"
#: Small, by options that change nothing about how a model is asked.
FEW = ("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "2")
FOUR = ["Jessica Schmidt", "Michael Schmidt", "Ashley Olson", "white man"]


@pytest.fixture
def provider(
    monkeypatch: pytest.MonkeyPatch, until_the_end: Callable[[ProviderServer], ProviderServer]
) -> Callable[[str], ProviderServer]:
    """A provider at this machine, with its address and key in the environment."""

    def start(name: str) -> ProviderServer:
        server = until_the_end(ProviderServer(KINDS[name], KEY))
        monkeypatch.setenv("CLINOMETER_API_KEY", KEY)
        if "/" in server.kind.name.partition(":")[0]:
            monkeypatch.setenv(server.kind.variable, server.base)
        return server

    return start


@pytest.mark.parametrize("name", KINDS)
def test_a_hosted_model_is_audited_with_no_flag_but_model_and_topic(
    name: str,
    provider: Callable[[str], ProviderServer],
    clinometer: Clinometer,
    tmp_path: Path,
) -> None:
    server = provider(name)
    said = clinometer("audit", server.model, "--topic", "hiring", *FEW)
    assert said.status == 0
    (folder,) = (tmp_path / "runs").iterdir()
    record = Run.load(folder).record
    request = record.model.request
    assert tuple(one["parameter"] for one in request["refusals"]) == server.kind.refused
    # every refused request is one of them; a provider names several fields in one refusal
    assert len(server.refusals) <= len(server.kind.refused)
    assert bool(server.refusals) == bool(server.kind.refused)
    assert record.model.kind == ("server" if server.kind.lists else "sampled")
    assert record.usage["retried"] == 0
    # what was sent is what run.json says, but for the content and the seed
    sent = server.answered[-1]
    assert {k for k in sent if k not in ("model", "messages", "system")} == set(request["sent"])
    assert all(v == sent[k] for k, v in request["sent"].items() if "seed" not in k)
    assert request["answered_by"] == [sent["model"]]
    assert not (folder / "replies.jsonl").exists()  # the scores hold them
    # the key is in no file, on no screen
    assert KEY not in said.out + said.err
    assert not [f for f in tmp_path.rglob("*") if f.is_file() and KEY.encode() in f.read_bytes()]
    if request["left_out"]:
        assert f"left out: {', '.join(request['left_out'])}" in said.out + said.err


@pytest.fixture
def asked(provider: Callable[[str], ProviderServer]) -> Callable[..., tuple[ProviderServer, Run]]:
    def run(name: str, **options: Any) -> tuple[ProviderServer, Run]:
        server = provider(name)
        before = options.pop("before", None)
        if before is not None:
            server.before = before
        topic = options.pop("topic", None) or load_topic("hiring").select(FOUR)
        return server, audit(server.model, topic=topic, max_contexts=2, **options)

    return run


def test_hidden_tokens_get_room_and_no_paid_reply_is_dropped(
    asked: Callable[..., tuple[ProviderServer, Run]],
) -> None:
    server, run = asked("OpenAI")
    rooms = [body["max_completion_tokens"] for body in server.answered]
    assert set(rooms[1:]) == {512}  # one reply came back empty
    assert rooms[0] == 16
    assert run.record.replies["replies_words"] == run.record.replies["replies"]


def test_a_temperature_that_the_provider_fixes_is_an_error_and_not_ignored(
    asked: Callable[..., tuple[ProviderServer, Run]],
) -> None:
    with pytest.raises(SettingsError, match=r"takes no temperature 0\.5"):
        asked("OpenAI", temperature=0.5)


def test_an_effort_is_sent_with_every_request(
    asked: Callable[..., tuple[ProviderServer, Run]],
) -> None:
    server, run = asked("OpenAI", effort="low")
    assert {body["reasoning_effort"] for body in server.answered} == {"low"}
    assert run.record.model.request["sent"]["reasoning_effort"] == "low"
    assert run.record.model.kind == "sampled"


@pytest.mark.parametrize(
    ("name", "effort", "said"),
    [
        ("OpenAI", "none", "takes no effort none for this model"),
        ("OpenAI with log-probabilities", "low", "takes no effort low for this model"),
        ("Anthropic", "low", "effort: .* takes none"),
        ("OpenAI", "lots", "effort: expected one of none, minimal"),
    ],
)
def test_an_effort_that_the_provider_does_not_take_is_an_error_and_not_ignored(
    name: str, effort: str, said: str, asked: Callable[..., tuple[ProviderServer, Run]]
) -> None:
    with pytest.raises(SettingsError, match=said):
        asked(name, effort=effort)


def test_a_local_model_takes_no_effort() -> None:
    with pytest.raises(SettingsError, match="effort: expected a hosted model"):
        audit("pocket:gpt2-s", topic="hiring", effort="low", replies=3, max_contexts=2)


def test_replies_that_a_filter_withholds_are_empty_and_counted(
    asked: Callable[..., tuple[ProviderServer, Run]],
) -> None:
    def filtered(body: dict[str, Any]) -> tuple[int, Any] | None:
        if "Schmidt" not in json.dumps(body["messages"]):
            return None
        said = "The response was filtered due to the prompt triggering Azure OpenAI's content "
        return openai_error(f"{said}management policy.", "prompt", "content_filter")

    _, run = asked("Mistral", before=filtered)
    # two contexts, two people of that name, ten replies each
    found = run.record.replies
    assert run.record.model.request["filtered"] == 40
    assert found["replies"] - found["replies_words"] == 40


def test_an_unnamed_refusal_leaves_out_what_matters_least_once(
    asked: Callable[..., tuple[ProviderServer, Run]],
) -> None:
    def unnamed(body: dict[str, Any]) -> tuple[int, Any] | None:
        return openai_error("Bad request", None) if "min_p" in body else None

    _, run = asked("Ollama", before=unnamed)
    request = run.record.model.request
    assert request["left_out"] == ["top_k", "min_p", "repetition_penalty"]
    assert {one["named"] for one in request["refusals"]} == {False}


def test_what_is_wrong_with_a_text_is_not_learnt_as_a_parameter(
    asked: Callable[..., tuple[ProviderServer, Run]],
) -> None:
    seen: list[int] = []

    def too_long(body: dict[str, Any]) -> tuple[int, Any] | None:
        seen.append(1)
        return openai_error("Too long.", None, "string_too_long") if len(seen) > 5 else None

    with pytest.raises(ModelError, match="status 400: string_too_long"):
        asked("Mistral", before=too_long)


def test_an_account_without_credit_is_not_asked_again(
    asked: Callable[..., tuple[ProviderServer, Run]],
) -> None:
    spent = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
    with pytest.raises(ModelError, match="status 429: insufficient_quota"):
        asked("Mistral", before=lambda body: (429, spent))


def test_a_wrong_key_is_named_by_its_variable(
    provider: Callable[[str], ProviderServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = provider("Anthropic")
    monkeypatch.setenv("CLINOMETER_API_KEY", wrong := "sk-wrong-77")
    with pytest.raises(ModelError, match="set ANTHROPIC_API_KEY or CLINOMETER") as refused:
        audit(server.model, topic="hiring", max_contexts=2)
    assert wrong not in str(refused.value)


def test_whole_replies_are_sampled_even_where_tokens_are_listed(
    asked: Callable[..., tuple[ProviderServer, Run]],
) -> None:
    with pytest.raises(ModelError, match="480 something else"):
        asked("OpenAI with log-probabilities", topic="story")  # it answers yes or no
