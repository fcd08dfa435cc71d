"""What a model answers to questions: rates of the groups, and what is no answer."""
