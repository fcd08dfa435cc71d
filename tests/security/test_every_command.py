"""A hostile topic, run folder, log, model folder and adapter, opened by every command: nothing
runs, and nothing leaves."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.command import Clinometer, every_command
from tests.security import hostile

COMMANDS = {" ".join(path): command for path, command in every_command()}
#: Commands that take no file of others, or only list and clear what is on this machine.
APART = {"doctor"}
THINGS = ("topic", "judge", "run", "judged run", "log", "model", "adapter")
#: Events that mean that something ran or left, as Python's audit hooks name them.
FORBIDDEN = ("os.system", "subprocess.Popen", "os.exec", "os.posix_spawn", "os.spawn")


class Watch:
    """Notes programs that are started and connections to anywhere; hooks cannot be taken off."""

    def __init__(self) -> None:
        self.on, self.events = False, list[str]()
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and (event in FORBIDDEN or event == "socket.connect"):
            self.events.append(f"{event} {arguments!r}"[:200])


WATCH = Watch()


@pytest.fixture(scope="module")
def listener() -> Iterator[hostile.Listener]:
    with hostile.Listener() as listener:
        yield listener


@pytest.fixture(scope="module")
def things(
    listener: hostile.Listener, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """Each names the command `touch` or the listener wherever it can."""
    root = tmp_path_factory.mktemp("hostile")
    code = {"by": "function", "function": "os:system"}
    judge = {
        "by": "judge",
        "model": f"openai:{listener.url}#m",
        "rubric": "Is it? [reply]",
    }
    for name in ("one", "two", "model", "adapter"):
        (root / name).mkdir()
    auto = {
        "AutoConfig": "evil.C",
        "AutoModelForCausalLM": "evil.M",
        "AutoTokenizer": "evil.T",
    }
    config = {"model_type": "evil", "auto_map": auto, "_name_or_path": listener.url}
    for name in ("config.json", "tokenizer_config.json"):
        (root / "model" / name).write_text(json.dumps(config), encoding="utf-8")
    (root / "model" / "evil.py").write_text(
        "import os\nos.system('true')\n", encoding="utf-8"
    )
    base = {
        "peft_type": "LORA",
        "base_model_name_or_path": "evil/base",
        "auto_mapping": auto,
    }
    (root / "adapter" / "adapter_config.json").write_text(
        json.dumps(base), encoding="utf-8"
    )
    log = {
        "version": 2,
        "eval": {"metadata": {"clinometer": {"topic": hostile.topic_text(code)}}},
    }
    (root / "log.json").write_text(json.dumps(log), encoding="utf-8")
    return {
        "topic": hostile.write_topic(root / "one", code),
        "judge": hostile.write_topic(root / "two", judge),
        "run": hostile.write_run(root / "run", code),
        "judged run": hostile.write_run(root / "judged", judge),
        "log": root / "log.json",
        "model": root / "model",
        "adapter": root / "adapter",
    }


@pytest.fixture(autouse=True)
def at_a_listener(
    listener: hostile.Listener, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The hub is the listener too, keys are there to be stolen, and no page is served."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLINOMETER_API_KEY", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("CLINOMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", listener.url)
    monkeypatch.setattr("clinometer.web.serve.serve", lambda *_, **__: None)
    monkeypatch.setattr("webbrowser.open", lambda *_: True)


def filled(command: Any, thing: Path, out: Path) -> list[list[str]]:
    """The command with the thing as every argument, and as every option that takes a text."""
    arguments: list[str] = []
    options: list[list[str]] = []
    for parameter in command.params:
        flag = next((flag for flag in parameter.opts if flag in NAMES), None)
        if parameter.param_type_name == "argument":
            arguments += [str(thing)] * (2 if parameter.nargs == -1 else 1)
        elif "--out" in parameter.opts:
            arguments += ["--out", str(out)]
        elif parameter.required:
            arguments += [parameter.opts[0], str(thing)]
        elif flag is not None:
            options.append([flag, str(thing)])
    return [arguments, *([*arguments, *one] for one in options)]


#: Options that name a file, a folder or a model.
NAMES = {"--topic", "--contexts", "--model", "--mapping", "--task", "--tokenizer", "--protocol",
         "--variants", "--validation", "--writer", "--guidelines"}  # fmt: skip


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in APART])
def test_nothing_runs_and_nothing_leaves(
    name: str,
    thing: str,
    things: dict[str, Path],
    listener: hostile.Listener,
    clinometer: Clinometer,
    tmp_path: Path,
) -> None:
    more = ["--replies", "4"] if name == "audit" else []
    for number, words in enumerate(
        filled(COMMANDS[name], things[thing], tmp_path / "out")
    ):
        model = ["pocket:gpt2-s"] if name == "audit" and "--topic" in words else None
        given = words if model is None else [*model, *words[words.index("--out") :]]
        WATCH.on = True
        try:
            said = clinometer(*name.split(), *given, *more)
        finally:
            WATCH.on = False
        assert WATCH.events == [], (number, words)
        assert listener.heard == [], (number, words)
        assert "secret" not in said.out + said.err
        assert "a bug in clinometer" not in said.err, (words, said.err)


def test_the_watch_sees_what_runs_and_what_leaves(listener: hostile.Listener) -> None:
    import os
    import socket

    host, port = listener.socket.getsockname()
    WATCH.on = True
    os.system("true")  # noqa: S605
    socket.create_connection((host, port)).close()
    WATCH.on = False
    assert [event.split()[0] for event in WATCH.events] == [
        "os.system",
        "socket.connect",
    ]
    WATCH.events.clear()
