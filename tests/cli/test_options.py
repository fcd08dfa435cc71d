"""Settings as options: all reach the library, and a number outside its range is one line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any, get_args, get_type_hints

import pytest
import typer
from tests.command import Clinometer, every_command
from tests.present import present
from typer.testing import CliRunner

from clinometer.cli.options import grouped
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.models.options import LOAD_KEYS
from clinometer.runs import AuditSettings
from clinometer.settings import Range


def kinds(annotation: Any) -> set[type]:
    """int | None, list[float]: the types of which a value is made."""
    inner = get_args(annotation)
    return set().union(*map(kinds, inner)) if inner else {annotation}


def number_options() -> Iterator[tuple[tuple[str, ...], Any, type, list[str]]]:
    """Path of the command, the option, its type, and what else the command needs."""
    for path, command in every_command():
        function = inspect.unwrap(
            present(command.callback), stop=lambda f: hasattr(f, "__signature__")
        )
        hints = get_type_hints(function)
        needed = [
            word
            for p in command.params
            if p.required
            for word in ([p.opts[0], "x"] if p.opts[0].startswith("-") else ["x"])
        ]
        for parameter in command.params:
            for kind in kinds(hints.get(parameter.name)) & {int, float}:
                yield path, parameter, kind, needed


OPTIONS = list(number_options())
IDS = [" ".join([*path, parameter.opts[-1]]) for path, parameter, _, _ in OPTIONS]


def test_commands_and_options_stay_few_enough_to_be_looked_through() -> None:
    options = {
        " ".join(path): sum(p.param_type_name == "option" for p in command.params)
        for path, command in every_command()
    }
    assert len(options) <= 36
    assert sum(options.values()) <= 350
    assert options["audit"] <= 30
    assert options["plan"] <= 16


@pytest.mark.parametrize(("path", "parameter", "kind", "needed"), OPTIONS, ids=IDS)
def test_a_number_out_of_range_is_one_line(
    clinometer: Clinometer,
    path: tuple[str, ...],
    parameter: typer.core.TyperOption,
    kind: type,
    needed: list[str],
) -> None:
    given = [w for w in needed if w != parameter.opts[0]]
    wrong = "-1" if kind is int else "nan"
    result = clinometer(*path, parameter.opts[-1], wrong, *given)
    assert result.status == 2
    assert result.err.startswith(f"clinometer: {parameter.opts[-1]}: expected ")
    assert result.err.endswith(f", found {wrong}\n")
    assert result.err.count("\n") == 1


def test_every_default_lies_in_its_range() -> None:
    for path, parameter, _, _ in OPTIONS:
        allowed: Range = parameter.callback.allowed
        default = parameter.default
        assert default is None or default in allowed, (path, parameter.name)


def invoke(command: Callable[..., None], *arguments: str) -> Any:
    app = typer.Typer()
    app.command()(grouped(command))
    return CliRunner().invoke(app, list(arguments))


def test_only_the_settings_named_are_offered_and_set() -> None:
    got: list[Any] = []

    def say(
        seed: int = 4, *, settings: Annotated[AuditSettings, "device", "level"]
    ) -> None:
        got.append(settings)

    assert invoke(say, "--device", "cpu", "--seed", "9").exit_code == 0
    assert got == [AuditSettings(load=LoadOptions(device="cpu"))]
    assert invoke(say, "--criterion", "raw").exit_code == 2


#: Another value of each option than its default; None for one without a value.
OTHER: dict[str, str | None] = {
    "--seed": "1",
    "--coverage-threshold": "0.1",
    "--level": "0.9",
    "--clusters": "source",
    "--criterion": "share",
    "--load kind": "causal",
    "--device": "cpu",
    "--load dtype": "float32",
    "--load revision": "main",
    "--load steer": "vector.json",
    "--load batch_tokens": "64",
    "--load device_map": "auto",
    "--load quantize": "8bit",
    "--load chat_request": "Hello.",
    "--replies": "5",
    "--load temperature": "2",
    "--load effort": "low",
    "--load tokenizer": "another",
    "--load route": "boost",
    "--allow": "pickle",
    "--tolerance": "0.1",
    **dict.fromkeys(("--max-contexts", "--price", "--budget"), "7"),
    **dict.fromkeys(("--load reply_tokens", "--load top_k", "--load concurrency"), "7"),
    **dict.fromkeys(("--load timeout", "--load patience"), "7"),
    **dict.fromkeys(("--load max_requests", "--load max_tokens"), "7"),
    **dict.fromkeys(("--chat", "--placebo", "--single-token")),
}


def audited(*arguments: str) -> tuple[Any, AuditSettings | None]:
    """The error, and the settings that the options of an audit come to."""
    got: list[AuditSettings] = []

    def settle(*, settings: AuditSettings) -> None:
        got.append(settings)

    return invoke(settle, *arguments).exception, got[0] if got else None


def test_without_options_an_audit_has_the_settings_of_the_library() -> None:
    assert audited()[1] == AuditSettings()


def test_the_audit_options_are_exactly_these() -> None:
    def settle(*, settings: AuditSettings) -> None: ...

    app = typer.Typer()
    app.command()(grouped(settle))
    command = typer.main.get_command(app)
    offered = {name for p in command.params for name in p.opts if name.startswith("--")}
    offered |= {f"--load {name}" for name in LOAD_KEYS}
    assert offered == OTHER.keys() | {
        "--load",
        "--install-completion",
        "--show-completion",
    }


@pytest.mark.parametrize("flag", OTHER)
def test_every_option_of_an_audit_reaches_its_settings(flag: str) -> None:
    value = OTHER[flag]
    option, _, key = flag.partition(" ")
    given = [option] if value is None else [option, f"{key}={value}" if key else value]
    base = (
        ["--replies", "6"] if key in ("temperature", "reply_tokens", "effort") else []
    )
    error, changed = audited(*base, *given)
    assert error is None
    assert changed is not None
    assert changed != audited(*base)[1]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("batch_tokens=0", "batch_tokens: expected a whole number of at least 1"),
        ("batch_tokens=many", "batch_tokens: expected a whole number of at least 1"),
        ("dtype=float8", "dtype: expected one of auto, float32"),
        ("dtpye=float32", "did you mean dtype?"),
        ("dtype", "expected KEY=VALUE"),
    ],
)
def test_a_wrong_key_or_value_is_one_line(text: str, word: str) -> None:
    error, _ = audited("--load", text)
    assert isinstance(error, SettingsError)
    assert word in str(error)
