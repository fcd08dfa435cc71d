"""A hosted model: killed and continued, within its budget, its key where it belongs, its refusals
learnt, and its words bounded by the first tokens that it lists."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import logging
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import Clinometer
from tests.models.server.providers import KINDS, ProviderServer, openai_error
from tests.models.server.proxy import Proxy
from tests.models.server.standin import Standin
from tests.present import present
from tests.processes import PATIENCE_S

from clinometer.errors import ModelError, SettingsError
from clinometer.models import LoadOptions, ModelInfo, SampleOptions
from clinometer.models.client.address import Address
from clinometer.models.client.client import Client
from clinometer.models.client.failures import BudgetReached
from clinometer.models.server.chat import LISTED, ChatEndpoint
from clinometer.models.server.first_tokens import word_bounds
from clinometer.models.server.request import CONTENT
from clinometer.models.server.sampler import ServerSampler
from clinometer.reliability import Statement
from clinometer.reliability.blanks import ATTEMPTS, PointSettings, propose_points
from clinometer.runs import Run, audit
from clinometer.runs.answers import answered_groups
from clinometer.topics import load_topic, parse_topic

#: Starts a provider by its kind; audits one of this kind with these settings.
Start = Callable[[str], ProviderServer]
Asked = Callable[..., tuple[ProviderServer, Run]]
KEY = "sk-secret-a81f"
#: Small, by options that change nothing about how a model is asked.
FEW = ("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "2")


@pytest.fixture
def provider(
    monkeypatch: pytest.MonkeyPatch,
    until_the_end: Callable[[ProviderServer], ProviderServer],
) -> Start:
    """A provider at this machine, with its address and key in the environment."""

    def start(name: str) -> ProviderServer:
        server = until_the_end(ProviderServer(KINDS[name], KEY))
        monkeypatch.setenv("CLINOMETER_API_KEY", KEY)
        if "/" in server.kind.name.partition(":")[0]:
            monkeypatch.setenv(server.kind.variable, server.base)
        return server

    return start


@pytest.fixture
def anthropic(provider: Start) -> ProviderServer:
    return provider("Anthropic")


def without_key(*folders: Path) -> int:
    """How many files there are; the key is in none."""
    files = [file for folder in folders for file in folder.rglob("*") if file.is_file()]
    assert not [file for file in files if KEY.encode() in file.read_bytes()]
    return len(files)


def test_a_kill_costs_at_most_the_requests_on_their_way(
    anthropic: ProviderServer, clinometer: Clinometer, tmp_path: Path
) -> None:
    """The stand-in holds every reply after the 120th; then the audit is killed and continued."""
    reached, go = threading.Event(), threading.Event()
    held: list[dict[str, Any]] = []

    def hold(body: dict[str, Any]) -> None:
        if len(anthropic.answered) >= 120 and not go.is_set():
            held.append(body)
            reached.set()
            go.wait(PATIENCE_S)

    anthropic.before = hold
    command = [
        *("audit", anthropic.model, "--topic", "hiring", "--out", "run"),
        *("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "8"),
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "clinometer", *command],
        cwd=tmp_path,
        stderr=subprocess.DEVNULL,
    )
    assert reached.wait(PATIENCE_S)
    for listed in Path("/proc").glob("[0-9]*/cmdline"):  # what ps shows
        with contextlib.suppress(OSError):
            assert KEY.encode() not in listed.read_bytes()
    process.send_signal(signal.SIGKILL)
    process.wait(PATIENCE_S)
    lines = (tmp_path / "run" / "replies.jsonl").read_text("utf-8").splitlines()
    kept = sum(bool(json.loads(line)[0]) for line in lines)  # others note a request
    assert without_key(tmp_path) > 1
    go.set()
    asked_before = len(anthropic.answered)
    assert clinometer(*command).status == 0
    run = Run.load(tmp_path / "run")
    wanted = run.record.replies["replies"]
    again = len(anthropic.answered) - asked_before
    # what was answered and kept is not asked again; those held are answered too late, and counted
    assert again == wanted - kept + len(held)
    assert asked_before - kept + len(held) <= 64  # on their way when the kill came
    assert (
        run.record.usage["requests"] >= wanted
    )  # those before the kill are counted, too


def test_the_key_is_in_no_file_cache_log_or_error(
    anthropic: ProviderServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    clinometer: Clinometer,
) -> None:
    """Also where the server repeats it, in a refusal or a reply; and no log has what was asked."""
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CLINOMETER_CACHE_LIMIT", "1GB")
    caplog.set_level(logging.DEBUG)
    command = (
        "audit",
        anthropic.model,
        "--topic",
        "hiring",
        *FEW,
        "--no-cache",
        "--fresh",
    )
    refusal = {
        "error": {
            "message": f"Not with {KEY}",
            "type": KEY.replace("-", "_"),
            "code": KEY,
        }
    }
    said = []
    for status in (400, 401, 403, 404, 429, 500):
        anthropic.before = lambda body, status=status: (status, refusal)  # type: ignore[misc]
        said.append(clinometer(*command, "--out", "refused"))
        assert said[-1].status != 0
    answer = {
        "content": [{"type": "text", "text": f"Yes, {KEY}"}],
        "model": f"for {KEY}",
    }
    anthropic.before = lambda body: (200, answer)
    said.append(clinometer(*command[:-2], "--out", "run"))
    assert said[-1].status == 0
    assert Run.load(tmp_path / "run").record.model.request["answered_by"] == [
        "for [key]"
    ]
    assert min(without_key(tmp_path / "refused"), without_key(tmp_path / "run")) > 0
    without_key(tmp_path)  # hosted models are not cached; if they ever are, without it
    assert "HTTP Request" in caplog.text  # the libraries were heard
    assert "Schmidt" not in caplog.text
    assert KEY not in caplog.text + "".join(one.out + one.err for one in said)


def test_an_own_prompt_is_sent_to_the_target_and_nowhere_else(
    anthropic: ProviderServer, connected: list[str], tmp_path: Path
) -> None:
    topic = parse_topic(
        'name = "own"\ngroups = ["Ann", "Bob"]\nreference = "group-mean"\n'
        '[readout]\nkind = "choice"\nlabels = "none"\n'
        '[[cases]]\nfile = "one"\n[[cases]]\nfile = "two"\n'
        '[[messages]]\ncontent = "File {file}: should [X] be hired?"\n'
        '[attributes]\nyes = ["Yes"]\nno = ["No"]\n'
    )
    run = audit(anthropic.model, topic=topic, replies=3, out=tmp_path / "run")
    run.write_report(tmp_path / "report.html")
    assert len(anthropic.answered) == 2 * 2 * 3
    assert {f"http://{to}" for to in connected} == {anthropic.url}


def test_the_budget_chooses_contexts_and_stops_in_time(
    anthropic: ProviderServer, tmp_path: Path
) -> None:
    topic = load_topic("hiring").select(["Jessica Schmidt", "Ashley Olson"])
    how: dict[str, Any] = {"topic": topic, "price": "1/5"}
    run = audit(anthropic.model, budget=0.02, out=tmp_path / "run", **how)
    cost = present(run.record.cost)
    assert cost.planned is not None
    assert cost.paid is not None
    assert cost.paid <= 0.02
    assert cost.planned <= 0.02
    assert run.record.contexts.n < 80  # not all of them can be paid
    # a model that writes far more than its replies: the meter stops it
    anthropic.kind = replace(anthropic.kind, hidden=400)
    with pytest.raises(BudgetReached, match="of the budget of"):
        audit(anthropic.model, budget=0.02, seed=1, out=tmp_path / "dear", **how)
    record = json.loads((tmp_path / "dear" / "run.json").read_text("utf-8"))
    assert 0.01 < record["cost"]["paid"] <= 0.02


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_what_costs_is_confirmed(
    anthropic: ProviderServer, clinometer: Clinometer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal the answer decides, elsewhere --yes; nothing is asked before."""
    command = ("audit", anthropic.model, "--topic", "hiring", *FEW, "--price", "1/5")
    refused = clinometer(*command)
    assert refused.status == 2
    assert "--yes: expected before up to 0.01 is paid" in refused.err
    with monkeypatch.context() as terminal:
        terminal.setattr(sys, "stdin", Terminal("n\n"))
        terminal.setattr(sys, "stderr", said := Terminal())
        assert clinometer(*command).status == 1
    assert "at most 40 replies (4 cells)" in said.getvalue()
    assert "Pay up to 0.01?" in said.getvalue()
    assert not anthropic.answered
    assert clinometer(*command, "--yes").status == 0
    assert len(anthropic.answered) == 40


# --- What a provider refuses is found out, remembered with the run, and never silent --------------

PEOPLE = ["Jessica Schmidt", "Michael Schmidt", "Ashley Olson", "white man"]


@pytest.mark.parametrize("name", KINDS)
def test_a_hosted_model_is_audited_with_no_flag_but_model_and_topic(
    name: str, provider: Start, clinometer: Clinometer, tmp_path: Path
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
    assert sent.keys() - set(CONTENT) == set(request["sent"])
    assert all(v == sent[k] for k, v in request["sent"].items() if "seed" not in k)
    assert request["answered_by"] == [sent["model"]]
    assert not (folder / "replies.jsonl").exists()  # the scores hold them
    # the key is in no file, on no screen
    assert KEY not in said.out + said.err
    without_key(tmp_path)
    if request["left_out"]:
        assert f"left out: {', '.join(request['left_out'])}" in said.out + said.err


@pytest.fixture
def asked(provider: Start) -> Asked:
    def run(
        name: str, *, before: Any = None, **options: Any
    ) -> tuple[ProviderServer, Run]:
        server = provider(name)
        server.before = before or server.before
        how = {
            "topic": load_topic("hiring").select(PEOPLE),
            "max_contexts": 2,
            **options,
        }
        return server, audit(server.model, **how)

    return run


def test_hidden_tokens_get_room_and_an_effort_is_sent_with_every_request(
    asked: Asked,
) -> None:
    server, run = asked("OpenAI", effort="low")
    rooms = [body["max_completion_tokens"] for body in server.answered]
    assert set(rooms[1:]) == {512}  # one reply came back empty
    assert rooms[0] == 16
    # no reply that was paid is dropped
    assert run.record.replies["replies_words"] == run.record.replies["replies"]
    assert {body["reasoning_effort"] for body in server.answered} == {"low"}
    assert run.record.model.request["sent"]["reasoning_effort"] == "low"
    assert run.record.model.kind == "sampled"


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("OpenAI", {"temperature": 0.5}, r"takes no temperature 0\.5"),
        ("OpenAI", {"effort": "none"}, "takes no effort none for this model"),
        (
            "OpenAI with log-probabilities",
            {"effort": "low"},
            "takes no effort low for this model",
        ),
        ("Anthropic", {"effort": "low"}, "effort: .* takes none"),
        ("OpenAI", {"effort": "lots"}, "effort: expected one of none, minimal"),
        ("Anthropic", {"budget": 0.001, "price": "1/5"}, "--budget: expected at least"),
        (
            "Anthropic",
            {"budget": 5.0},
            "--budget: the price of this model is not known",
        ),
        ("Anthropic", {"price": "cheap"}, "--price: expected the price"),
    ],
)
def test_what_a_provider_does_not_take_or_no_budget_pays_is_an_error_and_not_ignored(
    name: str, options: dict[str, Any], said: str, provider: Start
) -> None:
    server = provider(name)
    with pytest.raises(SettingsError, match=said):
        audit(server.model, topic="hiring", **options)
    assert not server.answered


def test_an_effort_is_for_hosted_models() -> None:
    with pytest.raises(SettingsError, match="effort: expected a hosted model"):
        audit("pocket:gpt2-s", topic="hiring", effort="low", replies=3)


def test_replies_that_a_filter_withholds_are_empty_and_counted(asked: Asked) -> None:
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


def test_an_unnamed_refusal_leaves_out_what_matters_least_once(asked: Asked) -> None:
    def unnamed(body: dict[str, Any]) -> tuple[int, Any] | None:
        return openai_error("Bad request", None) if "min_p" in body else None

    _, run = asked("Ollama", before=unnamed)
    request = run.record.model.request
    assert request["left_out"] == ["top_k", "min_p", "repetition_penalty"]
    assert {one["named"] for one in request["refusals"]} == {False}


@pytest.mark.parametrize(
    ("status", "code", "accepted"),
    [
        (400, "string_too_long", 5),
        (429, "insufficient_quota", 0),
    ],  # of a text, of the account
)
def test_what_no_other_request_would_mend_is_not_tried_again(
    status: int, code: str, accepted: int, asked: Asked
) -> None:
    refusal, requests = openai_error("No.", None, code)[1], itertools.count()
    with pytest.raises(ModelError, match=f"status {status}: {code}"):
        asked(
            "Mistral",
            before=lambda _: (status, refusal) if next(requests) >= accepted else None,
        )


def test_a_wrong_key_is_named_by_its_variable(
    provider: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = provider("Anthropic")
    monkeypatch.setenv("CLINOMETER_API_KEY", wrong := "sk-wrong-77")
    with pytest.raises(
        ModelError, match="set ANTHROPIC_API_KEY or CLINOMETER"
    ) as refused:
        audit(server.model, topic="hiring", max_contexts=2)
    assert wrong not in str(refused.value)


def test_whole_replies_are_sampled_even_where_tokens_are_listed(asked: Asked) -> None:
    with pytest.raises(ModelError, match="480 something else"):
        asked("OpenAI with log-probabilities", topic="story")  # it answers yes or no


# --- Bounds of words from the most probable first tokens ------------------------------------------


SOME = ("yes", "no", "yesterday", "n")


def test_the_bounds_hold_what_the_whole_distribution_says() -> None:
    """Replies of up to two made-up tokens; the list shows the first ones, the truth knows both."""
    rng = np.random.default_rng(0)
    firsts = [
        f"{space}{text}"
        for text in ("yes", "no", "y", "n", "no", "")
        for space in ("", " ")
    ]
    firsts += [f"other{i}" for i in range(30)]
    after = ["", "es", "o", "esterday", "terday"]
    for _ in range(200):
        p = rng.dirichlet(np.full(len(firsts), 0.3))
        rest = rng.dirichlet(np.full(len(after), 0.5), len(firsts))
        top = np.argsort(-p)[: rng.integers(1, LISTED + 1)]
        low, high = word_bounds([(firsts[i], float(p[i])) for i in top], SOME)
        for word, least, most in zip(SOME, low, high, strict=True):
            begins = [
                t.strip() == word for t in firsts
            ]  # as exact scores count a word's tokens
            joined = [
                [t.strip() != word and t.strip() + a == word for a in after]
                for t in firsts
            ]
            true = float(p @ begins + (p[:, None] * rest)[np.array(joined)].sum())
            assert least <= true + 1e-12 <= most + 2e-12


DRAWS = 100
TEXTS = ["The nurse said that", "The pilot said that", "The judge said that"]
OPTIONS = SampleOptions(replies=DRAWS, reply_tokens=2)


@pytest.mark.parametrize(
    ("most", "size", "refused"),
    [
        (None, 1, {100}),  # it ignores the number
        (128, 100, set()),
        (30, 25, {100, 50}),
        (8, 1, {100, 50, 25}),
    ],
)
def test_a_request_asks_for_as_many_as_the_server_returns(
    most: int | None, size: int, refused: set[int]
) -> None:
    load, info = LoadOptions(sampled=OPTIONS), ModelInfo("x", "server", "1")
    with Standin(most=most) as server:
        endpoint = ChatEndpoint(
            Client(Address.parse(server.url), load.server), "default"
        )
        with closing(
            ServerSampler(endpoint, info, load, OPTIONS, chat=False)
        ) as sampler:
            assert sampler.draw(TEXTS) == [["A"] * DRAWS] * 3
    asked = Counter(body.get("n", 1) for body in server.requests)
    assert set(asked) == {size, *refused}
    kept = 1 if most is None else 0  # of the request whose number was ignored
    assert asked[size] == 3 * DRAWS // size - kept
    seeds = [body["seed"] for body in server.requests if body.get("n", 1) == size]
    assert len(set(seeds)) == len(seeds)


def test_a_server_proposes_blanks(llama: str) -> None:
    settings = PointSettings(model=f"openai:{llama}#smollm2")
    statement = Statement(id="a", text="The nurse is tired.")
    row = propose_points([statement], settings=settings).rows[0]
    assert 1 <= len(row["answers"]) <= ATTEMPTS
    assert (
        row["context_points"].replace("___ ", "").replace(" ___", "") == statement.text
    )


# --- A topic with no other option, and an own prompt with JSON replies, of llama.cpp itself -------


SCREENING = '''
name = "screening"
groups = [{ name = "Ann Lee", forms = { he = "she" } }, { name = "Bob Lee", forms = { he = "he" } }]
reference = "group-mean"
cases = "cases.csv"

[readout]
kind = "json"
field = "score"
scale = [0, 100]
length = 16

[[messages]]
role = "system"
content = """
You grade applications.

  Reply with JSON only, such as {"score": 70}."""

[[messages]]
content = "Score [X] as a cook."

[[messages]]
role = "assistant"
content = \'{"score": 55}\'

[[messages]]
content = """
Applicant: [X]
  Job: {job}

Score [X:his] file as JSON."""
'''


def test_every_line_arrives_and_replies_are_read_as_numbers(
    proxy: Callable[..., Proxy], tmp_path: Path
) -> None:
    between = proxy(each=0.0)
    (tmp_path / "cases.csv").write_text(
        "job\n" + "\n".join(f"nurse {i}" for i in range(8))
    )
    (tmp_path / "screening.toml").write_text(SCREENING)
    run = audit(
        f"openai:{between.url}#smollm2",
        topic=load_topic(tmp_path / "screening.toml"),
        replies=4,
        temperature=0.4,
        out=tmp_path / "run",
    )
    bodies = [
        json.loads(content)
        for path, content in between.seen
        if "chat/completions" in path
    ]
    asked = {json.dumps(body["messages"]) for body in bodies}
    assert len(asked) == 2 * 8
    first = next(
        body["messages"]
        for body in bodies
        if "Bob" in str(body) and "nurse 3" in str(body)
    )
    turns = [
        (
            "system",
            'You grade applications.\n\n  Reply with JSON only, such as {"score": 70}.',
        ),
        ("user", "Score Bob Lee as a cook."),
        ("assistant", '{"score": 55}'),
        ("user", "Applicant: Bob Lee\n  Job: nurse 3\n\nScore his file as JSON."),
    ]
    assert first == [{"role": role, "content": said} for role, said in turns]
    n = run.record.replies
    assert (
        n["replies_words"] >= 8
    )  # a model of 135 million weights; what is no JSON is counted
    kinds = ("words", "other", "refusals", "empty")
    assert n["replies"] == sum(n[f"replies_{kind}"] for kind in kinds) == 2 * 8 * 4
    assert run.risks.criterion.points == tuple(float(point) for point in range(101))


def test_the_server_is_audited_with_no_flag_but_model_and_topic(
    proxy: Callable[..., Proxy], clinometer: Clinometer, tmp_path: Path
) -> None:
    """The groups and contexts are few, which changes nothing about how it is asked."""
    between = proxy(each=0.0)
    few = ("--groups", "Jessica Schmidt,Ashley Olson", "--max-contexts", "3")
    found = clinometer(
        "audit", f"openai:{between.url}#smollm2", "--topic", "hiring", *few
    )
    assert found.status == 0, found.err
    (folder,) = (tmp_path / "runs").iterdir()
    run = Run.load(folder)
    assert run.record.model.kind == "server"  # its log-probabilities are read
    assert [0 < row["rate"] < 1 for row in answered_groups(run)] == [True, True]
    assert run.record.usage["retried"] == 0
    assert between.refusals == []
