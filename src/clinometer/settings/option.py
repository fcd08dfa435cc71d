"""How a setting is declared: a field of a dataclass with its range, help and names to type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import cache
from typing import Any, get_args, get_type_hints

from clinometer.errors import SettingsError
from clinometer.settings.ranges import Range


@dataclass(frozen=True, kw_only=True)
class Option:
    """The metadata of a setting: all that its field does not say by its name and type."""

    help: str
    """One sentence for --help."""

    default: Any = MISSING
    """The default of the field; MISSING for a setting that is required."""

    flags: tuple[str, ...] = ()
    """Names on the command line, if not --name-of-the-field."""

    panel: str | None = None
    """Heading of --help under which it is listed."""

    allowed: Range | None = None
    """Range of a number."""

    choices: tuple[str, ...] = ()
    """All allowed texts."""

    typed: str | None = None
    """The default as typed on the command line, if different; `parse` reads it."""

    parse: Callable[[Any], Any] | None = None
    """Converts what is typed to the value."""

    unset: str = ""
    """Describes a default of None."""

    advanced: bool = False
    """Whether only --help-all lists it."""

    key: bool = False
    """Whether it is given as --load KEY=VALUE, or in the name of a model."""

    keys: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """The keys of KEY=VALUE, each with its help and default, which --help-all lists too."""

    @property
    def expected(self) -> str:
        """Return the range or the choices in words; nothing where any value of the type will do."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.allowed is not None:
            return self.allowed.expected
        return ""

    def check(self, name: str, value: object) -> None:
        """Raise if the setting `name` must not have this value."""
        if value is None:
            return
        if self.allowed is not None:
            self.allowed.check(name, value)
        if self.choices and value not in self.choices:
            raise SettingsError(f"{name}: expected {self.expected}; found {value!r}")


def option(default: Any = ..., *flags: str, **about: Any) -> Any:
    """Declare a field of a dataclass that is also an option, or a parameter of a command.

    It is required without a default. `about` are the other parts of an `Option`.
    """
    value = MISSING if default is ... else default
    return as_field(Option(default=value, flags=flags, **about))


def as_field(declared: Option) -> Any:
    """Return a field of a dataclass that has this option."""
    return field(default=declared.default, metadata={"option": declared})


def option_of(setting: Field[Any]) -> Option | None:
    """Return the `Option` of a field; None for a field that is not an option."""
    declared: Option | None = setting.metadata.get("option")
    return declared


def check_settings(settings: Any) -> None:
    """Raise if a value of the dataclass is outside its range or choices.

    >>> from clinometer.settings import COUNT
    >>> @dataclass
    ... class Tea:
    ...     cups: int = option(1, help="Cups to make.", allowed=COUNT)
    ...     kind: str = option("green", help="Kind of tea.", choices=("green", "black"))
    >>> check_settings(Tea(cups=2))
    >>> check_settings(Tea(kind="blue"))
    Traceback (most recent call last):
    clinometer.errors.SettingsError: kind: expected one of green, black; found 'blue'
    """
    for setting in fields(settings):
        declared = option_of(setting)
        if declared is not None:
            declared.check(setting.name, getattr(settings, setting.name))


def dataclass_in(hint: Any) -> Any:
    """Return the dataclass in `Kind`, `Kind | None` or `Annotated[Kind, ...]`, if there is one."""
    for kind in (hint, *get_args(hint)):
        if is_dataclass(kind):
            return kind
    return None


@dataclass(frozen=True)
class Setting:
    """A field of a dataclass of settings, with its type."""

    field: Field[Any]
    hint: Any

    @property
    def option(self) -> Option | None:
        """Return how the field was declared; None for a field that is not an option."""
        return option_of(self.field)

    @property
    def nested(self) -> Any:
        """Return the dataclass whose fields are settings of the one around it, or None.

        An option whose value is a dataclass, such as a topic, is one setting.
        """
        return dataclass_in(self.hint) if self.option is None else None

    @property
    def is_required(self) -> bool:
        has_default = self.field.default is not MISSING
        return not has_default and self.field.default_factory is MISSING


@cache
def own_settings(kind: Any) -> dict[str, Setting]:
    """Return the fields of a dataclass of settings by name, nested dataclasses among them."""
    hints = get_type_hints(kind)
    return {
        setting.name: Setting(setting, hints[setting.name]) for setting in fields(kind)
    }


@cache
def all_settings(kind: Any) -> dict[str, Setting]:
    """Return every setting by name: those of the dataclass, and those of nested ones.

    Of settings with one name that of the outer dataclass, or of its first nested one, is returned.
    """
    settings = own_settings(kind)
    for setting in own_settings(kind).values():
        if setting.nested is not None:
            settings = {**all_settings(setting.nested), **settings}
    return settings


def option_settings(kind: Any) -> dict[str, Option]:
    """Return the settings that are options, by name; those of nested dataclasses too."""
    options = {}
    for name, setting in all_settings(kind).items():
        if setting.option is not None:
            options[name] = setting.option
    return options
