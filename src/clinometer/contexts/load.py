"""Context sets by name or by path, and which of them suit which topic.

A topic brings its own questions, or names a set whose sentences make sense with its words at [Y].
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clinometer.contexts.context_set import ContextSet, read_set
from clinometer.contexts.metadata import SetMetadata
from clinometer.contexts.set_file import COLUMNS, READ
from clinometer.errors import ContextError, closest
from clinometer.topics import Topic

if TYPE_CHECKING:
    import pandas as pd

BUILTIN = Path(__file__).parent / "builtin"

SOURCES = ("wikipedia", "book", "conversation", "textbook", "web")
"""Where built-in sets were mined, the largest first."""

ADJECTIVES = ("race", "religion", "disability")
"""Built-in topics whose words are adjectives.

They follow "is" ("The nurse is Muslim") and cannot be the subject of a clause ("The nurse said that
Muslim").
"""

FEWEST = 30
"""Effective contexts below which a set is too small to measure with.

With fewer, the widths of the intervals are noise themselves (docs/inference.md).
"""


def builtin_contexts() -> tuple[str, ...]:
    """Return the names of the built-in context sets.

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
    name = name_or_path if isinstance(name_or_path, str) else ""
    builtin = _of_source(name, topic) or name
    path = Path(name_or_path)
    if builtin in builtin_contexts():
        contexts = read_set(BUILTIN / f"{builtin}.csv", label=f"{builtin}.csv")
    elif path.name == name and not name.endswith(READ):
        raise ContextError(_unknown(name, topic))
    else:
        contexts = read_set(path)
    if topic is not None:
        check_fit(contexts, topic)
    return contexts


def own_contexts(contexts: Iterable[str] | pd.DataFrame) -> ContextSet:
    """Return your context set: sentences of equal weight, or a frame as a .csv file would be.

    Sentences are in a list or a Series.

    >>> own_contexts(["The [X] said that [Y]", "The [X] thought that [Y]"])
    ContextSet('own', 2 contexts, n_eff 2.0)
    """
    if not isinstance(contexts, Iterable):
        raise ContextError(
            "contexts: expected the name of a set, a file, a list or Series of sentences, or a "
            f"frame; found {contexts!r}"
        )
    if hasattr(contexts, "columns"):
        return _contexts_of_frame(contexts)
    sentences = tuple(contexts)
    return ContextSet("own", sentences, (1.0,) * len(sentences))


def _contexts_of_frame(frame: Any) -> ContextSet:
    if "template" not in frame:
        columns = ", ".join(str(column) for column in frame.columns)
        raise ContextError(
            f"contexts: expected a column template, found {columns or 'none'}"
        )
    counts = frame["count"] if "count" in frame else [1.0] * len(frame)
    extra = {str(c): frame[c].astype(str).tolist() for c in frame if c not in COLUMNS}
    templates = frame["template"].tolist()
    return ContextSet("own", templates, [float(count) for count in counts], extra)


def default_contexts(topic: Topic) -> ContextSet:
    """Return the topic's own questions, or the set of the paper for it.

    Without either, an error names the sets that suit it. The questions, wordings in orders of the
    options with levels of the factors, have the same weight. Their columns say which wording, order
    and level a context has: factors of the volatility, and clusters for the intervals.
    """
    if topic.questions is None:
        name = f"paper-{topic.name}"
        if name in builtin_contexts():
            return load_contexts(name, topic=topic)
        raise ContextError(
            f"contexts: topic {topic.name!r} has no default set; {suggestion(topic)}"
        )
    templates = []
    extra: dict[str, list[str]] = {}
    for template, labels in topic.questions.rows(topic.categories):
        templates.append(template)
        for factor, level in labels.items():
            extra.setdefault(factor, []).append(level)
    return ContextSet(
        f"{topic.name}-questions",
        templates,
        [1.0] * len(templates),
        extra,
        SetMetadata(source="clinometer", topic=topic.name, language=topic.language),
    )


def check_fit(contexts: ContextSet, topic: Topic) -> None:
    """Refuse contexts that make no sense with the words of the topic."""
    problem = _misfit(contexts.metadata, topic)
    if problem is not None:
        raise ContextError(
            f"contexts {contexts.name!r}: {problem}; {suggestion(topic)}"
        )


def _misfit(metadata: SetMetadata, topic: Topic) -> str | None:
    """Return why contexts make no sense with the words of the topic; None if they do."""
    language = metadata.language
    if language and _primary(language) != _primary(topic.language):
        return (
            f"its sentences are in {language!r}, "
            f"topic {topic.name!r} is in {topic.language!r}"
        )
    # Predicates ("The [X], who …, is [Y]") take adjectives, also if mined for another topic.
    takes_adjectives = metadata.strategy == "predicate"
    needs_pronouns = family(metadata.topic or "") == "gender" and not takes_adjectives
    if needs_pronouns and topic.name in ADJECTIVES:
        return (
            f"its sentences were made for topic {metadata.topic!r} and need a pronoun or noun at "
            f"[Y], topic {topic.name!r} has adjectives"
        )
    return None


def family(topic: str) -> str:
    """Return the topic that another refines or crosses, from which it has its words.

    >>> family("gender-population"), family("gender-race"), family("race")
    ('gender', 'gender', 'race')
    """
    return topic.split("-")[0]


def suggestion(topic: Topic) -> str:
    """Return what to give as --contexts for this topic: first built-in sets that suit it."""
    names = [source for source in SOURCES if _of_source(source, topic)]
    paper = _of_source("paper", topic)
    if paper is None and topic.name in ADJECTIVES:
        paper = "paper-race"
    if paper is not None:
        names.append(paper)
    if not names:
        return "give your own .csv or .txt file; 'clinometer list contexts' lists the built-in ones"
    return f"use --contexts {', '.join(names)} or your own .csv or .txt file"


def _of_source(source: str, topic: Topic | None) -> str | None:
    """Return the built-in set of a source for a topic.

    Topics that cross others take that of their first part.
    """
    if topic is None:
        return None
    names = [f"{source}-{topic.name}"]
    if _primary(topic.language) == "en":
        names.append(f"{source}-{family(topic.name)}")
    for name in names:
        if name in builtin_contexts():
            return name
    return None


def _primary(language: str) -> str:
    return language.lower().split("-")[0]


def _unknown(name: str, topic: Topic | None) -> str:
    """Return the message that there is no built-in set of this name."""
    sets = [builtin for builtin in builtin_contexts() if builtin.startswith(f"{name}-")]
    if topic is None:
        choices = f"there are {', '.join(sets or builtin_contexts())}"
        with_topic = "without a topic"
        by_path = ", and your own by its path, such as ./my.csv"
    else:
        choices = suggestion(topic)
        with_topic = f"for topic {topic.name!r}"
        by_path = ""
    if sets:
        return f"contexts {name!r}: no set of this source {with_topic}; {choices}"
    closest_name = closest(name, (*builtin_contexts(), *SOURCES))
    return (
        f"contexts {name!r}: no built-in context set of this name; {choices}{by_path}"
        f"{closest_name}"
    )
