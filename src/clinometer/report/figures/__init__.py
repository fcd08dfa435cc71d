"""Figures of one run and of several."""
