"""Prompts of a causal grid packed as prefix trees."""
