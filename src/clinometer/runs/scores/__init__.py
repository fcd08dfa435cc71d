"""Scores of an audit: computed, cached, stored and counted."""
