"""Studies that compare models."""
