"""Inspect: its logs as runs, and our audit as a task of it."""
