"""Context sets by name or by path."""

from __future__ import annotations

import os
from pathlib import Path

from clinometer.contexts.context_set import ContextSet
from clinometer.contexts.files import SetMetadata, read
from clinometer.errors import ContextError, closest
from clinometer.topics import Topic

# --- The questions of a topic as a context set: one context for each question that is asked ------


def question_contexts(topic: Topic) -> ContextSet:
    """Wordings, orders of the options and levels of the factors, each with the same weight.

    The columns say which wording, which order and which level a context has: factors of the
    volatility, and clusters for the intervals.
    """
    if topic.questions is None:
        raise ContextError(f"topic {topic.name!r}: brings no [contexts]; name a context set")
    rows = list(topic.questions.rows(topic.categories))
    columns = list(rows[0][1])
    return ContextSet(
        f"{topic.name}-questions",
        [template for template, _ in rows],
        [1.0] * len(rows),
        {name: [labels[name] for _, labels in rows] for name in columns},
        SetMetadata(source="clinometer", topic=topic.name, language=topic.language),
    )


# --- Which context sets suit which topics: the topic's words must make sense at [Y] --------------


#: Built-in topics whose words are adjectives: they follow "is" ("The nurse is Muslim") and cannot
#: be the subject of a clause ("The nurse said that Muslim").
ADJECTIVES = ("race", "religion", "disability")
#: The topic whose contexts are made for pronouns, mostly subjects of a clause.
_PRONOUNS = "gender"
#: Effective contexts below which a set is too small to measure with: with fewer, the widths of the
#: intervals are noise themselves (docs/inference.md).
FEWEST = 30


def too_small(n_eff: float) -> bool:
    """Whether a set worth n_eff even contexts is too small to measure with.

    >>> too_small(4.3), too_small(149.8)
    (True, False)
    """
    return n_eff < FEWEST


def misfit(contexts: ContextSet, topic: Topic) -> str | None:
    """Why these contexts do not suit this topic; None if they do."""
    about = contexts.metadata
    if about.language and _primary(about.language) != _primary(topic.language):
        its, other = about.language, topic.language
        return f"its sentences are in {its!r}, topic {topic.name!r} is in {other!r}"
    # Predicates ("The [X], who …, is [Y]") take adjectives, for any topic they were mined for.
    pronouns = about.topic is not None and family(about.topic) == _PRONOUNS
    if pronouns and about.strategy != "predicate" and topic.name in ADJECTIVES:
        return (
            f"its sentences were made for topic {about.topic!r} and need a pronoun or noun at [Y], "
            f"topic {topic.name!r} has adjectives"
        )
    return None


def family(topic: str) -> str:
    """The topic that another refines or crosses: that of its words.

    >>> family("gender-population"), family("gender-race"), family("race")
    ('gender', 'gender', 'race')
    """
    return topic.split("-")[0]


def _primary(language: str) -> str:
    return language.lower().split("-")[0]


# --- Context sets by name or by path -------------------------------------------------------------


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
        return "give your own as a csv file; 'clinometer list contexts' lists the built-in ones"
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
