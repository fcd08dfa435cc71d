"""Options shared by several commands, and options derived from the library's settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer
from rich.markup import escape

from clinometer import settings as ranges
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.models.options import LOAD_KEYS
from clinometer.settings import (
    Option,
    dataclass_in,
    option,
    option_of,
    option_settings,
    values_from_texts,
    with_settings,
)
from clinometer.settings.option import as_field, own_settings
from clinometer.topics import Topic, choose_groups, load_topic

T = TypeVar("T")
Value = TypeVar("Value", float, list[float], None)

SHARD = option(
    None,
    help="Do part I of N, counted from 0 (0/8); the others do theirs at the same time.",
)
"""What several machines share; see docs/howto/more-than-one-machine.md."""

CONTEXT = "context"
"""The parameter of every command in which typer says what was typed."""


class Given(dict[str, Any]):
    """Settings by name: those that were typed, and no defaults."""


def argument(metavar: str, help: str, default: Any = ...) -> Any:
    """Declare an argument of a command, as its usage calls it; required without a default."""
    return typer.Argument(default, metavar=metavar, help=help)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command as typer reads it: with parameters for all that is declared with `option`.

    A dataclass of settings is replaced by the settings declared in it, including those of nested
    dataclasses; the command receives the dataclass. With `Annotated[AuditSettings, "seed",
    "device"]` (or a tuple of names) only the named settings become options. The settings declared
    as keys are one option, `load`, and `Annotated[Given, AuditSettings]` receives what was typed
    instead of the dataclass.
    """
    hints = get_type_hints(command, include_extras=True)
    declared = signature(command).parameters
    parameters: dict[str, Parameter] = {
        CONTEXT: Parameter(CONTEXT, Parameter.KEYWORD_ONLY, annotation=typer.Context)
    }
    groups: dict[str, OptionGroup] = {}
    for name, parameter in declared.items():
        hint = hints[name]
        if dataclass_in(hint) is not None:
            groups[name] = OptionGroup.of(hint)
            # A setting that two dataclasses share, such as the seed, is one option.
            for option_name, parameter_of_option in groups[name].parameters.items():
                parameters.setdefault(option_name, parameter_of_option)
        elif isinstance(parameter.default, Field):
            parameters[name] = _parameter(name, hint, _declared(parameter.default))
        else:
            parameters[name] = parameter.replace(
                annotation=hint, kind=Parameter.KEYWORD_ONLY
            )

    @wraps(command)
    def with_options(**values: Any) -> None:
        typed = typed_names(values[CONTEXT])
        arguments = {}
        for name in declared:
            if name in groups:
                arguments[name] = groups[name].value(values, typed)
            else:
                arguments[name] = values[name]
        command(**arguments)

    # What typer reads.
    with_options.__signature__ = Signature(list(parameters.values()))  # type: ignore[attr-defined]
    with_options.__annotations__ = {
        name: parameter.annotation for name, parameter in parameters.items()
    }
    return with_options


@dataclass(frozen=True)
class OptionGroup:
    """Settings of a dataclass as options of a command."""

    kind: Any
    """The dataclass."""

    parameters: Mapping[str, Parameter]
    """The options by name, `load` among them."""

    only_typed: bool
    """Whether the command takes what was typed, as `Given`, instead of the dataclass."""

    @classmethod
    def of(cls, hint: Any) -> OptionGroup:
        """Read `Kind`, `Annotated[Kind, "name", ("name", "name")]` or `Annotated[Given, Kind]`."""
        kind = dataclass_in(hint)
        names = _names_in(hint)
        parameters = _parameters(kind)
        if names:
            parameters = {n: p for n, p in parameters.items() if n in names}
        return cls(kind, parameters, only_typed=Given in get_args(hint))

    def value(self, values: Mapping[str, Any], typed: Collection[str]) -> Any:
        """Return the dataclass, or `Given`, of what typer has read."""
        given = {}
        for name in self.parameters:
            if name in typed and name != LOAD:
                value = values[name]
                given[name] = tuple(value) if isinstance(value, list) else value
        for name, setting in own_settings(self.kind).items():
            declared = setting.option
            if declared is None or declared.parse is None:
                continue
            if name in self.parameters:
                given[name] = declared.parse(values[name])
        if LOAD in self.parameters:
            texts = values[LOAD] or ()
            given |= values_from_texts(LoadOptions, texts, LOAD_KEYS, where="--load")
        return Given(given) if self.only_typed else with_settings(self.kind, given)


def _names_in(hint: Any) -> set[str]:
    """Return the names in `Annotated[Kind, ...]`, single or in tuples; none means all."""
    names: set[str] = set()
    for part in getattr(hint, "__metadata__", ()):
        if isinstance(part, str):
            names.add(part)
        elif not is_dataclass(part):
            names.update(part)
    return names


def _parameters(kind: Any, *, optional: bool = False) -> dict[str, Parameter]:
    """Return the settings of a dataclass and of its nested ones as parameters.

    A setting that is required in an `optional` dataclass is not required.
    """
    parameters: dict[str, Parameter] = {}
    for name, setting in own_settings(kind).items():
        declared = setting.option
        if setting.nested is not None:
            may_be_none = setting.nested is not setting.hint
            nested = _parameters(setting.nested, optional=may_be_none)
            for nested_name, parameter in nested.items():
                parameters.setdefault(nested_name, parameter)
            if setting.nested is LoadOptions:
                parameters[LOAD] = _parameter(LOAD, list[str] | None, LOADED)
        elif declared is not None and not declared.key:
            hint = setting.hint
            if optional and declared.default is MISSING:
                hint = hint | None
                declared = replace(declared, default=None)
            parameters.setdefault(name, _parameter(name, hint, declared))
    return parameters


def _parameter(name: str, hint: Any, declared: Option) -> Parameter:
    """Return a setting, or a parameter declared like one, as typer reads it."""
    default = declared.default
    if declared.typed is not None:
        hint = str
        default = declared.typed
    elif default == ():
        hint = list[str] | None
        default = None
    elif default is MISSING:
        default = Parameter.empty
    flags = declared.flags
    if not flags and declared.default is False:
        flags = ("--" + name.replace("_", "-"),)  # without its opposite, --no-...
    typer_option = typer.Option(
        *flags,
        help=escape(declared.help),
        callback=_callback(declared),
        rich_help_panel=declared.panel,
        show_default=declared.unset or True,
        hidden=declared.advanced,
    )
    annotation = Annotated[hint, typer_option]
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def _callback(declared: Option) -> Callable[..., Any] | None:
    """Return what typer calls with a value: it refuses a number outside its range.

    typer's own `min` and `max` print a box of several lines, and have no open intervals: here the
    error is one line, before any work. The range and the keys of KEY=VALUE are attributes of the
    function, where help and documentation find them.
    """
    allowed = declared.allowed if declared.typed is None else None
    if allowed is None and not declared.keys:
        return None

    def check(param: typer.CallbackParam, value: Value) -> Value:
        numbers = value if isinstance(value, list | tuple) else [value]
        for number in numbers:
            if number is not None and allowed is not None:
                allowed.check(param.opts[-1], number)
        return value

    check.allowed = allowed  # type: ignore[attr-defined]
    check.keys = declared.keys  # type: ignore[attr-defined]
    return check


def _declared(parameter: Field[Any]) -> Option:
    """Return the option of a parameter that was declared with `option`."""
    declared = option_of(parameter)
    assert declared is not None  # noqa: S101
    return declared


def set_option(kind: type, *names: str) -> Any:
    """Declare --set KEY=VALUE for settings that few people change; `set_settings` reads it."""
    return option(
        None,
        "--set",
        help="KEY=VALUE: a setting of the method; may be repeated.",
        keys=keys_of_settings(kind, names),
    )


def keys_of_settings(kind: type, names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Return settings as the keys of KEY=VALUE: each with its help and default."""
    options = option_settings(kind)
    keys = {}
    for name in names:
        declared = options[name]
        default = declared.unset
        if not default and declared.default not in (None, "", MISSING):
            default = str(declared.default)
        keys[name] = (declared.help, default)
    return keys


def set_settings(settings: T, texts: Sequence[str] | None, names: Sequence[str]) -> T:
    """Return the settings with what --set says of `names`.

    A field of its own goes before one of the same name in a nested dataclass (a topic has a source
    too).
    """
    values = values_from_texts(type(settings), texts or (), names, where="--set")
    fields_of_settings = {setting.name for setting in fields(settings)}  # type: ignore[arg-type]
    direct = {n: value for n, value in values.items() if n in fields_of_settings}
    nested = {n: value for n, value in values.items() if n not in fields_of_settings}
    changed: T = replace(settings, **direct)  # type: ignore[type-var]
    return with_settings(changed, nested)


LOAD = "load"
"""The parameter that takes the keys of `LoadOptions`; --help-all lists them under it."""

LOADED = Option(
    default=None,
    help="KEY=VALUE: how models are loaded and asked; may be repeated. For one model alone: "
    "MODEL?KEY=VALUE&KEY=VALUE.",
    keys=keys_of_settings(LoadOptions, LOAD_KEYS),
    panel="Model",
)


def derived(kind: type, name: str) -> Any:
    """Declare a single setting, for a command that needs no other of its dataclass."""
    return as_field(replace(option_settings(kind)[name], panel=None))


JSON = option(False, "--json", help="Print one JSON object instead of a table.")


def port_option(default: int) -> Any:
    return option(
        default, help="Port to listen on; 0 picks any free one.", allowed=ranges.PORT
    )


TOPIC = option("gender", help="A built-in topic or a .toml file.")
CONTEXTS = option(
    None,
    help="A source (wikipedia, book, conversation, textbook, web), a built-in context set or a "
    ".csv or .txt file.",
    unset="paper-TOPIC",
)
GROUPS = option(
    None, help="Only these groups of the topic, separated by commas.", unset="all"
)
ALLOW = derived(LoadOptions, "allow")


def typed_names(context: typer.Context) -> set[str]:
    """Return the parameters of a command that were typed: not those left at their default.

    One that was typed with the value of its default is among them.
    """
    names = set()
    for name in context.params:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            names.add(name)
    return names


def topic_of(name: str, groups: str | None) -> Topic:
    """Return the topic, only some of its groups, or other people."""
    topic = load_topic(name)
    return topic if groups is None else choose_groups(topic, groups)


def pair(text: str, where: str, form: str) -> tuple[str, str]:
    """Return the two sides of NAME=VALUE; `form` is what an error says was expected.

    >>> pair("web = web.csv", "--source", "NAME=CONTEXTS")
    ('web', 'web.csv')
    """
    name, _, value = text.partition("=")
    name = name.strip()
    value = value.strip()
    if not name or not value:
        raise SettingsError(f"{where}: expected {form}, found {text!r}")
    return name, value
