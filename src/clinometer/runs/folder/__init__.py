"""The run folder: what it holds, and how a damaged one is read."""
