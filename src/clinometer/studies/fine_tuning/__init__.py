"""Training that a study needs."""
