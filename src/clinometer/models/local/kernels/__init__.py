"""Faster ways to compute what transformers models compute."""
