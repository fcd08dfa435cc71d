"""From a parsed predicate to a self-contained template."""
