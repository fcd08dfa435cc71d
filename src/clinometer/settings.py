"""Settings declared once: type, default, range and help text of each stand in its dataclass.

The library checks them, and the command line derives its options from them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any

from clinometer.errors import SettingsError
from clinometer.ranges import Range


@dataclass(frozen=True, kw_only=True)
class Option:
    """What is known of a setting beside its type and default.

    help       one sentence for --help
    flags      names on the command line, where they are not --name-of-the-field
    panel      heading of --help under which it is listed
    allowed    range of a number
    choices    all texts that are allowed
    typed      the default as it is typed, where that differs from its value; `parse` reads it
    parse      from what is typed to the value
    unset      what happens without it, for a default that says nothing (None)
    """

    help: str
    flags: tuple[str, ...] = ()
    panel: str | None = None
    allowed: Range | None = None
    choices: tuple[str, ...] = ()
    typed: str | bool | None = None
    parse: Callable[[Any], Any] | None = None
    unset: str = ""

    def check(self, name: str, value: object) -> None:
        """Refuse a value that the setting `name` may not have."""
        if value is None:
            return
        if self.allowed is not None:
            self.allowed.check(name, value)
        if self.choices and value not in self.choices:
            known = ", ".join(self.choices)
            raise SettingsError(f"{name}: expected one of {known}; found {value!r}")


def option(
    default: Any = MISSING,
    *flags: str,
    help: str,
    panel: str | None = None,
    allowed: Range | None = None,
    choices: tuple[str, ...] = (),
    typed: str | bool | None = None,
    parse: Callable[[Any], Any] | None = None,
    unset: str = "",
) -> Any:
    """A field of a dataclass that is also an option on the command line (see `Option`)."""
    about = Option(
        help=help,
        flags=flags,
        panel=panel,
        allowed=allowed,
        choices=choices,
        typed=typed,
        parse=parse,
        unset=unset,
    )
    return field(default=default, metadata={"option": about})


def option_of(one: Field[Any]) -> Option | None:
    """What `option` said of a field; None for a field that is no option."""
    return one.metadata.get("option")


def check_settings(settings: Any) -> None:
    """Refuse a dataclass with a value outside its range or choices.

    >>> from clinometer.ranges import COUNT
    >>> @dataclass
    ... class Tea:
    ...     cups: int = option(1, help="Cups to make.", allowed=COUNT)
    ...     kind: str = option("green", help="Kind of tea.", choices=("green", "black"))
    >>> check_settings(Tea(cups=2))
    >>> check_settings(Tea(kind="blue"))
    Traceback (most recent call last):
    clinometer.errors.SettingsError: kind: expected one of green, black; found 'blue'
    """
    for one in fields(settings):
        about = option_of(one)
        if about is not None:
            about.check(one.name, getattr(settings, one.name))
