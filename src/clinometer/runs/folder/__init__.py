"""The run folder: its content, and how a damaged one is read."""
