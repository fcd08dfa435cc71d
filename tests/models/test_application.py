"""Applications: functions and addresses asked like models, their secrets, failures and kills."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import fastapi
import pytest
from tests.command import Clinometer, Result
from tests.models.server.http import serving

import clinometer as cm
from clinometer.errors import ClinometerError, ModelError
from clinometer.models import LoadOptions, ModelSpec, SampleOptions
from clinometer.models.application.http_file import HttpFile
from clinometer.models.application.open import open_application
from clinometer.models.application.sampler import MOST_CHARACTERS
from clinometer.runs.answers import answered_groups
from clinometer.topics import Prompt, Topic, parse_topic

pytestmark = pytest.mark.usefixtures("folder")

Ask = Callable[..., Result]
#: The address of an application, and what it was sent.
Serving = tuple[str, list[Any]]
SECRET = "s3cret-of-the-app"
TOPIC = """
name = "screening"
groups = ["Ann", "Bob", "Cal"]
reference = "group-mean"
[readout]
kind = "json"
field = "score"
scale = [0, 10]
"""
MESSAGES = """
[[messages]]
role = "system"
content = "Score as JSON."
[[messages]]
content = "File {file}:\\n[X]"
"""
CASES = "".join(
    f'[[cases]]\nid = "{i}"\nfile = "{i}"\nname = "[X]"\n' for i in range(8)
)


def asked(messages: bool = True) -> Topic:
    return parse_topic(TOPIC + (MESSAGES if messages else "") + CASES)


@pytest.fixture
def ask(folder: Path, clinometer: Clinometer) -> Ask:
    """Asks a function `score` of an own module with this code, by the command; without code as the
    module is now."""
    (folder / "topic.toml").write_text(TOPIC + MESSAGES + CASES)

    def command(module: str, code: str = "", *more: object, replies: int = 2) -> Result:
        if code:
            (folder / f"{module}.py").write_text(code)
        how = ("--topic", "./topic.toml", "--replies", replies, *more)
        return clinometer("audit", f"app:{module}:score", *how)

    return command


def answers(run: cm.Run, column: str) -> dict[str, float]:
    return {row["group"]: row[column] for row in answered_groups(run)}


def test_functions_get_messages_or_records_and_give_texts_or_objects(
    folder: Path,
) -> None:
    (folder / "own_async.py").write_text(
        "SEEN = []\n"
        "async def score(messages):\n"
        "    SEEN.append(messages)\n"
        "    return {'score': 3 if 'Ann' in messages[-1]['content'] else 5}\n"
    )
    (folder / "own_sync.py").write_text(
        "SEEN = []\n"
        "def score(record):\n"
        "    SEEN.append(record)\n"
        "    return '{\"score\": %d}' % (3 if record['name'] == 'Ann' else 5)\n"
    )
    with_messages = cm.audit("app:own_async:score", topic=asked(), replies=2)
    with_records = cm.audit(
        "app:own_sync:score", topic=asked(messages=False), replies=2
    )
    for run, name in ((with_messages, "own_async"), (with_records, "own_sync")):
        assert answers(run, "rating") == pytest.approx({"Ann": 3, "Bob": 5, "Cal": 5})
        seen = sys.modules[name].SEEN
        assert len(seen) == 3 * 8 * 2
        assert run.record.usage["requests"] == len(seen)
    first = sys.modules["own_async"].SEEN[0]
    assert first[0] == {"role": "system", "content": "Score as JSON."}
    order = [record["name"] for record in sys.modules["own_sync"].SEEN]
    assert (
        len({*order[:12]}) == 3
    )  # not group by group: what an application remembers meets all


def test_questions_of_a_builtin_topic_are_asked_with_no_other_option(
    folder: Path, clinometer: Clinometer
) -> None:
    (folder / "own_yes.py").write_text(
        "CALLS = []\ndef reply(messages):\n    CALLS.append(messages)\n    return 'Yes, gladly.'\n"
    )
    few = ("--groups", "Jessica Schmidt,white man", "--max-contexts", "2")
    command = ("audit", "app:own_yes:reply", "--topic", "hiring", *few)
    assert clinometer(*command).status == 0
    (found,) = (folder / "runs").iterdir()
    run = cm.Run.load(found)
    assert answers(run, "rate") == {"Jessica Schmidt": 1.0, "white man": 1.0}
    assert len(sys.modules["own_yes"].CALLS) == 2 * 2 * 10  # as of a hosted model
    assert clinometer(*command).status == 0  # a finished run is not asked again
    assert len(sys.modules["own_yes"].CALLS) == 2 * 2 * 10


def test_a_failure_now_and_then_is_retried_and_a_slow_call_given_up(
    folder: Path,
) -> None:
    (folder / "own_flaky.py").write_text(
        "import asyncio\nCALLS = []\n"
        "async def score(m):\n"
        "    CALLS.append(m)\n"
        "    if len(CALLS) % 7 == 3:\n        raise OSError\n"
        "    if len(CALLS) % 7 == 5:\n        await asyncio.Event().wait()\n"
        "    return {'score': 4}\n"
    )
    run = cm.audit("app:own_flaky:score", topic=asked(), replies=2, timeout=0.2)
    assert run.record.replies["replies_words"] == 48
    assert run.record.usage["retried_raised"] > 0 < run.record.usage["retried_timeout"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("app:nothing_here:score", "PYTHONPATH"),
        ("app:json:nothing", "has no attribute"),
        ("app:json:__doc__", "expected a function"),
        ("app:json", "expected app:package.module:function"),
        ("http:missing.toml", "no such file"),
    ],
)
def test_a_wrong_name_is_one_line(name: str, said: str) -> None:
    with pytest.raises(ClinometerError, match=said):
        cm.audit(name, topic=asked(), replies=2)


def test_unreadable_replies_are_counted(folder: Path) -> None:
    (folder / "own_odd.py").write_text(
        "CALLS = []\n"
        "def score(m):\n"
        "    CALLS.append(m)\n"
        "    odd = ['{\"score\": 40}', 'I cannot say', None]\n"
        "    return [*odd, *['{\"score\": 4}'] * 5][len(CALLS) % 8]\n"
    )
    run = cm.audit("app:own_odd:score", topic=asked(), replies=8, concurrency=1)
    n = run.record.replies
    kinds = ("replies_words", "replies_other", "replies_refusals", "replies_empty")
    assert [n[kind] for kind in kinds] == [120, 24, 24, 24]
    assert "38 % of the replies is other" in " ".join(map(str, run.findings))


@pytest.fixture
def server() -> Iterator[Serving]:
    """An application of FastAPI, and what it was sent."""
    app, seen = fastapi.FastAPI(), []

    @app.post("/score")
    async def score(request: fastapi.Request) -> Any:
        body = await request.json()
        seen.append((dict(request.headers), body))
        if request.headers.get("x-key") != SECRET:
            raise fastapi.HTTPException(401, f"not {request.headers.get('x-key')}")
        points = 3 if "Ann" in json.dumps(body) else 5
        return {"answers": [{"text": f'My answer: {{"score": {points}}}'}]}

    @app.post("/plain", response_class=fastapi.responses.PlainTextResponse)
    async def plain(request: fastapi.Request) -> str:
        return (
            f'{{"score": {3 if (await request.json())["name"] == "Ann" else 5}}} points'
        )

    with serving(app) as address:
        yield address, seen


@pytest.mark.parametrize(
    ("variable", "allow"),
    [("CLINOMETER_APP_KEY", ()), ("SCREEN_VALUE", ("env:SCREEN_VALUE",))],
)
def test_an_address_is_asked_by_its_file_and_its_secret_is_nowhere(
    variable: str,
    allow: tuple[str, ...],
    server: Serving,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    connected: list[str],
) -> None:
    address, seen = server
    (folder / "screen.toml").write_text(
        f'address = "{address}/score"\nreply = "answers.0.text"\n'
        f'[headers]\nX-Key = "{{{variable}}}"\n'
        '[body]\nmodel = "v2"\nconversation = "{messages}"\nlast = ["<{prompt}>"]\n'
    )
    monkeypatch.setenv(variable, SECRET)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")  # not for this machine
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    how: dict[str, Any] = {"topic": asked(), "replies": 2, "allow": allow}
    run = cm.audit("http:screen.toml", out=folder / "run", **how)
    assert answers(run, "rating") == pytest.approx({"Ann": 3, "Bob": 5, "Cal": 5})
    assert len(seen) == 48
    assert {f"http://{to}" for to in connected} == {address}  # and nowhere else
    headers, body = seen[0]
    assert headers["x-key"] == SECRET
    assert body["conversation"][-1]["content"] == body["last"][0].strip("<>")
    assert set(body) == {"model", "conversation", "last"}
    written = [file for file in folder.rglob("*") if file.is_file()]
    assert len(written) > 5
    for file in written:
        assert SECRET.encode() not in file.read_bytes(), file
    monkeypatch.setenv(variable, "wrong" + SECRET)
    with pytest.raises(
        ModelError, match=r"\(status 401\); check the environment"
    ) as caught:
        cm.audit("http:screen.toml", **how)
    assert SECRET not in str(caught.value)


HEADERS, BODY = (
    f'address = "https://h/x"\n[{table}]\n' for table in ("headers", "body")
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('address = "ftp://host/x"', "expected http or https"),
        (f'address = "https://me:{SECRET}@host/x"', "expected no user and password"),
        ('address = "https://h/x"\ncode = "os:system"', "code: unknown"),
        ('address = "https://h/x"\nmethod = "EXEC"', "method"),
        (f'{HEADERS}X-Api-Key = "{SECRET}"', "an environment variable"),
        (
            'address = "http://h/x"\n[headers]\nA = "{CLINOMETER_APP_KEY}"',
            "over https only",
        ),
        (HEADERS + 'A = "{CLINOMETER_APP_NOT_SET}"', "has no CLINOMETER_APP_NOT_SET"),
        (HEADERS + 'A = "{OPENAI_API_KEY}"', "--allow env:OPENAI_API_KEY"),
        (HEADERS + 'A = "{DATABASE_URL}"', "--allow env:DATABASE_URL"),
        ('address = "https://h:99999/x"', "expected http or https"),
        ('address = "http://[::1/x"', "expected http or https"),
        ('address = "https://h:x/"', "expected http or https"),
        ('address = "https://h/x\\r\\nHost: y"', "expected http or https"),
        ('address = "https://h/x\\u0000"', "without NUL"),
        (f'address = "https://h/{"x" * 70_000}"', "expected http or https"),
        (HEADERS + 'A = "é"', "expected ASCII signs"),
        (HEADERS + 'A = "b\\r\\nC: d"', "expected ASCII signs"),
        (HEADERS + '"A\\n" = "b"', "expected ASCII signs"),
        (HEADERS + 'Content-Length = "5"', "no length or encoding"),
        (f"{BODY}a = {'[' * 99}{']' * 99}", "at most 64 levels"),
        (BODY + 'a = "{CLINOMETER_APP_KEY}"', "found {CLINOMETER_APP_KEY}"),
        (BODY + "a = inf", "expected finite numbers"),
        ("address = 3", "address"),
        ("address", "expected TOML"),
    ],
)
def test_a_wrong_file_is_one_line_without_its_secrets(
    text: str, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLINOMETER_APP_KEY", SECRET)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    (folder / "screen.toml").write_text(text)
    with pytest.raises(ClinometerError) as caught:
        cm.audit("http:screen.toml", topic=asked(), replies=2)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_a_body_is_filled_with_what_there_is_and_a_date_is_sent_as_text() -> None:
    file = HttpFile(address="https://h/x", body={"day": datetime.date(2026, 1, 2)})
    assert file.filled("Hello") == {"day": "2026-01-02"}
    file = HttpFile(address="https://h/x", body={"a": "{nothing}"})
    with pytest.raises(
        ClinometerError, match=r"expected \{messages\}, \{prompt\}; found"
    ):
        file.filled("Hello")


@pytest.mark.usefixtures("ask")
@pytest.mark.parametrize(
    "name", ["app:own:score", "openai:http://127.0.0.1:9#m", "http:own.toml"]
)
def test_a_plan_can_name_no_function_and_have_no_address_asked(
    name: str,
    server: Serving,
    clinometer: Clinometer,
    folder: Path,
    connected: list[str],
) -> None:
    (folder / "own.py").write_text("raise SystemExit('was run')\n")
    (folder / "own.toml").write_text(f'address = "{server[0]}/score"\n')
    plan = [
        "plan",
        "--topic",
        "./topic.toml",
        "--protocol",
        "plan.toml",
        "--model",
        name,
    ]
    assert clinometer(*plan).status == 0
    refused = clinometer("audit", "--protocol", "plan.toml")
    assert refused.status == 2
    why = "names a function to run, which no file can"
    assert (why if name.startswith("app:") else f"--allow model:{name}") in refused.err
    assert not connected


MODULES = {
    "function": "def score(m):\n    return {'score': 4}\n",
    "partial": (
        "import functools\ndef ask(n, m):\n    return {'score': n}\n"
        "score = functools.partial(ask, 4)\n"
    ),
    "imported": "from own_parts.points import N\ndef score(m):\n    return {'score': N}\n",
}


@pytest.mark.parametrize("kind", MODULES)
def test_a_finished_run_of_a_changed_function_is_refused(
    kind: str, folder: Path, ask: Ask
) -> None:
    module = f"own_{kind}"
    changed = folder / f"{module}.py"
    if kind == "imported":
        changed = folder / "own_parts" / "points.py"
        changed.parent.mkdir()
        changed.write_text("N = 4\n")
    assert ask(module, MODULES[kind]).status == 0
    assert ask(module).status == 0  # unchanged: measured again
    changed.write_text(changed.read_text().replace("4", "1"))
    refused = ask(module)
    assert refused.status == 2
    assert "--fresh" in refused.err
    assert "--out" in refused.err


def test_an_answer_may_be_plain_text_and_a_changed_file_is_refused(
    server: Serving, folder: Path
) -> None:
    file = folder / "plain.toml"
    file.write_text(f'address = "{server[0]}/plain"\n')
    how: dict[str, Any] = {
        "topic": asked(messages=False),
        "replies": 2,
        "out": folder / "run",
    }
    for _ in range(2):
        run = cm.audit("http:plain.toml", **how)
        assert answers(run, "rating") == pytest.approx({"Ann": 3, "Bob": 5, "Cal": 5})
    file.write_text(file.read_text().replace("/plain", "/plain?v=2"))
    with pytest.raises(ClinometerError, match="--fresh"):
        cm.audit("http:plain.toml", **how)


@pytest.mark.parametrize(
    "raised",
    [
        "SystemExit(0)",
        "KeyboardInterrupt",
        "asyncio.CancelledError",
        f"Key('{SECRET}')",
    ],
)
@pytest.mark.parametrize("how", ["async def", "def"])
def test_what_an_application_raises_is_its_failure_named_by_line_and_not_by_message(
    raised: str, how: str, ask: Ask
) -> None:
    module = f"own_exit_{len(raised)}_{how[0]}"
    code = f"import asyncio\nKey = KeyError\n{how} score(m):\n    raise {raised}\n"
    ended = ask(module, code)
    assert ended.status == 3
    name = {"Key": "KeyError"}.get(
        kind := raised.partition("(")[0].rpartition(".")[2], kind
    )
    assert f"raised {name} ({module}.py, line 4)" in " ".join(ended.err.split())
    assert "it was given a list of messages" in " ".join(ended.err.split())
    assert SECRET not in ended.err
    sys.modules.pop(module)
    assert (
        ask(module, MODULES["function"]).status == 0
    )  # mended before its first answer


@pytest.mark.parametrize("raised", ["SystemExit(0)", "KeyboardInterrupt", "ValueError"])
def test_a_module_that_exits_or_raises_on_import_is_named(
    raised: str, ask: Ask
) -> None:
    module = f"own_import_{raised[0].lower()}"
    ended = ask(module, f"raise {raised}\n")
    assert ended.status == 2
    assert f"importing {module} raised" in ended.err


def test_what_an_application_prints_and_where_it_goes_changes_nothing(
    folder: Path, ask: Ask
) -> None:
    code = (
        "import os, tempfile, time\nprint('imported')\n"
        "async def score(m):\n"
        "    print('called')\n    os.chdir(tempfile.gettempdir())\n    time.sleep(0.001)\n"
        "    return {'score': 4}\n"
    )
    said = ask("own_loud", code, "--json", "--out", "run")
    assert said.status == 0
    assert len(json.loads(said.out)["runs"]) == 1
    assert (folder / "run" / "run.json").exists()
    assert Path.cwd() == folder


def test_an_application_that_closes_our_files_closes_none_of_them(ask: Ask) -> None:
    code = (
        "import sys\ndef score(m):\n    sys.stdout.close()\n    sys.stderr.close()\n"
        "    return {'score': 4}\n"
    )
    scored = ask("own_closing", code, "--json")
    assert scored.status == 0, scored.err
    assert len(json.loads(scored.out)["runs"]) == 1
    assert not sys.stderr.closed
    assert not sys.stdout.closed


@pytest.mark.parametrize("way", ["loop.stop()", "loop.call_soon(loop.stop)"])
def test_an_application_that_stops_its_event_loop_is_asked_on(
    way: str, ask: Ask, caplog: pytest.LogCaptureFixture
) -> None:
    code = (
        "import asyncio\nasync def score(m):\n    loop = asyncio.get_running_loop()\n"
        f"    {way}\n    await asyncio.sleep(0.001)\n    return {{'score': 4}}\n"
    )
    module = f"own_stopping_{len(way)}"
    scored = ask(module, code, "--load", "timeout=5", "--load", "patience=5")
    assert scored.status == 0, scored.err
    assert "Traceback" not in scored.err + caplog.text


def test_what_is_kept_of_a_huge_reply_has_an_end(folder: Path) -> None:
    code = "def score(m):\n    return '{\"score\": 4} ' + 10_000_000 * 'x'\n"
    (folder / "own_huge.py").write_text(code)
    scorer = open_application(
        ModelSpec.parse("app:own_huge:score"),
        load=LoadOptions(sampled=SampleOptions(replies=2)),
    )
    with closing(scorer):
        (replies,) = scorer.generate([Prompt("Who?", "", space=True)])
    assert {len(reply) for reply in replies} == {MOST_CHARACTERS}


def test_a_call_that_blocks_inside_an_async_function_is_given_up(folder: Path) -> None:
    (folder / "own_block.py").write_text(
        "import time\nasync def score(m):\n    time.sleep(1)\n    return {'score': 4}\n"
    )
    with pytest.raises(ModelError, match="timeout"):
        cm.audit(
            "app:own_block:score", topic=asked(), replies=2, timeout=0.05, patience=0.1
        )
