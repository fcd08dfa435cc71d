"""Options that hold a number: every one names the range that the library allows."""

from __future__ import annotations

from typing import Any, TypeVar

import typer

from clinometer.ranges import Range

Given = TypeVar("Given", float, list[float], None)


def number_option(
    allowed: Range,
    help: str,
    *names: str,
    panel: str | None = None,
    show_default: str | bool = True,
) -> Any:
    """An option that refuses a number outside its range in one line, before anything is done.

    typer's own `min` and `max` answer with a box of several lines, and have no open ends.
    """

    def check(param: typer.CallbackParam, value: Given) -> Given:
        several = value if isinstance(value, list | tuple) else [value]
        for one in several:
            if one is not None:
                allowed.check(param.opts[-1], one)
        return value

    check.allowed = allowed  # type: ignore[attr-defined]
    return typer.Option(
        *names, help=help, callback=check, rich_help_panel=panel, show_default=show_default
    )
