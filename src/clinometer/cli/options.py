"""Options shared by several commands, and options derived from the library's settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import MISSING, Field, field, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import typer
from rich.markup import escape
from typer._click.globals import get_current_context

from clinometer import settings as ranges
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.models.options import LOAD_KEYS
from clinometer.settings import (
    dataclass_in,
    option,
    option_of,
    option_settings,
    values_from_texts,
    with_settings,
)
from clinometer.topics import Topic, choose_groups, load_topic

T = TypeVar("T")
Value = TypeVar("Value", float, list[float], None)

#: What several machines share; see docs/howto/more-than-one-machine.md.
SHARD = option(
    None,
    help="Do part I of N, counted from 0 (0/8); the others do theirs at the same time.",
)


class Given(dict[str, Any]):
    """Settings by name: those that were typed, and no defaults."""


def argument(metavar: str, help: str, default: Any = ...) -> Any:
    """An argument of a command, as its usage calls it; required without a default."""
    return typer.Argument(default, metavar=metavar, help=help)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command as typer reads it: options are parameters declared with `option`, as settings are,
    and those of dataclasses of settings.

    A dataclass is replaced by the settings declared in it, including those of nested dataclasses;
    the command receives the dataclass. With `Annotated[AuditSettings, "seed", "device"]` (or a
    tuple of names) only the named settings become options. The settings declared as keys are one
    option, `load`, and `Annotated[Given, AuditSettings]` receives what was typed instead of the
    dataclass.
    """
    hints = get_type_hints(command, include_extras=True)
    taken = signature(command).parameters
    kinds = {name: dataclass_in(hints[name]) for name in taken}
    by_name: dict[str, Parameter] = {}
    for name, own in taken.items():
        if kinds[name] is not None:
            for parameter in _flat(kinds[name], _chosen(hints[name])):
                # A setting that two dataclasses share, such as the seed, is one option.
                by_name.setdefault(parameter.name, parameter)
        elif isinstance(own.default, Field):
            by_name[name] = _parameter(name, hints[name], own.default)
        else:
            by_name[name] = own.replace(
                annotation=hints[name], kind=Parameter.KEYWORD_ONLY
            )

    @wraps(command)
    def with_options(**values: Any) -> None:
        arguments = {name: values.get(name) for name in taken}
        for name, kind in kinds.items():
            if kind is not None:
                given = _typed_settings(kind, _chosen(hints[name]), values)
                whole = Given not in get_args(hints[name])
                arguments[name] = with_settings(kind, given) if whole else Given(given)
        command(**arguments)

    # What typer reads.
    with_options.__signature__ = Signature(list(by_name.values()))  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in by_name.values()}
    return with_options


def _chosen(hint: Any) -> tuple[str, ...]:
    """The names in `Annotated[Kind, ...]`, single or in tuples; none means all."""
    given: tuple[Any, ...] = getattr(hint, "__metadata__", ())
    names = [
        [name] if isinstance(name, str) else name
        for name in given
        if not is_dataclass(name)
    ]
    return tuple(name for several in names for name in several)


def _flat(
    kind: Any, only: tuple[str, ...], *, optional: bool = False
) -> Iterator[Parameter]:
    hints = get_type_hints(kind)
    for setting in fields(kind):
        about, hint = option_of(setting), hints[setting.name]
        inner = dataclass_in(hint)
        if about is None and inner is not None:
            yield from _flat(inner, only, optional=inner is not hint)
            if inner is LoadOptions and (not only or LOAD in only):
                yield _parameter(LOAD, list[str] | None, LOADED)
        elif about is not None and not about.key and (not only or setting.name in only):
            yield _parameter(setting.name, hint, setting, optional=optional)


def _parameter(
    name: str, hint: Any, setting: Field[Any], *, optional: bool = False
) -> Parameter:
    """A setting, or a parameter declared like one, as typer reads it.

    typer's own `min` and `max` print a box of several lines, and have no open intervals: a number
    outside its range is rejected here, with a one-line error, before any work."""
    about, default = option_of(setting), setting.default
    assert about is not None  # noqa: S101
    allowed = about.allowed if about.typed is None else None

    def check(param: typer.CallbackParam, value: Value) -> Value:
        for one in value if isinstance(value, list | tuple) else [value]:
            if one is not None and allowed is not None:
                allowed.check(param.opts[-1], one)
        return value

    check.allowed, check.keys = allowed, about.keys  # type: ignore[attr-defined]
    flags = about.flags
    if not flags and default is False:
        flags = ("--" + name.replace("_", "-"),)  # without its opposite, --no-...
    if about.typed is not None:
        hint, default = str, about.typed
    elif default == ():
        hint, default = list[str] | None, None
    elif default is MISSING and optional:
        hint, default = hint | None, None
    elif default is MISSING:
        default = Parameter.empty
    shown = typer.Option(
        *flags,
        help=escape(about.help),
        callback=check if allowed is not None or about.keys else None,
        rich_help_panel=about.panel,
        show_default=about.unset or True,
        hidden=about.advanced,
    )
    typed = Annotated[hint, shown]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=typed)


def _typed_settings(
    kind: Any, only: tuple[str, ...], values: dict[str, Any]
) -> dict[str, Any]:
    """The settings of a dataclass that were typed, also those given as keys."""
    offered = {p.name for p in _flat(kind, only)}
    given = {
        name: tuple(values[name]) if isinstance(values[name], list) else values[name]
        for name in typed_names(get_current_context())
        if name in offered and name != LOAD
    }
    for setting in fields(kind):
        about = option_of(setting)
        if about is not None and about.parse is not None and setting.name in offered:
            given[setting.name] = about.parse(values[setting.name])
    texts = values[LOAD] or () if LOAD in offered else ()
    return given | values_from_texts(
        LoadOptions, texts, list(LOAD_KEYS), where="--load"
    )


def set_option(kind: type, *names: str) -> Any:
    """--set KEY=VALUE for settings that few people change; `set_settings` reads it."""
    keys = keys_of_settings(kind, names)
    return option(
        None,
        "--set",
        help="KEY=VALUE: a setting of the method; may be repeated.",
        keys=keys,
    )


def keys_of_settings(kind: type, names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Settings as the keys of KEY=VALUE: each with its help and default."""
    known = option_settings(kind)
    return {
        name: (
            about.help,
            about.unset or ("" if default in (None, "", MISSING) else str(default)),
        )
        for name in names
        for about, default in [known[name]]
    }


def set_settings(settings: T, texts: Sequence[str] | None, names: Sequence[str]) -> T:
    """The settings with what --set says of `names`; a field of its own goes before one of the same
    name in a nested dataclass (a topic has a source too)."""
    values = values_from_texts(type(settings), texts or (), names, where="--set")
    own = {setting.name for setting in fields(settings)} & values.keys()  # type: ignore[arg-type]
    nested = {name: value for name, value in values.items() if name not in own}
    changed: T = replace(settings, **{name: values[name] for name in own})  # type: ignore[type-var]
    return with_settings(changed, nested)


#: The parameter that takes the keys of `LoadOptions`; --help-all lists them under it.
LOAD = "load"
LOADED = option(
    None,
    help="KEY=VALUE: how models are loaded and asked; may be repeated. For one model alone: "
    "MODEL?KEY=VALUE&KEY=VALUE.",
    keys=keys_of_settings(LoadOptions, LOAD_KEYS),
    panel="Model",
)


def derived(kind: type, name: str) -> Any:
    """A single setting, for a command that needs no other of its dataclass."""
    about, default = option_settings(kind)[name]
    return field(default=default, metadata={"option": replace(about, panel=None)})


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


def typed_names(context: Any) -> set[str]:
    """The parameters of a command that were typed: not those left at their default, but also one
    that was typed with the value of its default."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {
        name
        for name, source in sources.items()
        if source and source.name == "COMMANDLINE"
    }


def topic_of(name: str, groups: str | None) -> Topic:
    """The topic, only some of its groups, or other people."""
    topic = load_topic(name)
    return topic if groups is None else choose_groups(topic, groups)


def pair(text: str, where: str, form: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE; `form` is what an error says was expected.

    >>> pair("web = web.csv", "--source", "NAME=CONTEXTS")
    ('web', 'web.csv')
    """
    name, _, value = (part.strip() for part in text.partition("="))
    if not name or not value:
        raise SettingsError(f"{where}: expected {form}, found {text!r}")
    return name, value
