"""What languages share: sentences, candidates, spaCy parses and word lists."""
