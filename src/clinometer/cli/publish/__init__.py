"""Commands that pass results on: to a decision, to other tools, to the public."""
