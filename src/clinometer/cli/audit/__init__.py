"""clinometer audit."""
