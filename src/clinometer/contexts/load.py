"""Context sets by name or by path, and which of them suit which topic.

A topic brings its own questions, or names a set whose sentences make sense with its words at [Y].
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.contexts.context_set import (
    COLUMNS,
    READ,
    ContextSet,
    SetMetadata,
    read_set,
)
from clinometer.errors import ContextError, closest
from clinometer.topics import Topic

if TYPE_CHECKING:
    import pandas as pd

BUILTIN = Path(__file__).parent / "builtin"
#: Where built-in sets were mined, the largest first.
SOURCES = ("wikipedia", "book", "conversation", "textbook", "web")
#: Built-in topics whose words are adjectives: they follow "is" ("The nurse is Muslim") and cannot
#: be the subject of a clause ("The nurse said that Muslim").
ADJECTIVES = ("race", "religion", "disability")
#: Effective contexts below which a set is too small to measure with: with fewer, the widths of the
#: intervals are noise themselves (docs/inference.md).
FEWEST = 30


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

    A name without a folder and without .csv, .csv.gz or .txt is a built-in one, else it is a path.
    The name of a source (wikipedia, book, conversation, textbook, web) means the set of that source
    for the topic: `wikipedia` is `wikipedia-race` for the topic race. With a `topic`, a set that
    does not fit its words (another language, adjectives where a pronoun belongs) is an error.

    >>> load_contexts("paper-gender")
    ContextSet('paper-gender', 10 contexts, n_eff 4.3)
    """
    name = os.fspath(name_or_path) if isinstance(name_or_path, str) else ""
    builtin = _of_source(name, topic) or name
    path = Path(name_or_path)
    if builtin in builtin_contexts():
        contexts = read_set(BUILTIN / f"{builtin}.csv", shown=f"{builtin}.csv")
    elif path.name == name and not name.endswith(READ):
        raise ContextError(_unknown(name, topic))
    else:
        contexts = read_set(path)
    if topic is not None:
        check_fit(contexts, topic)
    return contexts


def own_contexts(contexts: Iterable[str] | pd.DataFrame) -> ContextSet:
    """Your context set: sentences of equal weight, in a list or a Series, or a frame as a .csv file
    would be.

    >>> own_contexts(["The [X] said that [Y]", "The [X] thought that [Y]"])
    ContextSet('own', 2 contexts, n_eff 2.0)
    """
    if not isinstance(contexts, Iterable):
        raise ContextError(
            "contexts: expected the name of a set, a file, a list or Series of sentences, or a "
            f"frame; found {contexts!r}"
        )
    if not hasattr(contexts, "columns"):
        sentences = tuple(contexts)
        return ContextSet("own", sentences, (1.0,) * len(sentences))
    frame: Any = contexts
    if "template" not in frame:
        columns = ", ".join(map(str, frame.columns))
        raise ContextError(
            f"contexts: expected a column template, found {columns or 'none'}"
        )
    counts = frame["count"] if "count" in frame else [1.0] * len(frame)
    labels = {str(c): frame[c].astype(str).tolist() for c in frame if c not in COLUMNS}
    return ContextSet(
        "own", frame["template"].tolist(), [float(n) for n in counts], labels
    )


def default_contexts(topic: Topic) -> ContextSet:
    """The topic's own questions, or the set of the paper for it; else an error that names the
    sets that suit it.

    The questions, wordings in orders of the options with levels of the factors, have the same
    weight. Their columns say which wording, order and level a context has: factors of the
    volatility, and clusters for the intervals.
    """
    if topic.questions is None:
        name = f"paper-{topic.name}"
        if name in builtin_contexts():
            return load_contexts(name, topic=topic)
        raise ContextError(
            f"contexts: topic {topic.name!r} has no default set; {suggestion(topic)}"
        )
    templates, labels = zip(*topic.questions.rows(topic.categories), strict=True)
    return ContextSet(
        f"{topic.name}-questions",
        templates,
        [1.0] * len(templates),
        {name: [each[name] for each in labels] for name in labels[0]},
        SetMetadata(source="clinometer", topic=topic.name, language=topic.language),
    )


def check_fit(contexts: ContextSet, topic: Topic) -> None:
    """Refuse contexts that make no sense with the words of the topic."""
    about = contexts.metadata
    # Predicates ("The [X], who …, is [Y]") take adjectives, also if mined for another topic.
    pronouns = about.strategy != "predicate" and family(about.topic or "") == "gender"
    if about.language and _primary(about.language) != _primary(topic.language):
        why = (
            f"its sentences are in {about.language!r}, "
            f"topic {topic.name!r} is in {topic.language!r}"
        )
    elif pronouns and topic.name in ADJECTIVES:
        why = (
            f"its sentences were made for topic {about.topic!r} and need a pronoun or noun at [Y], "
            f"topic {topic.name!r} has adjectives"
        )
    else:
        return
    raise ContextError(f"contexts {contexts.name!r}: {why}; {suggestion(topic)}")


def family(topic: str) -> str:
    """The topic that another refines or crosses, from which it has its words.

    >>> family("gender-population"), family("gender-race"), family("race")
    ('gender', 'gender', 'race')
    """
    return topic.split("-")[0]


def suggestion(topic: Topic) -> str:
    """What to give as --contexts for this topic: first the names of built-in sets that suit it."""
    names = [source for source in SOURCES if _of_source(source, topic)]
    paper = _of_source("paper", topic) or (
        "paper-race" if topic.name in ADJECTIVES else None
    )
    names += [paper] if paper else []
    if not names:
        return "give your own .csv or .txt file; 'clinometer list contexts' lists the built-in ones"
    return f"use --contexts {', '.join(names)} or your own .csv or .txt file"


def _of_source(source: str, topic: Topic | None) -> str | None:
    """The built-in set of a source for a topic; crossed topics take that of their first part."""
    if topic is None:
        return None
    names = [
        topic.name,
        *([family(topic.name)] if _primary(topic.language) == "en" else []),
    ]
    sets = [f"{source}-{name}" for name in names]
    return next((name for name in sets if name in builtin_contexts()), None)


def _primary(language: str) -> str:
    return language.lower().split("-")[0]


def _unknown(name: str, topic: Topic | None) -> str:
    sets = [builtin for builtin in builtin_contexts() if builtin.startswith(f"{name}-")]
    there = f"there are {', '.join(sets or builtin_contexts())}"
    choices = there if topic is None else suggestion(topic)
    if sets:
        of = "without a topic" if topic is None else f"for topic {topic.name!r}"
        return f"contexts {name!r}: no set of this source {of}; {choices}"
    own = ", and your own by its path, such as ./my.csv" if topic is None else ""
    near = closest(name, (*builtin_contexts(), *SOURCES))
    return (
        f"contexts {name!r}: no built-in context set of this name; {choices}{own}{near}"
    )
