"""Context sets: templates with the slots [X] and [Y], and how often each was seen."""

from clinometer.contexts.context_set import ContextSet
from clinometer.contexts.load import builtin_contexts, load_contexts
from clinometer.contexts.metadata import SetMetadata

__all__ = ["ContextSet", "SetMetadata", "builtin_contexts", "load_contexts"]
