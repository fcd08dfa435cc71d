"""Import parts of other libraries when they are first used, not when they are named.

A library often imports far more than a caller of it uses: transformers with every model torch's
compiler and distributed tensors, which take longer than torch itself. Within `deferred` such a
module is a stand-in, and so is every name taken from it. Calling one, subclassing it or reading
from it imports the real module, so that nothing is missing where it is used after all.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import FunctionType, ModuleType
from typing import Any, Union

#: Of torch._dynamo: they mark a function for a compiler that only sees it once it is imported.
_DECORATORS = ("allow_in_graph", "assume_constant_result", "disable")


@contextlib.contextmanager
def deferred(*names: str) -> Iterator[None]:
    """Import the named modules, and those below them, only when something of them is used.

    Modules that were imported before stay as they are. The first use ends it for all of them.
    """
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    outer = _FINDER.names
    _FINDER.names = outer | {name for name in names if name not in sys.modules}
    _FINDER.roots |= _FINDER.names
    try:
        yield
    finally:
        _FINDER.end()
        _FINDER.names = outer


class _Finder(MetaPathFinder, Loader):
    """Finds a stand-in for each of the modules and for everything below them.

    names    modules that are deferred now
    roots    modules that ever were, and that may still have stand-ins somewhere
    """

    def __init__(self) -> None:
        self.names: frozenset[str] = frozenset()
        self.roots: frozenset[str] = frozenset()
        self.modules: list[ModuleType] = []
        self.marked: list[_Marked] = []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not any(name == one or name.startswith(f"{one}.") for one in self.names | self.roots):
            return None
        real = PathFinder.find_spec(name, path)
        if real is None:  # not installed: the import fails, as it would without us
            return None
        if any(name == one or name.startswith(f"{one}.") for one in self.names):
            spec = ModuleSpec(name, self, origin=real.origin)
            spec.submodule_search_locations = real.submodule_search_locations
            return spec
        if name in self.roots and real.loader is not None:
            real.loader = _Settling(real.loader)
            return real
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self.modules.append(_StandInModule(spec.name))
        return self.modules[-1]

    def exec_module(self, module: ModuleType) -> None:
        """A stand-in runs nothing."""

    def end(self) -> None:
        """Take stand-in modules out of the way: from now on, imports find the real ones."""
        self.names = frozenset()
        for module in self.modules:
            name = module.__name__
            if sys.modules.get(name) is module:
                del sys.modules[name]
            parent, _, own = name.rpartition(".")
            if vars(sys.modules.get(parent, module)).get(own) is module:
                delattr(sys.modules[parent], own)
        self.modules.clear()

    def settle(self) -> None:
        """Put the real objects where stand-ins are."""
        self.roots = frozenset()
        for module in list(sys.modules.values()):
            for name, value in list(getattr(module, "__dict__", {}).items()):
                if type(value) is StandIn:
                    with contextlib.suppress(ImportError):  # a name that does not exist
                        setattr(module, name, value.real)
        for mark in self.marked:
            mark.settle()
        self.marked.clear()


class _Settling(Loader):
    """Loads a module as its own loader does, then settles what stood in for it and for others.

    Not before the last module that it imports in turn is complete.
    """

    depth = 0

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        _Settling.depth += 1
        try:
            self._loader.exec_module(module)
        finally:
            _Settling.depth -= 1
        if _Settling.depth == 0:
            _FINDER.settle()


_FINDER = _Finder()


class _StandInModule(ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(self.__name__, name)


class StandIn:
    """Behaves as the object `name` of `module`, which it imports when it is used."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    @property
    def real(self) -> Any:
        _FINDER.end()  # whole: the real module may rely on others that stand-ins replaced
        module = importlib.import_module(self.module)
        try:
            return getattr(module, self.name)
        except AttributeError:
            return importlib.import_module(f"{self.module}.{self.name}")

    @property
    def imported(self) -> bool:
        """Whether the real module is; before that, no object can be an instance of its class."""
        module = sys.modules.get(self.module)
        return not isinstance(module, _StandInModule) and hasattr(module, self.name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        if self.name in _DECORATORS and arguments:
            function, *more = arguments
            if function is None:  # options alone: the decorator itself is wanted
                return lambda one: self(one, *more, **options)
            if isinstance(function, FunctionType):
                _FINDER.marked.append(_Marked(self, function, more, options))
                return _FINDER.marked[-1].method()
        return self.real(*arguments, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in ("__name__", "__qualname__"):
            raise AttributeError(name)  # annotations ask every name whether it is generic
        return getattr(self.real, name)

    def __getitem__(self, key: Any) -> Any:
        return self.real[key]

    def __contains__(self, key: Any) -> bool:
        return key in self.real

    def __iter__(self) -> Iterator[Any]:
        return iter(self.real)

    def __bool__(self) -> bool:
        return bool(self.real)

    def __eq__(self, other: object) -> bool:
        return self is other or (self.imported and bool(other == self.real))

    __hash__ = object.__hash__

    def __or__(self, other: Any) -> Any:
        return Union[self, other]  # noqa: UP007  # X | Y would call this method again

    def __ror__(self, other: Any) -> Any:
        return Union[other, self]  # noqa: UP007

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self.real,)

    def __instancecheck__(self, instance: Any) -> bool:
        return self.imported and isinstance(instance, self.real)

    def __subclasscheck__(self, one: type) -> bool:
        return self.imported and issubclass(one, self.real)


class _Marked:
    """`decorator(function, *more, **options)` as soon as there is a compiler to see the mark; until
    then, the function."""

    def __init__(self, decorator: StandIn, function: FunctionType, more: Any, options: Any) -> None:
        self._decorator, self._function = decorator, function
        self._more, self._options = more, options
        self._now: Any = function

    def settle(self) -> None:
        if self._now is self._function and self._decorator.imported:
            self._now = self._decorator.real(self._function, *self._more, **self._options)

    def method(self) -> Any:
        """A plain function, so that it becomes a method where it is set in a class."""

        @functools.wraps(self._function)
        def call(*arguments: Any, **named: Any) -> Any:
            return self._now(*arguments, **named)

        return call
