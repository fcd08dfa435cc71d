"""Where work runs: on the actors of a Ray cluster."""
