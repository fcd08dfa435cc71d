"""Every exception the package raises on purpose, as one tree.

ClinometerError
├── InputError            what was given is wrong              exit status 2
│   ├── TopicError        a topic file or name
│   ├── ContextError      a context set or template
│   ├── TableError        a table of preferences or factors
│   ├── SettingsError     an option, argument or weight
│   ├── RunError          a run folder
│   └── MissingExtra      an optional dependency is not installed
├── ModelError            a model or server failed             exit status 3
│   ├── ModelNotFound     no such model here                   exit status 2
│   └── Unmeasurable      it gave no answer to measure
└── ClusterError          workers or nodes were lost           exit status 3

A message is one line: the thing, what was expected, what was found, the next step.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ClinometerError(Exception):
    """Base of all errors that clinometer raises on purpose.

    `exit_status` is what the command line returns for it.
    """

    exit_status = 2


class InputError(ClinometerError, ValueError):
    """What the caller gave is wrong."""


class TopicError(InputError):
    """A topic file or topic name is wrong."""


class ContextError(InputError):
    """A context set or a template is wrong."""


class TableError(InputError):
    """A table (preferences, factors) is wrong."""


class SettingsError(InputError):
    """An option, argument or weight is wrong."""


class RunError(InputError):
    """A run folder is missing, damaged, or does not match the command."""


class MissingExtra(InputError, ImportError):
    """An optional dependency is not installed; `clinometer.extras` knows the command for it."""


class ModelError(ClinometerError, RuntimeError):
    """A model or server failed while scoring."""

    exit_status = 3


class ModelNotFound(ModelError):
    """There is no such model here."""

    exit_status = 2


class Unmeasurable(ModelError):
    """Almost no answer of a model fits a category: reporting no number is safer.

    `other` is the share of its replies, or of its probability, that fits none.
    """

    def __init__(self, message: str, *, other: float = 1.0) -> None:
        super().__init__(message)
        self.other = other


class ClusterError(ClinometerError, RuntimeError):
    """Workers or nodes are missing or were lost."""

    exit_status = 3


def closest(name: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown name: "; did you mean …?", or nothing.

    >>> closest("max_context", ["max_contexts", "seed"])
    '; did you mean max_contexts?'
    """
    near = difflib.get_close_matches(str(name), list(known), n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""
