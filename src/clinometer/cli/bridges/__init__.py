"""Commands between Clinometer and other harnesses."""
