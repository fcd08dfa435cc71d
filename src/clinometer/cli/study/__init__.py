"""clinometer study NAME."""
