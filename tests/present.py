"""A value that may be missing, in a test where it must not be; a script as a module."""

from __future__ import annotations

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def present(value: T | None) -> T:
    assert value is not None
    return value


def loaded(script: Path) -> ModuleType:
    """A script outside the package, imported under its own name."""
    spec = present(spec_from_file_location(script.stem, script))
    module = module_from_spec(spec)
    sys.modules[script.stem] = module  # dataclasses look their module up
    present(spec.loader).exec_module(module)
    return module
