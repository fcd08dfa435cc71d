"""Where work runs: on the actors of a Ray cluster, or in an event loop in the background."""
