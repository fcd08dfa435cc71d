"""Commands that are imported when they are called, so that listing them takes no time.

`commands.toml` says where they live.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import typer
from typer.core import TyperCommand, TyperGroup


@dataclass(frozen=True)
class Command:
    """A command: `module:function` below `clinometer.cli`, and its line in the list."""

    place: str
    about: str

    def load(self, name: str) -> Any:
        module, function = self.place.split(":")
        alone = typer.Typer(add_completion=False)
        alone.command(name)(getattr(import_module(f"clinometer.cli.{module}"), function))
        return typer.main.get_command(alone)

    def listed(self, name: str) -> TyperCommand:
        return TyperCommand(name, help=self.about)


@dataclass(frozen=True)
class CommandGroup:
    """Commands under one name."""

    about: str
    commands: Mapping[str, Command | CommandGroup]

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Self:
        """A group and those in it, as `commands.toml` writes them."""
        found: dict[str, Command | CommandGroup] = {}
        found |= {name: Command(*line) for name, line in table["commands"].items()}
        found |= {name: cls.read(inner) for name, inner in table.get("groups", {}).items()}
        return cls(table["about"], found)

    def load(self, name: str) -> LazyGroup:
        return LazyGroup(name=name, help=self.about, no_args_is_help=True, table=self.commands)

    listed = load


class _Loaded(Mapping[str, Any]):
    """Commands by name, each imported when it is first taken."""

    def __init__(self, table: Mapping[str, Command | CommandGroup]) -> None:
        self._table = table
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = self._table[name].load(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


class LazyGroup(TyperGroup):
    """A group of the commands in `table`; its help imports none of them."""

    table: Mapping[str, Command | CommandGroup] = {}

    def __init__(
        self, *, table: Mapping[str, Command | CommandGroup] | None = None, **settings: Any
    ):
        super().__init__(**settings)
        self.table = type(self).table if table is None else table
        self.commands = _Loaded(self.table)  # type: ignore[assignment]  # nothing is added

    def format_help(self, ctx: Any, formatter: Any) -> None:
        listed: dict[str, Any] = {name: one.listed(name) for name, one in self.table.items()}
        loaded, self.commands = self.commands, listed
        try:
            super().format_help(ctx, formatter)
        finally:
            self.commands = loaded


ALL = CommandGroup.read(tomllib.loads(Path(__file__).with_name("commands.toml").read_text("utf-8")))
