"""English: readable rules over a dependency parse."""
