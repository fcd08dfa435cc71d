"""From a model's name to its weights: names, places, revisions, suites."""
