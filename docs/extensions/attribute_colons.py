"""Colons in the docstrings of attributes are colons.

Napoleon reads `verdict: what was decided` as a type and its description, as some write them. Ours
are sentences: "None: nothing is known." Their colons are hidden from it and put back.
"""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

ATTRIBUTES = ("attribute", "data", "property")
HIDDEN = "\ue000"
"""A character that no docstring has."""


def hide(lines: list[str]) -> None:
    """Hide the colons of lines, in place."""
    lines[:] = [line.replace(":", HIDDEN) for line in lines]


def put_back(lines: list[str]) -> None:
    """Put the colons of lines back, in place."""
    lines[:] = [line.replace(HIDDEN, ":") for line in lines]


def setup(app: Sphinx) -> dict[str, bool]:
    def before_napoleon(
        _app: Sphinx, what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
    ) -> None:
        if what in ATTRIBUTES:
            hide(lines)

    def after_napoleon(
        _app: Sphinx, what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
    ) -> None:
        if what in ATTRIBUTES:
            put_back(lines)

    app.connect("autodoc-process-docstring", before_napoleon, priority=100)
    app.connect("autodoc-process-docstring", after_napoleon, priority=900)
    return {"parallel_read_safe": True}
