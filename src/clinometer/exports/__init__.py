"""Runs and context sets in the formats of other tools; each needs that tool's package only."""
