"""English: a dependency parse decides; what it decides is small and can be read."""
