"""Settings declared once: a dataclass has the type, default, range and help text of each.

The library checks them, and the command line derives its options from them. `Shard` is the share of
work of one of several machines or processes: I of N, as --shard 0/8.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from math import inf
from numbers import Real
from typing import Any, TypeVar, cast, get_args, get_type_hints

from clinometer.errors import SettingsError, closest


@dataclass(frozen=True, kw_only=True)
class Range:
    """Finite numbers between two bounds, integers only if `whole`.

    `least` and `most` are inclusive, `above` and `below` exclusive, and `also` lists single numbers
    outside the bounds that are accepted too. NaN and infinity are never in a range.

    >>> SEED.check("seed", 7)
    >>> -1 in SEED, 0 in REPLICATES, 5 in REPLICATES, 1.0 in LEVEL
    (False, True, False, False)
    >>> LEVEL.check("level", 95)
    Traceback (most recent call last):
    clinometer.errors.SettingsError: level: expected a number above 0 and below 1, such as 0.95, \
found 95
    """

    least: float = -inf
    most: float = inf
    above: float = -inf
    below: float = inf
    whole: bool = False
    also: tuple[float, ...] = ()
    such_as: str = ""

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, Real):
            return False
        number: Any = (
            value  # comparing as float would overflow for a large whole number
        )
        if number in self.also:
            return True
        inside = self.least <= number <= self.most and self.above < number < self.below
        return bool(inside and (not self.whole or number == int(number)))

    @property
    def expected(self) -> str:
        """The range in words."""
        kind = "a whole number" if self.whole else "a number"
        ends = [
            f"{words} {end:.16g}"
            for words, end in (
                ("of at least", self.least),
                ("above", self.above),
                ("at most", self.most),
                ("below", self.below),
            )
            if abs(end) != inf
        ]
        single = "".join(f"{number:g}, or " for number in self.also)
        example = f", such as {self.such_as}" if self.such_as else ""
        return single + " ".join([kind, " and ".join(ends)]) + example

    def check(self, name: str, value: object) -> None:
        """Refuse a value outside the range; `name` is the setting's name for the user."""
        if value not in self:
            raise SettingsError(f"{name}: expected {self.expected}, found {value!r}")


#: The largest seed that every random generator accepts (numpy's legacy one is the strictest).
SEED = Range(least=0, most=2**32 - 1, whole=True)
LEVEL = Range(above=0, below=1, such_as="0.95")
#: Below 100 replicates the ends of a 95 % interval rest on the two or three outermost of them.
#: More than 100,000 say nothing more, and a run.json from elsewhere must not keep a reader busy.
REPLICATES = Range(least=100, most=100_000, whole=True, also=(0,))
PORT = Range(least=0, most=65535, whole=True)

COUNT = Range(least=1, whole=True)
#: A text of one token has nothing to train on.
TOKENS = Range(least=2, whole=True)
COUNT_OR_0 = Range(least=0, whole=True)
#: The least in which the second half can be set against the first.
VERSIONS = Range(least=3, whole=True)
#: One sample cannot distinguish preference from chance.
SAMPLES = Range(least=2, whole=True)
POSITIVE = Range(above=0)
#: Temperatures of generated text: at 0 all samples are the same.
TEMPERATURE = Range(above=0)
SHARE = Range(least=0, most=1)
SHARE_BELOW_1 = Range(least=0, below=1)
SHARE_ABOVE_0 = Range(above=0, most=1)
#: How far a preference may be moved; half the range of a preference would leave nothing of it.
TOLERANCE = Range(least=0, below=0.5)


T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Option:
    """Metadata of a setting besides its type and default.

    help       one sentence for --help
    flags      names on the command line, if not --name-of-the-field
    panel      heading of --help under which it is listed
    allowed    range of a number
    choices    all allowed texts
    typed      the default as typed on the command line, if different; `parse` reads it
    parse      converts what is typed to the value
    unset      describes a default of None
    advanced   listed by --help-all only
    key        given as --load KEY=VALUE, or in the name of a model
    keys       those of KEY=VALUE, each with its help and default, which --help-all lists too
    """

    help: str
    flags: tuple[str, ...] = ()
    panel: str | None = None
    allowed: Range | None = None
    choices: tuple[str, ...] = ()
    typed: str | None = None
    parse: Callable[[Any], Any] | None = None
    unset: str = ""
    advanced: bool = False
    key: bool = False
    keys: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def expected(self) -> str:
        """Its range or choices in words; nothing where any value of its type will do."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        return "" if self.allowed is None else self.allowed.expected

    def check(self, name: str, value: object) -> None:
        """Raise if the setting `name` must not have this value."""
        if value is None:
            return
        if self.allowed is not None:
            self.allowed.check(name, value)
        if self.choices and value not in self.choices:
            raise SettingsError(f"{name}: expected {self.expected}; found {value!r}")


def option(default: Any = ..., *flags: str, **about: Any) -> Any:
    """A field of a dataclass that is also an option on the command line, or a parameter of a
    command; required without a default. `about` as in `Option`."""
    given = MISSING if default is ... else default
    return field(default=given, metadata={"option": Option(flags=flags, **about)})


def option_of(setting: Field[Any]) -> Option | None:
    """The `Option` of a field; None for a field that is not an option."""
    return setting.metadata.get("option")


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
        about = option_of(setting)
        if about is not None:
            about.check(setting.name, getattr(settings, setting.name))


def dataclass_in(hint: Any) -> Any:
    """The dataclass of `Kind`, `Kind | None` and `Annotated[Kind, ...]`; None if there is none."""
    return next((kind for kind in (hint, *get_args(hint)) if is_dataclass(kind)), None)


def with_settings(settings: T | type[T], given: Mapping[str, Any]) -> T:
    """A dataclass of settings, or its class with the defaults, with some of them replaced, those of
    nested dataclasses too.

    A name that several of the dataclasses share, such as the seed, sets all of them. A nested
    dataclass that is None is created if one of its settings is given.

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
    kind, before = (
        (settings, None) if isinstance(settings, type) else (type(settings), settings)
    )
    names = list(_settings(cast("Any", kind)))
    for name in given:
        if name not in names:
            raise SettingsError(f"{name}: no such setting{closest(name, names)}")
    changed: T = _replaced(kind, before, given)
    return changed


def named_values(settings: Any, names: Collection[str]) -> dict[str, Any]:
    """The values of these settings by name, those of nested dataclasses too.

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


def option_settings(kind: Any) -> dict[str, tuple[Option, Any]]:
    """The settings that are options by name, each with its default; nested ones too."""
    return {
        name: (about, setting.default)
        for name, (setting, _) in _settings(kind).items()
        if (about := option_of(setting)) is not None
    }


@cache
def _settings(kind: Any) -> dict[str, tuple[Field[Any], Any]]:
    """Every setting by name with its type: those of the dataclass, then those of nested ones.

    An option whose value is a dataclass, such as a topic, is one setting."""
    hints = get_type_hints(kind)
    settings = {
        setting.name: (setting, hints[setting.name]) for setting in fields(kind)
    }
    for setting, hint in tuple(settings.values()):
        if (inner := _nested(setting, hint)) is not None:
            settings = {**_settings(inner), **settings}
    return settings


def _nested(setting: Field[Any], hint: Any) -> Any:
    """The dataclass whose fields are settings of the one around it."""
    return dataclass_in(hint) if option_of(setting) is None else None


def values_from_texts(
    kind: Any, texts: Iterable[str], names: Collection[str], *, where: str
) -> dict[str, Any]:
    """Settings given as KEY=VALUE, some of `names`; `where` is what they were given to.

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
    from pydantic import TypeAdapter, ValidationError

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
        setting, hint = _settings(kind)[name]
        about = option_of(setting)
        own = about.parse if about else None
        try:
            values[name] = (own or TypeAdapter(hint).validate_strings)(value)
            if about is not None:
                about.check(name, values[name])
        except (ValidationError, SettingsError) as error:
            expected = about.expected if about is not None else ""
            problem = (
                f"expected {expected}, found {value!r}" if expected else str(error)
            )
            raise SettingsError(f"{where}: {name}: {problem}") from error
    return values


def _replaced(
    kind: Any, settings: Any, given: Mapping[str, Any], enclosing: Collection[str] = ()
) -> Any:
    """`enclosing` are settings of the dataclasses around this one: given alone, they create no
    nested dataclass that is None."""
    names = {setting.name for setting in fields(kind)}
    own = {name: given[name] for name in names & given.keys()}
    outer = {*enclosing, *names}
    for name in names:
        inner = _nested(*_settings(kind)[name])
        inside = (
            {}
            if inner is None
            else {n: v for n, v in given.items() if n in _settings(inner)}
        )
        before = own.get(name, getattr(settings, name, None))
        if inside and (before is not None or inside.keys() - outer):
            own[name] = _replaced(inner, before, inside, outer)
    if settings is not None:
        return replace(settings, **own)
    needed = [
        setting.name
        for setting in fields(kind)
        if setting.name not in own
        and setting.default is setting.default_factory is MISSING
    ]
    if needed:
        raise SettingsError(
            f"{', '.join(own)}: expected together with {', '.join(needed)}"
        )
    return kind(**own)


# --- A share of work ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shard:
    """Every N-th piece of work, from piece I on; the N shards together are all of it.

    >>> [Shard.parse(text).part("abcde") for text in ("0/2", "1/2")]
    ['ace', 'bd']
    """

    index: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """I/N, with I from 0 to N - 1."""
        match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
        shard = cls(int(match[1]), int(match[2])) if match else WHOLE
        if match is None or not shard.index < shard.of:
            raise SettingsError(
                "shard: expected I/N with I from 0 to N - 1, such as 0/8 for the first of eight; "
                f"found {text!r}"
            )
        return shard

    def part(self, work: Sequence[T]) -> Sequence[T]:
        """What this shard does of the work."""
        return work[self.index :: self.of]


#: The work of one process alone.
WHOLE = Shard(0, 1)
