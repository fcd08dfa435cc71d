"""Runs over BBQ: models asked exactly, and published answers read as replies."""
