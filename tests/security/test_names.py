"""What a file may name: data, never code or addresses, unless the user said so when asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.command import Clinometer, refused
from tests.security import hostile

from clinometer.errors import SettingsError
from clinometer.models.client.address import KEY_VARIABLE, Address
from clinometer.storage.untrusted import NOTHING, Allowed

#: Nothing listens there in this table; test_every_command has a real listener.
NAMED = [
    pytest.param(name, table, id=f"{table['by']} {name}")
    for name, table in hostile.readouts("http://127.0.0.1:9")
]
MINE = (
    'def read(reply):\n    return "glad"\nfrom os import system\ntext = "no function"\n'
)

OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"


def open_topic(clinometer: Clinometer, table: dict[str, str], folder: Path) -> str:
    topic = hostile.write_topic(folder, table)
    command = (
        "audit",
        "pocket:gpt2-s",
        "--topic",
        topic,
        "--replies",
        2,
        "--out",
        folder / "o",
    )
    return clinometer(*command).err


def open_run(clinometer: Clinometer, table: dict[str, str], folder: Path) -> str:
    run = hostile.write_run(folder / "run", table)
    return clinometer("export", "labels", run, "--out", folder / "replies.csv").err


OPENERS = {"topic": open_topic, "run": open_run}


@pytest.mark.parametrize("kind", OPENERS)
@pytest.mark.parametrize(("name", "table"), NAMED)
def test_no_file_has_code_run_or_others_asked(
    kind: str, name: str, table: dict[str, str], clinometer: Clinometer, tmp_path: Path
) -> None:
    said = OPENERS[kind](clinometer, table, tmp_path)
    wanted = "--allow code:" if table["by"] == "function" else "--allow model:"
    assert f"{wanted}{name}" in " ".join(said.split())
    assert "Traceback" not in said


def test_no_flag_has_the_code_of_a_run_folder_run(
    clinometer: Clinometer, tmp_path: Path
) -> None:
    run = hostile.write_run(tmp_path / "r", {"by": "function", "function": "os:system"})
    flags = ("--allow", "code:os:system", "--out", tmp_path / "o")
    assert (
        "is code, which no file can have run"
        in clinometer("export", "labels", run, *flags).err
    )


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "my_readout.py").write_text(MINE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("my_readout", None)


@pytest.mark.usefixtures("mine")
@pytest.mark.parametrize("name", [*hostile.CODE, "nowhere:read", "my_readout:nothing",
                                  "my_readout:system", "my_readout:text"])  # fmt: skip
def test_a_flag_allows_functions_of_your_project_only(name: str) -> None:
    with pytest.raises(SettingsError, match=r"^readout\.function: "):
        Allowed(code=(name,)).function(name, where="readout.function")


@pytest.mark.usefixtures("mine")
def test_a_function_of_yours_reads_where_you_say_so() -> None:
    name = "my_readout:read"
    assert Allowed(code=(name,)).function(name, where="x")("anything") == "glad"
    for other in (
        NOTHING,
        Allowed(code=("my_readout:other",)),
        Allowed(models=(name,)),
    ):
        with pytest.raises(SettingsError, match=f"--allow code:{name}"):
            other.function(name, where="x")


def test_an_adapter_cannot_have_the_hub_asked(
    clinometer: Clinometer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("clinometer.models.local.load.hub_reachable", lambda: True)
    base = {"peft_type": "LORA", "base_model_name_or_path": "org/evil-base"}
    (tmp_path / "adapter_config.json").write_text(json.dumps(base), encoding="utf-8")
    said = clinometer("audit", tmp_path, "--topic", "gender", "--out", tmp_path / "o")
    assert "--allow model:org/evil-base" in " ".join(said.err.split())


@pytest.mark.parametrize(
    ("address", "variable", "sent"),
    [
        ("https://api.openai.com", OPENAI_KEY_VARIABLE, True),
        ("https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", True),
        ("https://api.anthropic.com/v1", OPENAI_KEY_VARIABLE, False),
        ("https://mine.openai.azure.com/openai/v1", "AZURE_OPENAI_API_KEY", True),
        ("https://openai.azure.com.evil.example", "AZURE_OPENAI_API_KEY", False),
        ("http://api.openai.com", OPENAI_KEY_VARIABLE, False),
        ("https://api.openai.com.evil.example", OPENAI_KEY_VARIABLE, False),
        ("https://evil.example/api.openai.com", OPENAI_KEY_VARIABLE, False),
        ("http://127.0.0.1:8080", OPENAI_KEY_VARIABLE, False),
        ("https://host.example", KEY_VARIABLE, True),
        ("http://host.example", KEY_VARIABLE, False),
        ("http://10.0.0.1:8000", KEY_VARIABLE, False),
        ("http://127.0.0.1.evil.example", KEY_VARIABLE, False),
        ("http://localhost.evil.example", KEY_VARIABLE, False),
        ("http://127.0.0.1:8080", KEY_VARIABLE, True),
        ("http://[::1]:8080", KEY_VARIABLE, True),
        ("http://localhost:8080", KEY_VARIABLE, True),
    ],
)
def test_a_key_goes_to_its_host_and_never_in_the_clear(
    address: str, variable: str, sent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (KEY_VARIABLE, OPENAI_KEY_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "secret")
    known = Address.parse(address)
    assert (known.key is not None) == sent
    assert "secret" not in f"{known!r} {known.key} {vars(known)}"


@pytest.mark.parametrize("key", ["schlüssel", "a\u200bb", "a\nb", "\U0001f511"])
def test_a_key_of_other_characters_is_one_line(
    key: str, clinometer: Clinometer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(KEY_VARIABLE, key)
    model = "openai:http://127.0.0.1:9#m"
    said = clinometer("audit", model, "--topic", "gender", "--out", tmp_path / "o")
    refused(said, f"{KEY_VARIABLE}: expected letters")
    assert key not in said.err
