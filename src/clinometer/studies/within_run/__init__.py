"""Studies of a single run: factors, controls, choices."""
