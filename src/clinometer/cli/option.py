"""How commands declare their own options."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import typer

from clinometer.ranges import Range

Given = TypeVar("Given", float, list[float], None)


def opt(
    help: str,
    *names: str,
    allowed: Range | None = None,
    panel: str | None = None,
    unset: str | bool = True,
) -> Any:
    """An option; a number outside the range `allowed` is rejected with a one-line error, before
    any work. `unset` describes what happens without the option, if its default does not.

    typer's own `min` and `max` print a box of several lines, and have no open intervals.
    """

    def check(param: typer.CallbackParam, value: Given) -> Given:
        several = value if isinstance(value, list | tuple) else [value]
        for one in several:
            if one is not None and allowed is not None:
                allowed.check(param.opts[-1], one)
        return value

    check.allowed = allowed  # type: ignore[attr-defined]
    callback = None if allowed is None else check
    return typer.Option(
        *names, help=help, callback=callback, rich_help_panel=panel, show_default=unset
    )


JSON = Annotated[bool, opt("Print one JSON object instead of a table.", "--json")]
