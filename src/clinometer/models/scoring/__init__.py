"""From prompts and words to questions about tokens, and back; needs no torch."""
