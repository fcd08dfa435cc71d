"""Pages of the Python reference, one per package, written before Sphinx looks for pages.

Each lists `__all__` of its package, so that a public name cannot be forgotten.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

#: Package -> what it is for. `clinometer` first: what it exports is documented there only.
PACKAGES = {
    "clinometer": "The public interface: audit, measure, compare, report",
    "clinometer.measure": "The mathematics, on arrays",
    "clinometer.topics": "Who is asked about, and what counts as which answer",
    "clinometer.contexts": "Templates with weights",
    "clinometer.models": "Any model behind one protocol",
    "clinometer.readouts": "How a reply becomes a category",
    "clinometer.runs": "Audits and their folders",
    "clinometer.reliability": "Contextual reliability of bias benchmarks",
    "clinometer.studies": "The papers' studies",
    "clinometer.report": "Pages and tables from run folders",
}


def names_of(package: str) -> list[str]:
    """What the package exports and `clinometer` does not export already.

    >>> "Run" in names_of("clinometer"), "Run" in names_of("clinometer.runs")
    (True, False)
    """
    top = set(import_module("clinometer").__all__)
    names = [name for name in import_module(package).__all__ if name != "__version__"]
    return sorted(n for n in names if package == "clinometer" or n not in top)


def _value(package: str, name: str) -> Any:
    return getattr(import_module(package), name)


def _constants(package: str) -> list[str]:
    """Names that are neither classes nor functions, with the comment above their definition."""
    lines = []
    for name in names_of(package):
        if not callable(_value(package, name)):
            meaning = _comment(package, name)
            lines += [f".. py:data:: {name}", "", f"   {meaning}", ""]
    return lines


def _comment(package: str, name: str) -> str:
    """The `#:` comment of a name, wherever below the package it is defined."""
    from sphinx.errors import PycodeError
    from sphinx.pycode import ModuleAnalyzer

    for module in sorted(
        name for name in sys.modules if f"{name}.".startswith(f"{package}.")
    ):
        try:
            comments = ModuleAnalyzer.for_module(module).find_attr_docs()
        except PycodeError:
            continue
        if ("", name) in comments:
            return " ".join(comments["", name]).strip()
    return f"A constant of type {type(_value(package, name)).__name__}."


def write_pages(folder: Path) -> None:
    """Write one page per package into the folder; a page that is right is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for package, purpose in PACKAGES.items():
        title = f"{package}: {purpose[0].lower()}{purpose[1:]}"
        lines = [
            title,
            "=" * len(title),
            "",
            f".. automodule:: {package}",
            "   :no-members:",
            "",
            f".. currentmodule:: {package}",
            "",
            ".. autosummary::",
            "   :toctree: names",
            "",
            *(
                f"   {name}"
                for name in names_of(package)
                if callable(_value(package, name))
            ),
            "",
            *_constants(package),
        ]
        path = folder / f"{package}.rst"
        text = "\n".join(lines) + "\n"
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            for stub in (folder / "names").glob(f"{package}.*"):
                stub.unlink()  # written again for the names that are left
