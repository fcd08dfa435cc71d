"""The explorer's modules: as files for a server, or as one script for a page in a single file."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

#: In the order in which they depend on each other.
MODULES = ("format", "data", "state", "groups", "heat", "sentence", "explorer")
_IMPORT = re.compile(r"^import .*;\n", flags=re.M)
_EXPORT = re.compile(r"^export ", flags=re.M)


@cache
def explorer_file(name: str) -> str:
    """A file of the explorer as it stands."""
    return (resources.files("clinometer.report.explorer") / "static" / name).read_text("utf-8")


@cache
def explorer_script() -> str:
    """All modules as one script: names at the top of the modules differ, so they can share a
    scope."""
    bodies = (_EXPORT.sub("", _IMPORT.sub("", explorer_file(f"{m}.js"))) for m in MODULES)
    return '"use strict";\n(() => {\n' + "\n".join(bodies) + "})();\n"
