"""How a command declares an option, and how help lists it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Annotated, Any, TypeVar

import typer
from rich.markup import escape

from clinometer import settings as ranges
from clinometer.settings import Range

#: The most options that are listed without headings.
_FEW = 20
#: typer's own options, which only --help-all lists.
_COMPLETION = {"install_completion", "show_completion"}

Given = TypeVar("Given", float, list[float], None)


def opt(
    help: str,
    *names: str,
    allowed: Range | None = None,
    panel: str | None = None,
    unset: str | bool = True,
    advanced: bool = False,
    keys: Mapping[str, tuple[str, str]] | None = None,
) -> Any:
    """An option; a number outside the range `allowed` is rejected with a one-line error, before
    any work. `unset` describes what happens without the option, if its default does not. One that
    is `advanced` is listed by --help-all only. `keys` are those of KEY=VALUE, each with its help
    and default, which --help-all lists too.

    typer's own `min` and `max` print a box of several lines, and have no open intervals.
    """

    def check(param: typer.CallbackParam, value: Given) -> Given:
        several = value if isinstance(value, list | tuple) else [value]
        for one in several:
            if one is not None and allowed is not None:
                allowed.check(param.opts[-1], one)
        return value

    check.allowed = allowed  # type: ignore[attr-defined]
    check.keys = keys or {}  # type: ignore[attr-defined]
    callback = check if allowed is not None or keys else None
    return typer.Option(
        *names,
        help=help,
        callback=callback,
        rich_help_panel=panel,
        show_default=unset,
        hidden=advanced,
    )


JSON = Annotated[bool, opt("Print one JSON object instead of a table.", "--json")]
PORT = Annotated[int, opt("Port to listen on; 0 picks any free one.", allowed=ranges.PORT)]


def listed(parameters: Sequence[Any], *, everything: bool) -> list[Any]:
    """Arguments and options as help shows them: without types, with the default in the sentence.

    A heading over a single option, or in a short list, is dropped.
    """
    hidden = {p.name for p in parameters if getattr(p, "hidden", False)} | _COMPLETION
    shown = [copy(p) for p in parameters if everything or p.name not in hidden]
    left_out = len(parameters) - len(shown)
    panels = Counter(p.rich_help_panel for p in shown)
    for p in shown:
        p.hidden = False
        p.display_type_rich = lambda ctx: None
        if default := default_text(p):
            p.help = f"{p.help} [dim]\\[default: {escape(default)}][/dim]"
        p.show_default = False
        if p.param_type_name == "option":
            if everything:
                p.help = "\n\n".join([p.help, *(_key_line(*key) for key in keys_of(p))])
            names = ", ".join(sorted(p.opts, key=len))
            p.opts, p.secondary_opts = ["/".join([names, *p.secondary_opts])], []
            if p.required:
                p.help, p.required = f"{p.help} [dim red]\\[required][/]", False
        if len(shown) <= _FEW or panels[p.rich_help_panel] == 1:
            p.rich_help_panel = None
        if p.name == "help" and left_out:
            options = "option" if left_out == 1 else "options"
            p.help = f"Show this message; --help-all shows {left_out} more {options}."
    return shown


def keys_of(parameter: Any) -> list[tuple[str, str, str]]:
    """The keys of an option KEY=VALUE: name, help and default."""
    keys = getattr(parameter.callback, "keys", {})
    return [(name, help, default) for name, (help, default) in keys.items()]


def _key_line(name: str, help: str, default: str) -> str:
    shown = f" [dim]\\[default: {escape(default)}][/dim]" if default else ""
    return f"[bold]{name}[/bold] {escape(help)}{shown}"


def paragraphs(text: str | None) -> str:
    """A docstring without the line breaks inside its paragraphs."""
    return "\n\n".join(" ".join(part.split()) for part in (text or "").split("\n\n"))


def default_text(parameter: Any) -> str:
    """What happens without an option, as its help and the documentation show it."""
    if isinstance(parameter.show_default, str):
        return parameter.show_default
    default = parameter.default
    silent = default is None or default is False or default == "" or parameter.required
    return "" if silent else str(default)
