"""Options shared by several commands, and options derived from the library's settings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_type_hints

from rich.markup import escape
from typer._click.globals import get_current_context

from clinometer.cli.help import opt
from clinometer.errors import SettingsError
from clinometer.models import LoadOptions
from clinometer.models.options import LOAD_KEYS
from clinometer.runs import AuditSettings
from clinometer.settings import (
    Option,
    dataclass_in,
    option_of,
    option_settings,
    values_from_texts,
    with_settings,
)

if TYPE_CHECKING:
    from clinometer.topics import Topic


T = TypeVar("T")

#: What several machines share; see docs/howto/more-than-one-machine.md.
SHARD = Annotated[
    str | None,
    opt("Do part I of N, counted from 0 (0/8); the others do theirs at the same time.", "--shard"),
]


class Given(dict[str, Any]):
    """Settings by name: those that were typed, and no defaults."""


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command with parameters that are dataclasses of settings.

    On the command line they are replaced by the settings declared with `option`, including those of
    nested dataclasses; the command receives the dataclass. With
    `Annotated[AuditSettings, "seed", "device"]` (or a tuple of names) only the named settings
    become options. The settings declared as keys are one option, `load`, and
    `Annotated[Given, AuditSettings]` receives what was typed instead of the dataclass.
    """
    hints = get_type_hints(command, include_extras=True)
    taken = signature(command).parameters
    parameters: list[Parameter] = []
    for name, own in taken.items():
        if (kind := dataclass_in(hints[name])) is None:
            parameters.append(own.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))
            continue
        by_name: dict[str, Parameter] = {}
        for parameter in _flat(kind, _chosen(hints[name])):
            # A setting that two dataclasses share, such as the seed, is one option.
            by_name.setdefault(parameter.name, parameter)
        parameters += by_name.values()

    @wraps(command)
    def with_options(**values: Any) -> None:
        arguments = {}
        for name in taken:
            kind = dataclass_in(hints[name])
            if kind is None:
                arguments[name] = values[name]
                continue
            given = _typed_settings(kind, _chosen(hints[name]), values)
            whole = Given not in get_args(hints[name])
            arguments[name] = with_settings(kind, given) if whole else Given(given)
        command(**arguments)

    # What typer reads.
    with_options.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {p.name: p.annotation for p in parameters}
    return with_options


def _chosen(hint: Any) -> tuple[str, ...]:
    """The names in `Annotated[Kind, ...]`, single or in tuples; none means all."""
    given: tuple[Any, ...] = getattr(hint, "__metadata__", ())
    names = [[name] if isinstance(name, str) else name for name in given if not is_dataclass(name)]
    return tuple(name for several in names for name in several)


def _flat(kind: Any, only: tuple[str, ...], *, optional: bool = False) -> Iterator[Parameter]:
    hints = get_type_hints(kind)
    for setting in fields(kind):
        about, hint = option_of(setting), hints[setting.name]
        inner = dataclass_in(hint)
        if about is None and inner is not None:
            yield from _flat(inner, only, optional=inner is not hint)
            if inner is LoadOptions and (not only or LOAD in only):
                loaded = Annotated[list[str] | None, load_option()]
                yield Parameter(LOAD, Parameter.KEYWORD_ONLY, default=None, annotation=loaded)
        elif about is not None and not about.key and (not only or setting.name in only):
            default = setting.default
            if about.typed is not None:
                hint, default = str, about.typed
            elif default == ():
                hint, default = list[str] | None, None
            elif default is MISSING and optional:
                hint, default = hint | None, None
            elif default is MISSING:
                default = Parameter.empty
            typed = Annotated[hint, _typer_option(setting, about)]  # type: ignore[valid-type]
            yield Parameter(setting.name, Parameter.KEYWORD_ONLY, default=default, annotation=typed)


def _typed_settings(kind: Any, only: tuple[str, ...], values: dict[str, Any]) -> dict[str, Any]:
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
    return given | (load_values(values[LOAD]) if LOAD in offered else {})


def _typer_option(setting: Field[Any], about: Option) -> Any:
    flags = about.flags
    if not flags and setting.default is False:
        flags = ("--" + setting.name.replace("_", "-"),)  # without its opposite, --no-...
    return opt(
        escape(about.help),
        *flags,
        allowed=about.allowed if about.typed is None else None,
        panel=about.panel,
        unset=about.unset or True,
        advanced=about.advanced,
    )


#: The parameter that takes the keys of `LoadOptions`.
LOAD = "load"


def load_values(texts: Sequence[str] | None) -> dict[str, Any]:
    """What --load says, by the names of settings."""
    return values_from_texts(LoadOptions, texts or (), list(LOAD_KEYS), where="--load")


def load_option() -> Any:
    """--load KEY=VALUE; --help-all lists the keys under it."""
    return opt(
        "KEY=VALUE: how models are loaded and asked; may be repeated. For one model alone: "
        "MODEL?KEY=VALUE&KEY=VALUE.",
        keys=keys_of_settings(LoadOptions, LOAD_KEYS),
        panel="Model",
    )


def set_option(kind: type, *names: str) -> Any:
    """The typer option --set KEY=VALUE for settings that few people change; `set_settings` reads
    it."""
    keys = keys_of_settings(kind, names)
    return opt("KEY=VALUE: a setting of the method; may be repeated.", "--set", keys=keys)


def keys_of_settings(kind: type, names: Collection[str]) -> dict[str, tuple[str, str]]:
    """Settings as the keys of KEY=VALUE: each with its help and default."""
    known = option_settings(kind)
    return {
        name: (about.help, about.unset or ("" if default in (None, "", MISSING) else str(default)))
        for name in names
        for about, default in [known[name]]
    }


def set_settings(settings: T, texts: Sequence[str] | None, names: Sequence[str]) -> T:
    """The settings with what --set says of `names`; a field of its own goes before one of the same
    name in a nested dataclass (a topic has a source too)."""
    values = values_from_texts(type(settings), texts or (), names, where="--set")
    own = {field.name for field in fields(settings)} & values.keys()  # type: ignore[arg-type]
    nested = {name: value for name, value in values.items() if name not in own}
    changed: T = replace(settings, **{name: values[name] for name in own})  # type: ignore[type-var]
    return with_settings(changed, nested)


def derived(kind: type, name: str) -> Any:
    """The typer option of a single setting, for a command that needs no other of its dataclass."""
    (setting,) = (setting for setting in fields(kind) if setting.name == name)
    about = option_of(setting)
    if about is None:
        raise TypeError(f"{kind.__name__}.{name} is not an option")
    return _typer_option(setting, replace(about, panel=None))


TOPIC = Annotated[str, opt("A built-in topic or a .toml file.")]
CONTEXTS = Annotated[
    str | None,
    opt(
        "A source (wikipedia, book, conversation, textbook, web), a built-in context set or a "
        ".csv or .txt file.",
        unset="paper-TOPIC",
    ),
]
GROUPS = Annotated[
    str | None,
    opt("Only these groups of the topic, separated by commas.", unset="all"),
]
ALLOW = Annotated[list[str] | None, derived(LoadOptions, "allow")]
SEED = Annotated[int, derived(AuditSettings, "seed")]
LEVEL = Annotated[float, derived(AuditSettings, "level")]
POPULATION = Annotated[str, derived(AuditSettings, "population")]
CLUSTERS = Annotated[str | None, derived(AuditSettings, "clusters")]


def typed_names(context: Any) -> set[str]:
    """The parameters of a command that were typed: not those left at their default, but also one
    that was typed with the value of its default."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}


def topic_of(name: str, groups: str | None) -> Topic:
    """The topic, only some of its groups, or other people."""
    from clinometer.topics import choose_groups, load_topic

    topic = load_topic(name)
    return topic if groups is None else choose_groups(topic, groups)


def pair(text: str, option: str, form: str) -> tuple[str, str]:
    """The two sides of NAME=VALUE; `form` is what an error says was expected.

    >>> pair("web = web.csv", "--source", "NAME=CONTEXTS")
    ('web', 'web.csv')
    """
    name, _, value = (part.strip() for part in text.partition("="))
    if not name or not value:
        raise SettingsError(f"{option}: expected {form}, found {text!r}")
    return name, value
