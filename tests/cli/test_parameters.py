"""Groups of options: dataclasses on the command line, and all of them reach the library."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, get_type_hints

import pytest
import typer
from typer.testing import CliRunner

from clinometer.cli.audit.options import AuditOptions
from clinometer.cli.audit.settings import audit_settings
from clinometer.cli.parameters import grouped
from clinometer.errors import SettingsError


@dataclass(frozen=True, kw_only=True)
class Inner:
    loud: Annotated[bool, typer.Option("--loud", help="Cry.")] = False
    times: Annotated[int, typer.Option(help="How often.")] = 1


@dataclass(frozen=True, kw_only=True)
class Outer:
    word: Annotated[str, typer.Option(help="What to say.")]
    inner: Inner


def ask(*arguments: str) -> tuple[int, str, list[Any]]:
    """Exit status, output and what the command got."""
    got: list[Any] = []
    app = typer.Typer()

    @app.command()
    @grouped
    def say(
        name: Annotated[str, typer.Argument(help="To whom.")],
        *,
        outer: Outer,
        last: Annotated[str, typer.Option(help="At the end.")] = "bye",
    ) -> None:
        """Say it."""
        got.extend([name, outer, last])

    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, result.output, got


def test_a_command_gets_its_groups_whole() -> None:
    _, _, got = ask("Ann", "--word", "hello", "--times", "3")
    assert got == ["Ann", Outer(word="hello", inner=Inner(times=3)), "bye"]


def test_the_fields_of_a_group_stand_in_its_place() -> None:
    status, text, _ = ask("--help")
    assert status == 0
    assert "Say it." in text
    places = [text.index(word) for word in ("--word", "--loud", "--times", "--last")]
    assert places == sorted(places)
    assert "--outer" not in text
    assert "--inner" not in text


def test_a_field_without_a_default_is_required() -> None:
    status, _, got = ask("Ann")
    assert status == 2
    assert got == []


def test_two_options_of_one_name_are_refused() -> None:
    def command(*, times: int = 2, inner: Inner) -> None: ...

    command.__annotations__ = {"times": int, "inner": Inner, "return": None}
    with pytest.raises(ValueError, match="times"):
        grouped(command)


GROUPS = get_type_hints(AuditOptions)
PLAIN = AuditOptions(**{name: group() for name, group in GROUPS.items()})
OTHER = {
    "precision": 0.1,
    "dtype": "float32",
    "device": "cpu",
    "batch_size": "64",
    "kind": "causal",
    "norm": "2",
    "sampled": 5,
    "device_map": "auto",
    "quantize": "8bit",
    "route": "echo",
}


def other(name: str, default: object) -> object:
    """A value that is allowed and not the default."""
    if name in OTHER:
        return OTHER[name]
    if isinstance(default, bool):
        return not default
    if isinstance(default, int):
        return default + 1
    if isinstance(default, float):
        return default / 2
    return 7 if name.startswith("max") else "another"


# chat asks a second time, with settings of its own.
LEAVES = [(g, f.name) for g, kind in GROUPS.items() for f in fields(kind) if f.name != "chat"]


@pytest.mark.parametrize(("group", "name"), LEAVES)
def test_every_option_of_an_audit_reaches_its_settings(group: str, name: str) -> None:
    base = PLAIN
    if name == "temperature":
        base = replace(base, manner=replace(base.manner, sampled=5))
    chosen = getattr(base, group)
    changed = replace(chosen, **{name: other(name, getattr(chosen, name))})
    assert audit_settings(replace(base, **{group: changed})) != audit_settings(base)


@pytest.mark.parametrize("size", ["0", "-1", "many", "1.5"])
def test_a_batch_size_is_a_number_of_tokens(size: str) -> None:
    wrong = replace(PLAIN, load=replace(PLAIN.load, batch_size=size))
    with pytest.raises(SettingsError, match="--batch-size: expected auto or a number of tokens"):
        audit_settings(wrong)
