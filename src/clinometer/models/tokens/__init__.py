"""Prompts, words and texts as tokens; needs no torch."""
