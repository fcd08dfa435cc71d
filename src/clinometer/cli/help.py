"""Help of commands: short, without types, and --help-all for what few people need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from typing import Any

from rich.markup import escape
from typer.core import TyperCommand

_FEW = 20
"""The most options that are listed without headings."""

_COMPLETION = {"install_completion", "show_completion"}
"""typer's own options, which only --help-all lists."""


def listed(parameters: Sequence[Any], *, everything: bool) -> list[Any]:
    """Return arguments and options as help shows them: without types, defaults in the sentence.

    A heading over a single option, or in a short list, is dropped.
    """
    offered = [p for p in parameters if everything or not _is_advanced(p)]
    more = len(parameters) - len(offered)
    panels = Counter(p.rich_help_panel for p in offered)
    entries = []
    for parameter in offered:
        entry = _as_shown(parameter, everything=everything)
        if len(offered) <= _FEW or panels[parameter.rich_help_panel] == 1:
            entry.rich_help_panel = None
        if entry.name == "help" and more:
            options = "option" if more == 1 else "options"
            entry.help = f"Show this message; --help-all shows {more} more {options}."
        entries.append(entry)
    return entries


def _is_advanced(parameter: Any) -> bool:
    return getattr(parameter, "hidden", False) or parameter.name in _COMPLETION


def _as_shown(parameter: Any, *, everything: bool) -> Any:
    """Return a copy of a parameter whose help has its default and its keys."""
    entry = copy(parameter)
    entry.hidden = False
    entry.display_type_rich = lambda ctx: None
    default = default_text(entry)
    if default:
        entry.help = f"{entry.help} [dim]\\[default: {escape(default)}][/dim]"
    entry.show_default = False
    if entry.param_type_name == "option":
        if everything:
            keys = [_key_line(*key) for key in keys_of(entry)]
            entry.help = "\n\n".join([entry.help, *keys])
        names = ", ".join(sorted(entry.opts, key=len))
        entry.opts = ["/".join([names, *entry.secondary_opts])]
        entry.secondary_opts = []
        if entry.required:
            entry.help = f"{entry.help} [dim red]\\[required][/]"
            entry.required = False
    return entry


def keys_of(parameter: Any) -> list[tuple[str, str, str]]:
    """Return the keys of an option KEY=VALUE: name, help and default."""
    keys = getattr(parameter.callback, "keys", {})
    return [(name, help, default) for name, (help, default) in keys.items()]


def _key_line(name: str, help: str, default: str) -> str:
    ending = f" [dim]\\[default: {escape(default)}][/dim]" if default else ""
    return f"[bold]{name}[/bold] {escape(help)}{ending}"


def paragraphs(text: str | None) -> str:
    """Return a docstring without the line breaks inside its paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def default_text(parameter: Any) -> str:
    """Return what happens without an option, as its help and the documentation show it."""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    default = parameter.default
    if parameter.required or default is None or default is False or default == "":
        return ""
    return str(default)


class ListedCommand(TyperCommand):
    """A command whose help leaves out what few people need, unless --help-all asks for it."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        parameters = listed(self.get_params(ctx), everything=bool(ctx.obj))
        TyperCommand(
            self.name,
            help=paragraphs(self.help),
            params=parameters,
            add_help_option=False,
        ).format_help(ctx, formatter)
