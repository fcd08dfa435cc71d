"""Context sets by name or by path."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from tiltmeter.contexts.context_set import ContextSet
from tiltmeter.contexts.files import read
from tiltmeter.errors import ContextError

BUILTIN = Path(__file__).parent / "builtin"


def builtin_contexts() -> tuple[str, ...]:
    """The names of the built-in context sets.

    >>> "paper-gender" in builtin_contexts()
    True
    """
    return tuple(sorted(path.stem for path in BUILTIN.glob("*.csv")))


def load_contexts(name_or_path: str | os.PathLike[str]) -> ContextSet:
    """A built-in context set by its name, or a person's own by the path of its file.

    A name without a folder and without .csv or .csv.gz is a built-in one; anything else is a path.

    >>> load_contexts("paper-gender")
    ContextSet('paper-gender', 10 contexts, n_eff 4.3)
    """
    if isinstance(name_or_path, str) and name_or_path in builtin_contexts():
        return read(BUILTIN / f"{name_or_path}.csv", shown=f"{name_or_path}.csv")
    path = Path(name_or_path)
    if (
        isinstance(name_or_path, str)
        and path.name == name_or_path
        and not name_or_path.endswith((".csv", ".csv.gz"))
    ):
        near = difflib.get_close_matches(name_or_path, builtin_contexts(), n=3)
        raise ContextError(
            f"contexts {name_or_path!r}: no built-in context set of this name; there are "
            f"{', '.join(builtin_contexts())}, and your own by its path, such as ./my.csv"
            + (f"; did you mean {' or '.join(near)}?" if near else "")
        )
    return read(path)
