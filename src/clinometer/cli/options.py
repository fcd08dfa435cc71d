"""Options shared by several commands, and options derived from the library's settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, dataclass, fields, replace
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from rich.markup import escape

from clinometer.cli.help import opt
from clinometer.models import LoadOptions
from clinometer.models.catalog.suites import ZooEntry, members
from clinometer.runs import AuditSettings
from clinometer.settings import Option, dataclass_in, option, option_of

if TYPE_CHECKING:
    from clinometer.topics import Topic


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A command with parameters that are dataclasses of settings.

    On the command line they are replaced by the settings declared with `option`, including those of
    nested dataclasses; the command receives the dataclass. With
    `Annotated[AuditSettings, "seed", "device"]` (or a tuple of names) only the named settings
    become options.
    """
    hints = get_type_hints(command, include_extras=True)
    taken = signature(command).parameters
    parameters: list[Parameter] = []
    for name, own in taken.items():
        if (kind := dataclass_in(hints[name])) is None:
            parameters.append(own.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))
            continue
        found: dict[str, Parameter] = {}
        for parameter in _flat(kind, _chosen(hints[name])):
            # A setting that two dataclasses share, such as the seed, is one option.
            found.setdefault(parameter.name, parameter)
        parameters += found.values()

    @wraps(command)
    def with_settings(**values: Any) -> None:
        given = {}
        for name in taken:
            hint, kind = hints[name], dataclass_in(hints[name])
            given[name] = values[name] if kind is None else _gathered(kind, _chosen(hint), values)
        command(**given)

    # What typer reads.
    with_settings.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    with_settings.__annotations__ = {p.name: p.annotation for p in parameters}
    return with_settings


def _chosen(hint: Any) -> tuple[str, ...]:
    """The names in `Annotated[Kind, ...]`, single or in tuples; none means all."""
    given: tuple[str | tuple[str, ...], ...] = getattr(hint, "__metadata__", ())
    return tuple(name for one in given for name in ([one] if isinstance(one, str) else one))


def _flat(kind: Any, only: tuple[str, ...], *, optional: bool = False) -> Iterator[Parameter]:
    hints = get_type_hints(kind)
    for one in fields(kind):
        about, hint = option_of(one), hints[one.name]
        inner = dataclass_in(hint)
        if about is None and inner is not None:
            yield from _flat(inner, only, optional=inner is not hint)
        elif about is not None and (not only or one.name in only):
            default = one.default
            if about.typed is not None:
                hint, default = type(about.typed), about.typed
            elif default is MISSING and optional:
                hint, default = hint | None, None
            elif default is MISSING:
                default = Parameter.empty
            typed = Annotated[hint, _typer_option(one, about)]  # type: ignore[valid-type]
            yield Parameter(one.name, Parameter.KEYWORD_ONLY, default=default, annotation=typed)


def _gathered(kind: Any, only: tuple[str, ...], values: dict[str, Any]) -> Any:
    """The dataclass with the given values; None if one without a default is missing."""
    hints = get_type_hints(kind)
    given = {}
    for one in fields(kind):
        about = option_of(one)
        inner = dataclass_in(hints[one.name])
        if about is None and inner is not None:
            given[one.name] = _gathered(inner, only, values)
        elif about is not None and (not only or one.name in only):
            value = values[one.name]
            given[one.name] = value if about.parse is None else about.parse(value)
        if given.get(one.name) is None and one.default is one.default_factory is MISSING:
            return None
    return kind(**given)


def _typer_option(one: Field[Any], about: Option) -> Any:
    flags = about.flags
    if not flags and one.default is False:
        flags = ("--" + one.name.replace("_", "-"),)  # without its opposite, --no-...
    allowed = about.allowed if about.typed is None else None
    return opt(
        escape(about.help),
        *flags,
        allowed=allowed,
        panel=about.panel,
        unset=about.unset or True,
        advanced=about.advanced,
    )


def derived(kind: type, name: str) -> Any:
    """The typer option of a single setting, for a command that needs no other of its dataclass."""
    (found,) = (one for one in fields(kind) if one.name == name)
    about = option_of(found)
    if about is None:
        raise TypeError(f"{kind.__name__}.{name} is not an option")
    return _typer_option(found, replace(about, panel=None))


@dataclass(frozen=True, kw_only=True)
class PaperModels:
    """The models of a paper's table, beside those that are named."""

    suite: str | None = option(
        None,
        help="Add the models of a paper's table, such as bvf-gender (see list models).",
        panel="Model",
        advanced=True,
    )
    download: bool = option(
        False,
        help="Download models of --suite that are not on this machine.",
        panel="Model",
        advanced=True,
    )

    @property
    def entries(self) -> tuple[ZooEntry, ...]:
        return () if self.suite is None else members(self.suite, download=self.download)


GROUPS = Annotated[
    str | None,
    opt("Only these groups of the topic, separated by commas.", unset="all"),
]
DEVICE = Annotated[str, derived(LoadOptions, "device")]
SEED = Annotated[int, derived(AuditSettings, "seed")]
LEVEL = Annotated[float, derived(AuditSettings, "level")]
POPULATION = Annotated[str, derived(AuditSettings, "population")]
CLUSTERS = Annotated[str | None, derived(AuditSettings, "clusters")]


def typed_names(context: typer.Context) -> set[str]:
    """The parameters of a command that were typed: not those left at their default, but also one
    that was typed with the value of its default."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return {name for name, source in sources.items() if source and source.name == "COMMANDLINE"}


def topic_of(name: str, groups: str | None) -> Topic:
    """The topic, only some of its groups, or other people."""
    from clinometer.topics import choose_groups, load_topic

    topic = load_topic(name)
    return topic if groups is None else choose_groups(topic, groups)
