"""Tiltmeter."""
