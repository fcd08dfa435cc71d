"""Context sets by name or by path."""

from __future__ import annotations

import os
from pathlib import Path

from clinometer.contexts.context_set import ContextSet
from clinometer.contexts.files import read
from clinometer.contexts.fit import ADJECTIVES, family, misfit
from clinometer.contexts.questions import question_contexts
from clinometer.errors import ContextError, closest
from clinometer.topics import Topic

BUILTIN = Path(__file__).parent / "builtin"
#: Where built-in sets were mined, the largest first.
SOURCES = ("wikipedia", "book", "conversation", "textbook", "web")


def builtin_contexts() -> tuple[str, ...]:
    """The names of the built-in context sets.

    >>> "paper-gender" in builtin_contexts()
    True
    """
    return tuple(sorted(path.stem for path in BUILTIN.glob("*.csv")))


def load_contexts(
    name_or_path: str | os.PathLike[str], *, topic: Topic | None = None
) -> ContextSet:
    """Load a built-in context set by name, or your own by path.

    A name without a folder and without .csv or .csv.gz is a built-in one; anything else is a path.
    The name of a source (wikipedia, book, conversation, textbook, web) means the set of that source
    for the topic: `wikipedia` is `wikipedia-race` for the topic race. With a `topic`, a set that
    does not fit its words (another language, adjectives where a pronoun belongs) is an error.

    >>> load_contexts("paper-gender")
    ContextSet('paper-gender', 10 contexts, n_eff 4.3)
    """
    contexts = _load(name_or_path, topic)
    if topic is not None:
        check_fit(contexts, topic)
    return contexts


def default_contexts(topic: Topic) -> ContextSet:
    """The topic's own questions, or the set of the paper for it; else an error that names the
    sets that suit it."""
    if topic.questions is not None:
        return question_contexts(topic)
    name = f"paper-{topic.name}"
    if name not in builtin_contexts():
        raise ContextError(
            f"contexts: topic {topic.name!r} has no default set; {suggestion(topic)}"
        )
    return load_contexts(name, topic=topic)


def check_fit(contexts: ContextSet, topic: Topic) -> None:
    """Refuse contexts that make no sense with the words of the topic."""
    if (why := misfit(contexts, topic)) is not None:
        raise ContextError(f"contexts {contexts.name!r}: {why}; {suggestion(topic)}")


def suggestion(topic: Topic) -> str:
    """What to give as --contexts for this topic: first the names of built-in sets that suit it."""
    names = [source for source in SOURCES if _of_source(source, topic)]
    paper = _of_source("paper", topic) or ("paper-race" if topic.name in ADJECTIVES else None)
    names += [paper] if paper else []
    if not names:
        return "give your own as a csv file; 'clinometer contexts' lists the built-in ones"
    return f"use --contexts {', '.join(names)} or your own csv file"


def _load(name_or_path: str | os.PathLike[str], topic: Topic | None) -> ContextSet:
    if isinstance(name_or_path, str):
        name = _of_source(name_or_path, topic) or name_or_path
        if name in builtin_contexts():
            return read(BUILTIN / f"{name}.csv", ContextSet, shown=f"{name}.csv")
    path = Path(name_or_path)
    if (
        isinstance(name_or_path, str)
        and path.name == name_or_path
        and not name_or_path.endswith((".csv", ".csv.gz"))
    ):
        raise ContextError(_unknown(name_or_path, topic))
    return read(path, ContextSet)


def _of_source(source: str, topic: Topic | None) -> str | None:
    """The built-in set of a source for a topic; crossed topics take that of their first part."""
    if topic is None:
        return None
    name = f"{source}-{topic.name}"
    first = f"{source}-{family(topic.name)}"
    if name in builtin_contexts():
        return name
    english = topic.language.lower().split("-")[0] == "en"
    return first if english and first in builtin_contexts() else None


def _unknown(name: str, topic: Topic | None) -> str:
    sets = [known for known in builtin_contexts() if known.startswith(f"{name}-")]
    if sets and topic is None:
        return (
            f"contexts {name!r}: no set of this source without a topic; there are {', '.join(sets)}"
        )
    if sets and topic is not None:
        return (
            f"contexts {name!r}: no set of this source for topic {topic.name!r}; "
            f"{suggestion(topic)}"
        )
    known = (
        f"there are {', '.join(builtin_contexts())}, and your own by its path, such as ./my.csv"
        if topic is None
        else suggestion(topic)
    )
    near = closest(name, (*builtin_contexts(), *SOURCES))
    return f"contexts {name!r}: no built-in context set of this name; {known}{near}"
