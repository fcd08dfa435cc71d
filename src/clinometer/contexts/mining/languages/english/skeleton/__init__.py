"""From a parsed predicate to a template that stands alone."""
