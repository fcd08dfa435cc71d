"""Clinometer: how far a language model leans, and how much its leaning swings with context.

>>> import clinometer as cm
>>> cm.decompose([[0.5, 0.5], [0.35, 0.65], [0.65, 0.35]])
RiskReport(R 0.200, bias 0.000, volatility 0.200; 1 group, 3 contexts)

Importing the package loads nothing else; each part loads when its name is first used.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.2.0.dev0"


def _modules_of_names() -> dict[str, str]:
    """Return each public name with its module, as the stub lists them for type checkers."""
    stub = Path(__file__).with_suffix(".pyi").read_text("utf-8")
    modules = {}
    for statement in ast.parse(stub).body:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                modules[alias.name] = str(statement.module)
    return modules


_MODULES = _modules_of_names()

__all__ = ["__version__", *sorted(_MODULES)]  # noqa: PLE0604  # these are texts


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'clinometer' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
