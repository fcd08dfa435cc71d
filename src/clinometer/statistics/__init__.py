"""Statistics that know nothing of bias (numpy and scipy only)."""
