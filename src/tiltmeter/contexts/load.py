"""Context sets by name or by path."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from tiltmeter.contexts.context_set import ContextSet
from tiltmeter.contexts.files import read
from tiltmeter.errors import ContextError
from tiltmeter.topics import Topic

BUILTIN = Path(__file__).parent / "builtin"


def builtin_contexts() -> tuple[str, ...]:
    """The names of the built-in context sets.

    >>> "paper-gender" in builtin_contexts()
    True
    """
    return tuple(sorted(path.stem for path in BUILTIN.glob("*.csv")))


def load_contexts(
    name_or_path: str | os.PathLike[str], *, topic: Topic | None = None
) -> ContextSet:
    """A built-in context set by its name, or a person's own by the path of its file.

    A name without a folder and without .csv or .csv.gz is a built-in one; anything else is a path.
    The name of a source (wikipedia, book, conversation, textbook, web) means the set of that source
    for the topic: `wikipedia` is `wikipedia-race` for the topic race.

    >>> load_contexts("paper-gender")
    ContextSet('paper-gender', 10 contexts, n_eff 4.3)
    """
    if isinstance(name_or_path, str):
        name = _of_source(name_or_path, topic) or name_or_path
        if name in builtin_contexts():
            return read(BUILTIN / f"{name}.csv", shown=f"{name}.csv")
    path = Path(name_or_path)
    if (
        isinstance(name_or_path, str)
        and path.name == name_or_path
        and not name_or_path.endswith((".csv", ".csv.gz"))
    ):
        raise ContextError(_unknown(name_or_path, topic))
    return read(path)


def _of_source(source: str, topic: Topic | None) -> str | None:
    """The built-in set of a source for a topic; crossed topics take that of their first part."""
    if topic is None:
        return None
    name = f"{source}-{topic.name}"
    first = f"{source}-{topic.name.split('-')[0]}"
    if name in builtin_contexts():
        return name
    english = topic.language.lower().split("-")[0] == "en"
    return first if english and first in builtin_contexts() else None


def _unknown(name: str, topic: Topic | None) -> str:
    sets = [known for known in builtin_contexts() if known.startswith(f"{name}-")]
    if sets:
        asked = f"for topic {topic.name!r}" if topic else "without a topic"
        return f"contexts {name!r}: no set of this source {asked}; there are {', '.join(sets)}"
    near = difflib.get_close_matches(name, builtin_contexts(), n=3)
    return (
        f"contexts {name!r}: no built-in context set of this name; there are "
        f"{', '.join(builtin_contexts())}, and your own by its path, such as ./my.csv"
        + (f"; did you mean {' or '.join(near)}?" if near else "")
    )
