"""Every option that holds a number has a range, and a number outside it is one line."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest
import typer
from tests.command import Clinometer, every_command
from tests.present import present

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
        for option in command.params:
            for kind in kinds(hints.get(option.name)) & {int, float}:
                yield path, option, kind, needed


OPTIONS = list(number_options())
IDS = [" ".join([*path, option.opts[-1]]) for path, option, _, _ in OPTIONS]


def test_the_options_are_found() -> None:
    found = set(IDS)
    assert {"import table --seed", "audit --timeout", "view --port"} <= found


@pytest.mark.parametrize(("path", "option", "kind", "needed"), OPTIONS, ids=IDS)
def test_a_number_out_of_range_is_one_line(
    clinometer: Clinometer,
    path: tuple[str, ...],
    option: typer.core.TyperOption,
    kind: type,
    needed: list[str],
) -> None:
    given = [w for w in needed if w != option.opts[0]]
    wrong = "-1" if kind is int else "nan"
    result = clinometer(*path, option.opts[-1], wrong, *given)
    assert result.status == 2
    assert result.err.startswith(f"clinometer: {option.opts[-1]}: expected ")
    assert result.err.endswith(f", found {wrong}\n")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "table", "t.csv", "--level", "0"),
        ("import", "table", "t.csv", "--level", "1"),
        ("import", "table", "t.csv", "--level", "95"),
        ("import", "table", "t.csv", "--replicates", "5"),
        ("audit", "reference:random", "--level", "0"),
        ("audit", "reference:random", "--replicates", "99"),
        ("compare", "a", "b", "--replicates", "0"),
        ("view", "--port", "65536"),
        ("reliability", "annotate", "t.csv", "--port", "99999"),
        ("audit", "reference:random", "--timeout", "inf"),
        ("reliability", "check", "x", "--versions", "0"),
    ],
    ids=" ".join,
)
def test_the_ends_of_ranges_are_accepted(
    clinometer: Clinometer, arguments: tuple[str, ...]
) -> None:
    result = clinometer(*arguments)
    assert result.status == 2
    assert result.err.startswith(f"clinometer: {arguments[-2]}: expected ")


def test_every_default_lies_in_its_range() -> None:
    for path, option, _, _ in OPTIONS:
        allowed: Range = option.callback.allowed
        assert option.default is None or option.default in allowed, (path, option.name)
