"""Context sets: templates with the slots [X] and [Y], and how often each was seen."""

from clinometer.contexts.context_set import ContextSet
from clinometer.contexts.files import SetMetadata
from clinometer.contexts.load import builtin_contexts, load_contexts
from clinometer.contexts.template import clean_template, template_problem

__all__ = [
    "ContextSet",
    "SetMetadata",
    "builtin_contexts",
    "clean_template",
    "load_contexts",
    "template_problem",
]
