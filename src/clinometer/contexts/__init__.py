"""Context sets: templates with the slots [X] and [Y], and how often each was seen."""

from clinometer.contexts.context_set import ContextSet, SetMetadata
from clinometer.contexts.load import builtin_contexts, load_contexts

__all__ = ["ContextSet", "SetMetadata", "builtin_contexts", "load_contexts"]
