"""Values of settings: dataclasses with some of their settings changed, by name or from texts."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from clinometer.errors import SettingsError, closest
from clinometer.settings.option import all_settings, own_settings

T = TypeVar("T")


def with_settings(settings: T | type[T], given: Mapping[str, Any]) -> T:
    """Return a dataclass of settings, or its class with the defaults, with some settings replaced.

    Settings of nested dataclasses are given by name alike. A name that several of the dataclasses
    share, such as the seed, sets all of them. A nested dataclass that is None is created if one of
    its settings is given.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Cup:
    ...     size: int = 1
    ...     warm: bool = False
    >>> with_settings(Cup(), {"size": 2})
    Cup(size=2, warm=False)
    >>> with_settings(Cup(), {"sise": 2})
    Traceback (most recent call last):
    clinometer.errors.SettingsError: sise: no such setting; did you mean size?
    """
    kind: Any
    current: Any
    if isinstance(settings, type):
        kind = settings
        current = None
    else:
        kind = type(settings)
        current = settings
    names = list(all_settings(kind))
    for name in given:
        if name not in names:
            raise SettingsError(f"{name}: no such setting{closest(name, names)}")
    changed: T = _changed(kind, current, given, enclosing=set())
    return changed


def _changed(
    kind: Any, current: Any, given: Mapping[str, Any], *, enclosing: set[str]
) -> Any:
    """Return `current`, or a new dataclass of this kind where it is None, with what is given.

    `enclosing` are settings of the dataclasses around this one: given alone, they create no nested
    dataclass that is None.
    """
    settings = own_settings(kind)
    changes = {name: given[name] for name in settings if name in given}
    outer = enclosing | settings.keys()
    for name, setting in settings.items():
        if setting.nested is None:
            continue
        nested_names = all_settings(setting.nested)
        nested_given = {n: value for n, value in given.items() if n in nested_names}
        nested_current = changes.get(name, getattr(current, name, None))
        exists = nested_current is not None
        if nested_given.keys() - outer or (exists and nested_given):
            changes[name] = _changed(
                setting.nested, nested_current, nested_given, enclosing=outer
            )
    if current is not None:
        return replace(current, **changes)
    lacking = [
        name
        for name, setting in settings.items()
        if setting.is_required and name not in changes
    ]
    if lacking:
        raise SettingsError(
            f"{', '.join(changes)}: expected together with {', '.join(lacking)}"
        )
    return kind(**changes)


def named_values(settings: Any, names: Collection[str]) -> dict[str, Any]:
    """Return the values of these settings by name, those of nested dataclasses too.

    >>> from clinometer.settings import Range
    >>> named_values(Range(least=2), ["least", "whole"])
    {'least': 2, 'whole': False}
    """
    values: dict[str, Any] = {}
    for setting in fields(settings):
        value = getattr(settings, setting.name)
        if is_dataclass(value):
            values |= named_values(value, names)
        elif setting.name in names:
            values[setting.name] = value
    return values


def values_from_texts(
    kind: Any, texts: Iterable[str], names: Collection[str], *, where: str
) -> dict[str, Any]:
    """Return settings given as KEY=VALUE, some of `names`; `where` is what they were given to.

    >>> from dataclasses import dataclass
    >>> from clinometer.settings import COUNT, option
    >>> @dataclass
    ... class Cup:
    ...     size: int = option(1, help="In litres.", allowed=COUNT)
    ...     warm: bool = False
    >>> values_from_texts(Cup, ["size=2", "warm=true"], ["size", "warm"], where="--set")
    {'size': 2, 'warm': True}
    >>> values_from_texts(Cup, ["sise=2"], ["size"], where="--set")
    Traceback (most recent call last):
    clinometer.errors.SettingsError: --set: expected one of size; found sise; did you mean size?
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise SettingsError(f"{where}: expected KEY=VALUE, found {text!r}")
        if name not in names:
            raise SettingsError(
                f"{where}: expected one of {', '.join(names)}; found {name}{closest(name, names)}"
            )
        if name in values:
            raise SettingsError(f"{where}: expected {name} once, found it twice")
        values[name] = _value_from_text(kind, name, value, where=where)
    return values


def _value_from_text(kind: Any, name: str, text: str, *, where: str) -> Any:
    """Return the value of one setting, checked."""
    from pydantic import TypeAdapter, ValidationError

    setting = all_settings(kind)[name]
    declared = setting.option
    convert: Callable[[str], Any] = TypeAdapter(setting.hint).validate_strings
    if declared is not None and declared.parse is not None:
        convert = declared.parse
    try:
        value = convert(text)
        if declared is not None:
            declared.check(name, value)
    except (ValidationError, SettingsError) as error:
        problem = str(error)
        if declared is not None and declared.expected:
            problem = f"expected {declared.expected}, found {text!r}"
        raise SettingsError(f"{where}: {name}: {problem}") from error
    return value
